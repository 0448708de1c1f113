// The browser's microphone, with its echo cancellation: the answer must not interrupt itself.

const WISHES = {
  echoCancellation: true,
  noiseSuppression: true,
  autoGainControl: true,
  channelCount: 1,
};

const REFUSALS = {
  NotAllowedError:
    "The microphone is not allowed here. Allow it beside the address, then start again.",
  NotFoundError: "No microphone was found. Connect one, then start again.",
  NotReadableError: "The microphone is in use by another program. End that, then start again.",
};
const INSECURE =
  "Browsers give a microphone only to pages from https or localhost. Open this page that way.";

/** Why there is no microphone, and what to do. */
export class MicrophoneError extends Error {}

export class Microphone {
  #stream;
  #source;
  #node;

  constructor(stream, source, node) {
    this.#stream = stream;
    this.#source = source;
    this.#node = node;
  }

  /**
   * Fail at once where the browser gives a microphone to nobody.
   * @throws {MicrophoneError}
   */
  static check() {
    if (!isSecureContext || !navigator.mediaDevices) throw new MicrophoneError(INSECURE);
  }

  /**
   * Ask for the microphone and open it.
   * @param {AudioContext} context where it is heard
   * @param {{rate: number, frameMs: number, onFrame: (frame: ArrayBuffer, level: number) => void,
   *   onEnd: () => void}} wishes of int16 frames; `onEnd`: the device was taken away
   * @throws {MicrophoneError}
   */
  static async open(context, { rate, frameMs, onFrame, onEnd }) {
    await context.audioWorklet.addModule(new URL("capture-worklet.js", import.meta.url));
    const stream = await ask();
    try {
      const options = { numberOfOutputs: 0, processorOptions: { rate, frameMs } };
      const node = new AudioWorkletNode(context, "capture", options);
      node.port.onmessage = ({ data }) => onFrame(data.frame, data.level);
      const source = context.createMediaStreamSource(stream);
      source.connect(node);
      stream.getAudioTracks()[0].addEventListener("ended", onEnd);
      return new Microphone(stream, source, node);
    } catch (error) {
      stop(stream); // the context was closed while the person was asked
      throw error;
    }
  }

  /** While muted, the browser hears nothing; it may then also hide its sign that it listens. */
  set isMuted(value) {
    for (const track of this.#stream.getAudioTracks()) track.enabled = !value;
  }

  close() {
    this.#source.disconnect();
    this.#node.port.onmessage = null;
    stop(this.#stream);
  }
}

function stop(stream) {
  for (const track of stream.getTracks()) track.stop();
}

async function ask() {
  try {
    return await navigator.mediaDevices.getUserMedia({ audio: WISHES });
  } catch (error) {
    throw new MicrophoneError(REFUSALS[error.name] ?? `No microphone: ${error.message}`);
  }
}
