// What the server says, on its way to the ear; and what of it has got there.

export class Loudspeaker {
  #context;
  #rate; // of the sound that comes
  #node;
  #isOpen = false; // sound of the server is of an answer that may be heard

  constructor(context, node, { rate, onReport }) {
    this.#context = context;
    this.#node = node;
    this.#rate = rate;
    node.port.onmessage = ({ data }) => this.#tell(data, onReport);
  }

  /**
   * @param {AudioContext} context where it sounds
   * @param {{rate: number, onReport: (report: object) => void}} wishes the rate of the sound that
   *   will come; `onReport` gets what playback-worklet.js posts, less what the device still has
   */
  static async open(context, wishes) {
    await context.audioWorklet.addModule(new URL("playback-worklet.js", import.meta.url));
    const options = {
      numberOfInputs: 0,
      outputChannelCount: [1],
      processorOptions: { rate: wishes.rate },
    };
    const node = new AudioWorkletNode(context, "playback", options);
    node.connect(context.destination);
    return new Loudspeaker(context, node, wishes);
  }

  /** Sound of this answer follows. */
  begin(answer) {
    this.#isOpen = true;
    this.#node.port.postMessage({ type: "begin", answer });
  }

  /** @param {ArrayBuffer} bytes int16 PCM; it is given away */
  play(bytes) {
    if (this.#isOpen) this.#node.port.postMessage({ type: "sound", bytes }, [bytes]);
  }

  /** All of the answer was sent. */
  end() {
    this.#node.port.postMessage({ type: "end" });
  }

  /** Be silent, keep what is here. */
  pause() {
    this.#node.port.postMessage({ type: "pause" });
  }

  /** Go on where the pause began. */
  resume() {
    this.#node.port.postMessage({ type: "resume" });
  }

  /** Drop what was not heard, at once, and what else comes of this answer. */
  cut() {
    this.#isOpen = false;
    this.#node.port.postMessage({ type: "cut" });
  }

  close() {
    this.#node.port.onmessage = null;
    this.#node.disconnect();
  }

  /** How long a sample takes from here to the ear, ms; some browsers do not say. */
  get latencyMs() {
    return 1000 * (this.#context.outputLatency || this.#context.baseLatency || 0);
  }

  /** What has left the worklet is heard a little later; what has left it is heard. */
  #tell(report, onReport) {
    const latencyMs = this.latencyMs;
    const told = { ...report, delayMs: report.delayMs + latencyMs };
    if (report.isStill) onReport(told);
    else if (report.final) setTimeout(onReport, latencyMs, told);
    else onReport({ ...told, samples: this.#less(report.samples, latencyMs) });
  }

  #less(samples, ms) {
    return Math.max(0, Math.round(samples - (ms / 1000) * this.#rate));
  }
}
