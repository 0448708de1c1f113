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
    if (event.key !== " ") return;
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
    if (event.key !== " " || !talk.isActive() || isElsewhere(event)) return;
    event.preventDefault();
    release(event.timeStamp);
  });
  addEventListener("blur", (event) => release(event.timeStamp));
}

/** Whether the key belongs to what has the focus. */
function isElsewhere({ target, ctrlKey, metaKey, altKey }) {
  if (ctrlKey || metaKey || altKey) return true;
  if (document.querySelector("dialog[open]")) return true;
  const owner = target.closest?.("button, summary, a, input, textarea");
  return Boolean(owner) && owner.id !== "mute";
}
