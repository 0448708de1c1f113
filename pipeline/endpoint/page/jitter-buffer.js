// Sound of one answer after the other comes in pieces, at uneven times, and goes out evenly. Pure:
// samples in, samples out; time is the count of samples that were read. The buffer is as small as
// the connection allows: it grows with each underrun and shrinks with each answer that had none.

const LEAST_MS = 40;
const MOST_MS = 240;
const GROWTH_MS = 30;
const SHRINKAGE_MS = 10;
const RAMP_MS = 4; // sound that ends in the middle fades this long instead of clicking

export class JitterBuffer {
  #rate;
  #pieces = [];
  #offset = 0; // samples of the first piece that were read
  #queued = 0;
  #waited = 0; // samples read since sound waits
  #isPlaying = false;
  #isPaused = false;
  #isEnded = true; // no more comes of this answer
  #stumbled = false; // this answer had an underrun
  #targetMs = LEAST_MS;
  #ramp = new Float32Array(0); // what fades out
  #last = 0; // the sample that was read last

  /** Times that sound was missing in the middle of an answer. */
  underruns = 0;
  /** Samples of this answer that were read. */
  played = 0;
  /** Samples of silence between its first sound's coming and its going out. */
  delay = 0;

  /** @param {number} rate samples per second */
  constructor(rate) {
    this.#rate = rate;
  }

  /** Samples that wait to be played. */
  get queued() {
    return this.#queued;
  }

  /** Whether an answer sounds now. */
  get isPlaying() {
    return this.#isPlaying;
  }

  /** Whether it is silent though it has sound. */
  get isPaused() {
    return this.#isPaused;
  }

  /** How long sound is kept before it is played, ms. */
  get targetMs() {
    return this.#targetMs;
  }

  /** Another answer begins; what is left of the last one is dropped. */
  begin() {
    this.flush();
    this.#isEnded = false;
    this.#isPaused = false;
    this.#stumbled = false;
    this.#waited = 0;
    this.played = 0;
    this.delay = 0;
  }

  /** Whether all of this answer was played, or dropped. */
  get isDone() {
    return this.#isEnded && !this.#isPlaying && this.#queued === 0;
  }

  /** Be silent, and keep what is here. */
  pause() {
    if (this.#isPlaying) this.#ramp = decay(this.#last, this.#rampLength);
    this.#isPaused = true;
  }

  /** Go on where the pause began. */
  resume() {
    this.#isPaused = false;
  }

  /** @param {Float32Array} samples the next of this answer */
  push(samples) {
    if (samples.length === 0) return;
    this.#pieces.push(samples);
    this.#queued += samples.length;
  }

  /** The answer is complete: what is here plays to its end, and then it is no underrun. */
  end() {
    this.#isEnded = true;
    if (this.#queued === 0) this.#settle();
  }

  /** Play nothing more of what is here. */
  flush() {
    if (this.#isPlaying && !this.#isPaused) this.#fadeOut();
    this.#drop();
    this.#isPlaying = false;
    this.#isEnded = true;
  }

  /**
   * Fill one block with what is to be heard now.
   * @param {Float32Array} block
   */
  read(block) {
    block.fill(0);
    this.#readRamp(block);
    if (this.#isPaused || !this.#mayPlay(block.length)) return;
    this.#isPlaying = true;
    const count = this.#take(block);
    this.played += count;
    if (count > 0) this.#last = block[count - 1];
    if (count < block.length) this.#ranDry(block, count);
  }

  #mayPlay(length) {
    if (this.#isPlaying) return true;
    if (this.#queued === 0) return false;
    const target = (this.#targetMs / 1000) * this.#rate;
    if (this.#isEnded || this.#queued >= target || this.#waited >= target) return true;
    this.#waited += length;
    if (this.played === 0) this.delay += length;
    return false;
  }

  #take(block) {
    let count = 0;
    while (count < block.length && this.#pieces.length > 0) {
      const piece = this.#pieces[0];
      const length = Math.min(block.length - count, piece.length - this.#offset);
      for (let i = 0; i < length; i += 1) block[count + i] += piece[this.#offset + i];
      count += length;
      this.#offset += length;
      if (this.#offset === piece.length) {
        this.#pieces.shift();
        this.#offset = 0;
      }
    }
    this.#queued -= count;
    return count;
  }

  #ranDry(block, count) {
    if (this.#isEnded) {
      this.#settle();
      return;
    }
    this.underruns += 1;
    this.#stumbled = true;
    this.#targetMs = Math.min(MOST_MS, this.#targetMs + GROWTH_MS);
    this.#isPlaying = false;
    this.#waited = 0;
    this.#ramp = decay(this.#last, this.#rampLength);
    this.#readRamp(block.subarray(count));
  }

  /** All was played: a good answer makes the next one's buffer smaller. */
  #settle() {
    this.#isPlaying = false;
    if (!this.#stumbled) this.#targetMs = Math.max(LEAST_MS, this.#targetMs - SHRINKAGE_MS);
  }

  #fadeOut() {
    const ramp = new Float32Array(Math.min(this.#rampLength, this.#queued));
    this.#take(ramp);
    for (let i = 0; i < ramp.length; i += 1) ramp[i] *= 1 - (i + 1) / ramp.length;
    this.#ramp = ramp;
  }

  #drop() {
    this.#pieces = [];
    this.#offset = 0;
    this.#queued = 0;
  }

  #readRamp(block) {
    const count = Math.min(block.length, this.#ramp.length);
    for (let i = 0; i < count; i += 1) block[i] += this.#ramp[i];
    this.#ramp = this.#ramp.subarray(count);
  }

  get #rampLength() {
    return Math.round((RAMP_MS / 1000) * this.#rate);
  }
}

/** From a sample down to silence. */
function decay(sample, length) {
  return Float32Array.from({ length }, (_, i) => sample * (1 - (i + 1) / length));
}
