// The microphone, on the audio thread: mixed to one channel, converted once to the rate that the
// connection declared, cut into frames. Posts {frame: ArrayBuffer of int16, level: RMS, 0 to 1}.

import { encode } from "./pcm.js";
import { Resampler } from "./resampler.js";

class Capture extends AudioWorkletProcessor {
  #resampler;
  #frame;
  #filled = 0;

  constructor({ processorOptions: { rate, frameMs } }) {
    super();
    this.#resampler = new Resampler(sampleRate, rate);
    this.#frame = new Float32Array(Math.round((rate * frameMs) / 1000));
  }

  process([channels]) {
    if (channels.length > 0) this.#collect(this.#resampler.push(mono(channels)));
    return true;
  }

  #collect(samples) {
    let taken = 0;
    while (taken < samples.length) {
      const count = Math.min(samples.length - taken, this.#frame.length - this.#filled);
      this.#frame.set(samples.subarray(taken, taken + count), this.#filled);
      this.#filled += count;
      taken += count;
      if (this.#filled === this.#frame.length) this.#post();
    }
  }

  #post() {
    this.#filled = 0;
    const frame = encode(this.#frame);
    this.port.postMessage({ frame, level: rms(this.#frame) }, [frame]);
  }
}

function mono(channels) {
  if (channels.length === 1) return channels[0];
  return channels[0].map((_, i) => channels.reduce((sum, c) => sum + c[i], 0) / channels.length);
}

function rms(samples) {
  return Math.sqrt(samples.reduce((sum, sample) => sum + sample * sample, 0) / samples.length);
}

registerProcessor("capture", Capture);
