// The loudspeaker, on the audio thread. Takes what the server sends, in its order:
//   {type: "begin", answer}, {type: "sound", bytes: int16 PCM}, {type: "end"}, {type: "cut"},
//   {type: "pause"}, {type: "resume"}
// and posts what has left it, about every 100 ms and at the end of each answer:
//   {answer, samples, final, isStill, underruns, delayMs, targetMs}, samples at the connection's
//   rate; `isStill`: paused or cut, so that what has left here is all.

import { JitterBuffer } from "./jitter-buffer.js";
import { decode } from "./pcm.js";
import { Resampler } from "./resampler.js";

const REPORT_MS = 100;

class Playback extends AudioWorkletProcessor {
  #rate; // of the connection
  #buffer = new JitterBuffer(sampleRate);
  #resampler;
  #answer = null; // that is in the buffer
  #received = 0; // samples of it
  #waiting = []; // messages about later answers
  #unreported = 0; // samples since the last report

  constructor({ processorOptions: { rate } }) {
    super();
    this.#rate = rate;
    this.#resampler = new Resampler(rate, sampleRate);
    this.port.onmessage = ({ data }) => this.#take(data);
  }

  process(inputs, [[block]]) {
    this.#buffer.read(block);
    if (this.#answer === null) return true;
    if (this.#buffer.isDone) this.#finish();
    else if (!this.#buffer.isPaused) this.#reportWhenDue(block.length);
    return true;
  }

  #take(message) {
    if (message.type === "cut") this.#cut();
    else if (this.#waiting.length > 0 || this.#mustWait(message)) this.#waiting.push(message);
    else this.#apply(message);
  }

  /** An answer that is still heard is heard to its end. */
  #mustWait(message) {
    return message.type === "begin" && this.#answer !== null;
  }

  #apply(message) {
    if (message.type === "begin") this.#begin(message.answer);
    else if (this.#answer === null) return; // it was cut
    else if (message.type === "sound") this.#push(decode(message.bytes));
    else if (message.type === "end") this.#end();
    else if (message.type === "pause") this.#pause();
    else if (message.type === "resume") this.#buffer.resume();
  }

  #begin(answer) {
    this.#answer = answer;
    this.#received = 0;
    this.#unreported = 0;
    this.#resampler.reset();
    this.#buffer.begin();
  }

  #push(samples) {
    this.#received += samples.length;
    this.#buffer.push(this.#resampler.push(samples));
  }

  #end() {
    this.#buffer.push(this.#resampler.end());
    this.#buffer.end();
  }

  #pause() {
    this.#buffer.pause();
    this.#report({ isStill: true });
  }

  #cut() {
    this.#waiting = [];
    if (this.#answer === null) return;
    this.#buffer.flush();
    this.#finish({ isStill: true });
  }

  #finish({ isStill = false } = {}) {
    this.#report({ final: true, isStill });
    this.#answer = null;
    while (this.#waiting.length > 0 && !this.#mustWait(this.#waiting[0])) {
      this.#apply(this.#waiting.shift());
    }
  }

  #reportWhenDue(samples) {
    this.#unreported += samples;
    if (this.#unreported >= (REPORT_MS / 1000) * sampleRate) this.#report();
  }

  #report({ final = false, isStill = false } = {}) {
    this.#unreported = 0;
    const buffer = this.#buffer;
    const samples = Math.round((buffer.played * this.#rate) / sampleRate);
    this.port.postMessage({
      answer: this.#answer,
      samples: Math.min(samples, this.#received),
      final,
      isStill,
      underruns: buffer.underruns,
      delayMs: (1000 * buffer.delay) / sampleRate,
      targetMs: buffer.targetMs,
    });
  }
}

registerProcessor("playback", Playback);
