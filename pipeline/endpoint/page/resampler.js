// Sample rate conversion of a stream: a polyphase windowed-sinc filter (Blackman window), as in
// Smith, "Digital Audio Resampling". What is pushed in pieces gives the same samples as in one.

const CROSSINGS = 16; // zero crossings of the sinc on each side: more is sharper and later
const CUTOFF = 0.94; // share of the lower rate's band that is kept
const MAX_PHASES = 1024; // a stranger ratio takes the nearest of these

export class Resampler {
  #up;
  #down;
  #phases;
  #half; // taps on each side
  #table;
  #rest; // input that later output still needs
  #whole = 0; // where the next output's first tap lies in #rest
  #part = 0; // what is missing to the sample, in 1/#up of one

  /**
   * @param {number} from samples per second that come in
   * @param {number} to samples per second that go out
   */
  constructor(from, to) {
    const divisor = gcd(from, to);
    this.#up = to / divisor;
    this.#down = from / divisor;
    this.#phases = Math.min(this.#up, MAX_PHASES);
    const scale = Math.min(1, to / from) * CUTOFF;
    this.#half = from === to ? 1 : Math.ceil(CROSSINGS / scale);
    this.#table = from === to ? null : makeTable(this.#phases, this.#half, scale);
    this.reset();
  }

  /** Begin another stream: nothing of the old one sounds on. */
  reset() {
    this.#rest = new Float32Array(this.#half - 1);
    this.#whole = 0;
    this.#part = 0;
  }

  /**
   * @param {Float32Array} samples any number
   * @returns {Float32Array} all output that these samples settle
   */
  push(samples) {
    if (this.#table === null) return samples.slice();
    const input = joined(this.#rest, samples);
    const taps = 2 * this.#half;
    const last = input.length - taps; // the latest place where a whole kernel fits
    const room = last < this.#whole ? 0 : ((last - this.#whole + 1) * this.#up) / this.#down + 1;
    const output = new Float32Array(Math.ceil(room));
    let count = 0;
    for (; this.#whole <= last; count += 1) {
      output[count] = this.#convolve(input, taps);
      this.#part += this.#down;
      this.#whole += Math.floor(this.#part / this.#up);
      this.#part %= this.#up;
    }
    const used = Math.min(this.#whole, input.length);
    this.#rest = input.slice(used);
    this.#whole -= used;
    return output.subarray(0, count);
  }

  /** The last samples, which waited for more. @returns {Float32Array} */
  end() {
    const tail = this.push(new Float32Array(this.#half)).slice();
    this.reset();
    return tail;
  }

  #convolve(input, taps) {
    const row = Math.floor((this.#part * this.#phases) / this.#up) * taps;
    let sum = 0;
    for (let tap = 0; tap < taps; tap += 1) {
      sum += input[this.#whole + tap] * this.#table[row + tap];
    }
    return sum;
  }
}

/** One row of taps for each place between two samples; each row sums up to one. */
function makeTable(phases, half, scale) {
  const taps = 2 * half;
  const table = new Float32Array(phases * taps);
  for (let phase = 0; phase < phases; phase += 1) {
    const row = table.subarray(phase * taps, (phase + 1) * taps);
    let sum = 0;
    for (let tap = 0; tap < taps; tap += 1) {
      const distance = tap - (half - 1) - phase / phases;
      row[tap] = sinc(distance * scale) * blackman(distance / half);
      sum += row[tap];
    }
    for (let tap = 0; tap < taps; tap += 1) row[tap] /= sum;
  }
  return table;
}

function sinc(x) {
  return x === 0 ? 1 : Math.sin(Math.PI * x) / (Math.PI * x);
}

/** The window at -1 to 1. */
function blackman(x) {
  if (Math.abs(x) >= 1) return 0;
  return 0.42 + 0.5 * Math.cos(Math.PI * x) + 0.08 * Math.cos(2 * Math.PI * x);
}

function joined(first, second) {
  const both = new Float32Array(first.length + second.length);
  both.set(first);
  both.set(second, first.length);
  return both;
}

function gcd(a, b) {
  return b === 0 ? a : gcd(b, a % b);
}
