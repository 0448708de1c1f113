// Where the milliseconds between your last word and the first sound of the answer went.

const PHASES = [
  { key: "silence", name: "pause noticed", ends: ["silence"] },
  { key: "words", name: "words recognised", ends: ["soft_end", "decode_start", "transcript"] },
  { key: "answer", name: "answer begun", ends: ["prefill", "first_id", "first_words"] },
  { key: "voice", name: "voice ready", ends: ["first_sound"] },
  { key: "release", name: "sure that you are done", ends: ["release"] },
  { key: "sent", name: "sent", ends: ["first_audio"] },
];
const BROWSER = { key: "browser", name: "played by the browser" };
const SHORTEST_MS = 0.5;

/**
 * The phases of a turn as they followed each other.
 * @param {Record<string, number>} milestones ms after the end of speech, as the server tells them
 * @param {number} browserMs from the first sound's coming to its being heard
 * @returns {{key: string, name: string, ms: number}[]} empty if the answer was not heard, or began
 *   before the end of speech
 */
export function segments(milestones, browserMs) {
  const heard = milestones.first_audio;
  if (!(heard > 0)) return [];
  const reached = PHASES.map((phase) => ({ ...phase, at: latest(milestones, phase.ends) }))
    .filter((phase) => phase.at !== undefined)
    .map((phase) => ({ ...phase, at: Math.min(phase.at, heard) })) // stages tell a moment late
    .sort((a, b) => a.at - b.at);
  let before = 0;
  const parts = reached.map(({ key, name, at }) => {
    const ms = Math.max(0, at - before);
    before = Math.max(before, at);
    return { key, name, ms };
  });
  return [...parts, { ...BROWSER, ms: browserMs }].filter((part) => part.ms >= SHORTEST_MS);
}

function latest(milestones, names) {
  const known = names.map((name) => milestones[name]).filter((at) => at !== undefined);
  return known.length > 0 ? Math.max(...known) : undefined;
}

/** The phases as a sentence, for who cannot see the bar. */
export function sentence(parts) {
  const all = parts.map(({ name, ms }) => `${name} ${Math.round(ms)}`).join(", ");
  return `First sound after ${total(parts)} milliseconds: ${all}.`;
}

/** @returns {number} ms, whole */
export function total(parts) {
  return Math.round(parts.reduce((sum, { ms }) => sum + ms, 0));
}
