// Keys: Space mutes and unmutes; held down while muted, it is push to talk. Esc stops the answer.

const HOLD_MS = 300;

/**
 * @param {{isActive: () => boolean, isMuted: () => boolean, setMuted: (muted: boolean) => void,
 *   open: () => void, commit: () => void, interrupt: () => void}} talk `isActive`: a conversation
 *   is on; `open`: no pause ends what is said now; `commit`: it is complete
 */
export function listenToKeys(talk) {
  let timer = null; // Space is down, and it unmuted
  let isHeld = false; // for so long that it is push to talk

  addEventListener("keydown", (event) => {
    if (!talk.isActive() || isElsewhere(event)) return;
    if (event.key === "Escape") talk.interrupt();
    if (event.key !== " " || isOwned(event)) return;
    event.preventDefault();
    if (event.repeat) return;
    if (talk.isMuted()) timer = setTimeout(hold, HOLD_MS);
    talk.setMuted(!talk.isMuted());
  });

  const hold = () => {
    isHeld = talk.isActive();
    talk.open();
  };

  const release = () => {
    clearTimeout(timer);
    if (isHeld && talk.isActive()) {
      talk.commit();
      talk.setMuted(true);
    }
    isHeld = false;
  };

  addEventListener("keyup", (event) => {
    if (event.key !== " " || !talk.isActive() || isElsewhere(event) || isOwned(event)) return;
    event.preventDefault();
    release();
  });
  addEventListener("blur", release);
}

/** Whether the key belongs to the browser, or to what lies over the page. */
function isElsewhere({ ctrlKey, metaKey, altKey }) {
  return ctrlKey || metaKey || altKey || document.querySelector("dialog[open]") !== null;
}

/** Whether Space is a key of what has the focus. */
function isOwned({ target }) {
  const owner = target.closest?.("button, summary, a, input, textarea");
  return Boolean(owner) && owner.id !== "mute";
}
