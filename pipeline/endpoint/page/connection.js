// One conversation after the other over /v1/voice: docs/voice-protocol.md. Comes back by itself.

import { Backoff } from "./backoff.js";
import { knock, Refusal } from "./door.js";

const READY_DEADLINE_MS = 15_000;
const STEADY_MS = 5000; // a connection that held so long was a good one
const MOST_BUFFERED_MS = 1000; // sound that the network does not take in time is old

const FAREWELLS = {
  4002: "This conversation has lasted as long as one may.",
  1003: "The server did not understand this page. Load it again.",
};
const REASONS = {
  1001: "The server has ended.",
  1011: "The server had an error.",
  1013: "The server cannot begin a conversation now.",
  4003: "The connection was too slow.",
};

export class Connection {
  #base;
  #rate;
  #listener;
  #backoff = new Backoff();
  #attempt = 0; // number of the present one; an older one's end means nothing
  #isTrying = false;
  #socket = null;
  #timer = null; // to the next attempt
  #steady = null; // to the point where this attempt counts as good, or as hopeless
  #isWanted = false;
  #isReady = false;
  #token = "";

  /**
   * @param {URL} base of the page
   * @param {number} rate samples per second, both ways
   * @param {{
   *   onState: (state: "connecting" | "open" | "waiting" | "closed" | "token",
   *     message: string, retryS?: number) => void,
   *   onEvent: (event: object) => void, onSound: (bytes: ArrayBuffer) => void}} listener
   */
  constructor(base, rate, listener) {
    this.#base = base;
    this.#rate = rate;
    this.#listener = listener;
  }

  get isOpen() {
    return this.#isReady;
  }

  /** Connect, and keep connected until `close`. @param {string} token "" if there is none */
  open(token) {
    this.close();
    this.#token = token;
    this.#isWanted = true;
    this.#backoff.reset();
    this.retry();
  }

  /** Try now, whatever the wait. */
  retry() {
    clearTimeout(this.#timer);
    this.#timer = null;
    if (this.#isWanted && !this.#isTrying) this.#connect();
  }

  /** End the conversation. */
  close() {
    this.#isWanted = false;
    clearTimeout(this.#timer);
    this.#timer = null;
    const socket = this.#socket;
    this.#leave();
    socket?.close(1000);
  }

  /** @param {object} message one of the protocol */
  send(message) {
    if (this.#isReady) this.#socket.send(JSON.stringify(message));
  }

  /**
   * @param {ArrayBuffer} frame int16 PCM
   * @returns {boolean} whether it goes out; not so where the network is too slow for it
   */
  sendSound(frame) {
    const most = (2 * this.#rate * MOST_BUFFERED_MS) / 1000;
    if (!this.#isReady || this.#socket.bufferedAmount > most) return false;
    this.#socket.send(frame);
    return true;
  }

  async #connect() {
    const attempt = (this.#attempt += 1);
    this.#isTrying = true;
    this.#listener.onState("connecting", "Connecting…");
    try {
      const address = await knock(this.#base, this.#token);
      if (this.#attempt === attempt) this.#dial(address);
    } catch (error) {
      const refusal = error instanceof Refusal ? error : new Refusal("The server cannot be reached.");
      if (this.#attempt === attempt) this.#refused(refusal);
    }
  }

  #dial(address) {
    const socket = new WebSocket(address, ["voxring"]);
    this.#socket = socket;
    socket.binaryType = "arraybuffer";
    socket.onopen = () => socket.send(JSON.stringify(this.#start()));
    socket.onmessage = ({ data }) => this.#received(data);
    socket.onclose = ({ code, reason }) => this.#closed(code, reason);
    this.#steady = setTimeout(() => this.#hopeless(), READY_DEADLINE_MS);
  }

  #start() {
    return { type: "start", version: 1, rate: this.#rate, encoding: "pcm_s16le" };
  }

  #received(data) {
    if (typeof data !== "string") {
      this.#listener.onSound(data);
      return;
    }
    const event = JSON.parse(data);
    if (event.type === "ready") this.#ready();
    this.#listener.onEvent(event);
  }

  #ready() {
    clearTimeout(this.#steady);
    this.#steady = setTimeout(() => this.#backoff.reset(), STEADY_MS);
    this.#isReady = true;
    this.#listener.onState("open", "Connected");
  }

  #hopeless() {
    this.#socket.close();
    this.#closed(0, "The server does not answer.");
  }

  #refused(refusal) {
    this.#leave();
    if (refusal.needsToken) {
      this.#isWanted = false;
      this.#listener.onState("token", refusal.message);
    } else {
      this.#wait(refusal.message, refusal.retryAfterS);
    }
  }

  #closed(code, reason) {
    const wasReady = this.#isReady;
    this.#leave();
    const farewell = FAREWELLS[code];
    if (farewell) {
      this.#isWanted = false;
      this.#listener.onState("closed", farewell);
    } else if (this.#isWanted) {
      const unknown = wasReady ? "The connection was lost." : "The server let nobody in.";
      this.#wait(REASONS[code] ?? (reason || unknown), 0);
    }
  }

  #wait(message, atLeastS) {
    const seconds = Math.max(atLeastS, this.#backoff.next());
    this.#timer = setTimeout(() => this.retry(), 1000 * seconds);
    this.#listener.onState("waiting", message, seconds);
  }

  /** This attempt is over: take no more from its socket. */
  #leave() {
    clearTimeout(this.#steady);
    const socket = this.#socket;
    if (socket) socket.onopen = socket.onmessage = socket.onclose = null;
    this.#socket = null;
    this.#isReady = false;
    this.#isTrying = false;
    this.#attempt += 1;
  }
}
