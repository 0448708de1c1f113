// Which words of an answer have been heard, from how much of its sound has.

export class Captions {
  #marks = []; // {samples, text}: the text that so many samples voice

  /** The first `samples` of the answer voice this text. */
  mark(samples, text) {
    this.#marks.push({ samples, text });
  }

  /**
   * @param {number} samples that were heard
   * @returns {string} whole words
   */
  heard(samples) {
    return this.#marks.findLast((mark) => mark.samples <= samples)?.text ?? "";
  }
}
