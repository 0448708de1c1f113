// What the server says, on its way to the ear; and what of it has got there.

export class Loudspeaker {
  #context;
  #node;
  #isOpen = false; // sound of the server is of an answer that may be heard

  constructor(context, node, onReport) {
    this.#context = context;
    this.#node = node;
    node.port.onmessage = ({ data }) => this.#later(data, onReport);
  }

  /**
   * @param {AudioContext} context where it sounds
   * @param {{rate: number, onReport: (report: object) => void}} wishes the rate of the sound that will
   *   come; `onReport` gets what playback-worklet.js posts, when it is really heard
   */
  static async open(context, { rate, onReport }) {
    await context.audioWorklet.addModule(new URL("playback-worklet.js", import.meta.url));
    const options = { numberOfInputs: 0, outputChannelCount: [1], processorOptions: { rate } };
    const node = new AudioWorkletNode(context, "playback", options);
    node.connect(context.destination);
    return new Loudspeaker(context, node, onReport);
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

  #later(report, onReport) {
    setTimeout(onReport, this.latencyMs, { ...report, delayMs: report.delayMs + this.latencyMs });
  }
}
