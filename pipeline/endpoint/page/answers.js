// The answers of a conversation: their sound, and how much of it and of their words was heard.

import { Captions } from "./captions.js";

export class Answers {
  #loudspeaker;
  #wires;
  #known = new Map(); // number to {turn, captions, report}

  /**
   * @param {import("./loudspeaker.js").Loudspeaker} loudspeaker
   * @param {{send: (message: object) => void, onHeard: (turn: number, text: string) => void}} wires
   */
  constructor(loudspeaker, wires) {
    this.#loudspeaker = loudspeaker;
    this.#wires = wires;
  }

  /** Take an event of the server that is about an answer; others are no matter. */
  take(event) {
    const { type, turn, answer } = event;
    if (type === "words") this.#known.get(answer)?.captions.mark(event.samples, event.text);
    if (type === "sound_started") this.#begin(answer, turn);
    if (type === "sound_paused") this.#loudspeaker.pause();
    if (type === "sound_resumed") this.#loudspeaker.resume();
    if (type === "sound_cut") this.#cut(answer);
    if (type === "sound_ended") this.#loudspeaker.end();
  }

  /** What the loudspeaker says has been heard. */
  heard(report) {
    const known = this.#known.get(report.answer);
    if (!known) return;
    const samples = Math.max(report.samples, known.report?.samples ?? 0);
    known.report = { ...report, samples };
    this.#tell(known.report);
    this.#wires.onHeard(known.turn, known.captions.heard(samples));
  }

  /** From a first sound's coming to its being heard, ms. */
  delayMs(answer) {
    return this.#known.get(answer)?.report?.delayMs ?? 0;
  }

  /** A turn is over, and so are its answers and those before it. */
  forget(answer) {
    for (const number of this.#known.keys()) if (number <= answer) this.#known.delete(number);
  }

  /** Be silent now: the person asked for it, or the server is gone. */
  stop() {
    this.#loudspeaker.cut();
  }

  #begin(answer, turn) {
    this.#known.set(answer, { turn, captions: new Captions(), report: null });
    this.#loudspeaker.begin(answer);
  }

  /** Silence; the last report counts behind this event, also if we had been silent before it. */
  #cut(answer) {
    this.#loudspeaker.cut();
    const report = this.#known.get(answer)?.report;
    if (report?.final) this.#tell(report);
  }

  #tell({ answer, samples, final }) {
    this.#wires.send({ type: "played", answer, samples, final });
  }
}
