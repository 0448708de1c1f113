// Which words of an answer have been heard, from how much of its sound has.

const CHARACTERS_PER_S = 15; // of speech, where nobody tells how far the words are

export class Captions {
  #rate;
  #text = ""; // as far as it is written
  #marks = []; // {samples, text}: the text that so many samples voice
  #samples = null; // of the whole answer

  /** @param {number} rate samples per second */
  constructor(rate) {
    this.#rate = rate;
  }

  /** @param {string} text all that is written so far */
  write(text) {
    this.#text = text;
  }

  /** So many samples voice this text. */
  mark(samples, text) {
    this.#marks.push({ samples, text });
  }

  /** The answer has so many samples. */
  end(samples) {
    this.#samples = samples;
  }

  /**
   * @param {number} samples that were heard
   * @returns {string} whole words
   */
  heard(samples) {
    if (this.#marks.length > 0) return this.#marked(samples);
    if (this.#samples !== null && samples >= this.#samples) return this.#text;
    const share = this.#samples ? samples / this.#samples : null;
    const count = share ? share * this.#text.length : (samples / this.#rate) * CHARACTERS_PER_S;
    return wholeWords(this.#text, Math.floor(count));
  }

  #marked(samples) {
    const reached = this.#marks.filter((mark) => mark.samples <= samples);
    return reached.at(-1)?.text ?? "";
  }
}

/** The beginning of a text, of at most `count` characters. */
function wholeWords(text, count) {
  if (count >= text.length) return text;
  const end = text.slice(0, count + 1).search(/\s\S*$/);
  return end < 0 ? "" : text.slice(0, end);
}
