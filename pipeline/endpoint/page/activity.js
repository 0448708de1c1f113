// What goes on, from what the server tells: the word above the buttons.

/** Nobody says anything. */
export const LISTENING = { name: "listening", turn: 0 };

/**
 * @param {{name: "listening" | "hearing" | "thinking" | "speaking", turn: number}} activity so far;
 *   `turn`: the latest utterance
 * @param {{type: string, turn?: number}} event of the server
 * @returns {typeof activity}
 */
export function nextActivity(activity, { type, turn }) {
  if (type === "speech_started") return { name: "hearing", turn };
  if (type === "speech_stopped" && activity.name === "hearing") return named("thinking", activity);
  if (type === "sound_started" || type === "sound_resumed") return named("speaking", activity);
  if (type === "turn_ended" && turn >= activity.turn) return named("listening", activity);
  return activity; // also at the end of a turn that the next one has interrupted
}

function named(name, { turn }) {
  return { name, turn };
}
