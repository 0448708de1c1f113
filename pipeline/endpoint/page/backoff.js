// How long to wait before the next try: twice as long each time, a little at random so that the
// pages of a server that comes back do not all come at once.

const FIRST_S = 0.5;
const MOST_S = 15;

export class Backoff {
  #next = FIRST_S;
  #random;

  /** @param {() => number} random from 0 to 1 */
  constructor(random = Math.random) {
    this.#random = random;
  }

  /** @returns {number} seconds until the next try */
  next() {
    const seconds = this.#next * (0.75 + 0.5 * this.#random());
    this.#next = Math.min(MOST_S, 2 * this.#next);
    return seconds;
  }

  /** It went well. */
  reset() {
    this.#next = FIRST_S;
  }
}
