// Keys: Space mutes and unmutes; held down while muted, it is push to talk. Esc stops the answer.

const HOLD_MS = 300;

/**
 * @param {{isActive: () => boolean, isMuted: () => boolean, setMuted: (muted: boolean) => void,
 *   commit: () => void, interrupt: () => void}} talk `isActive`: a conversation is on;
 *   `commit`: what was said is complete
 */
export function listenToKeys(talk) {
  let pressedAt = null; // ms; Space is down, and it unmuted

  addEventListener("keydown", (event) => {
    if (!talk.isActive() || isElsewhere(event)) return;
    if (event.key === "Escape") talk.interrupt();
    if (event.key !== " " || isOwned(event)) return;
    event.preventDefault();
    if (event.repeat) return;
    pressedAt = talk.isMuted() ? event.timeStamp : null;
    talk.setMuted(!talk.isMuted());
  });

  const release = (timeStamp) => {
    const wasHeld = pressedAt !== null && timeStamp - pressedAt >= HOLD_MS;
    pressedAt = null;
    if (!wasHeld || !talk.isActive()) return;
    talk.commit();
    talk.setMuted(true);
  };

  addEventListener("keyup", (event) => {
    if (event.key !== " " || !talk.isActive() || isElsewhere(event) || isOwned(event)) return;
    event.preventDefault();
    release(event.timeStamp);
  });
  addEventListener("blur", (event) => release(event.timeStamp));
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
