// One press of "Start" to one of "End": microphone, loudspeaker, connection, and what they tell.

import { LISTENING, nextActivity } from "./activity.js";
import { Answers } from "./answers.js";
import { Connection } from "./connection.js";
import { segments } from "./latency.js";
import { Loudspeaker } from "./loudspeaker.js";
import { Microphone } from "./microphone.js";

const RATE = 24_000; // samples per second, both ways
const FRAME_MS = 20;
const SLOW = "The connection is too slow: some of the sound is lost.";

export class Conversation {
  #base;
  #view;
  #transcript;
  #onOver;
  #context = null;
  #microphone = null;
  #loudspeaker = null;
  #connection;
  #answers = null;
  #activity = LISTENING;
  #isMuted = false;
  #isOver = false;
  #hadSession = false;

  /**
   * @param {URL} base of the page
   * @param {import("./view.js").View} view
   * @param {import("./transcript.js").Transcript} transcript
   * @param {(needsToken: boolean, message: string) => void} onOver it ended by itself
   */
  constructor(base, view, transcript, onOver) {
    this.#base = base;
    this.#view = view;
    this.#transcript = transcript;
    this.#onOver = onOver;
    this.#connection = new Connection(base, RATE, {
      onState: (state, message, retryS) => this.#connectionIs(state, message, retryS),
      onEvent: (event) => this.#take(event),
      onSound: (bytes) => this.#loudspeaker.play(bytes),
    });
  }

  get isMuted() {
    return this.#isMuted;
  }

  /**
   * To be called on a press of a key or button: browsers give sound only then.
   * @throws {import("./microphone.js").MicrophoneError}
   */
  async begin(token) {
    Microphone.check();
    this.#view.activity("starting");
    this.#context = new AudioContext({ latencyHint: "interactive" });
    const isRunning = this.#context.resume();
    const onReport = (report) => this.#answers.heard(report);
    this.#loudspeaker = await Loudspeaker.open(this.#context, { rate: RATE, onReport });
    this.#answers = new Answers(this.#loudspeaker, {
      send: (message) => this.#connection.send(message),
      onHeard: (turn, text) => this.#transcript.reply(turn, text),
    });
    this.#microphone = await Microphone.open(this.#context, {
      rate: RATE,
      frameMs: FRAME_MS,
      onFrame: (frame, level) => this.#said(frame, level),
      onEnd: () => this.#finish(false, "The microphone was taken away."),
    });
    await isRunning;
    if (this.#isOver) this.end(); // meanwhile
    else this.#connection.open(token);
  }

  /** Give back microphone, loudspeaker and connection; safe to call twice. */
  end() {
    this.#isOver = true;
    this.#connection.close();
    this.#microphone?.close();
    this.#loudspeaker?.close();
    if (this.#context && this.#context.state !== "closed") this.#context.close();
  }

  /** After the browser had put the page aside. */
  wake() {
    if (this.#context?.state === "suspended") this.#context.resume();
    this.#connection.retry();
  }

  /** Nothing leaves the page while it is muted. */
  mute(isMuted) {
    if (isMuted === this.#isMuted) return;
    this.#isMuted = isMuted;
    if (this.#microphone) this.#microphone.isMuted = isMuted;
    this.#connection.send({ type: isMuted ? "mute" : "unmute" });
    this.#view.isMuted = isMuted;
    this.#view.level = 0;
    this.#view.announce(isMuted ? "Muted" : "Microphone on");
    if (this.#connection.isOpen) this.#show(this.#activity);
  }

  /** No pause ends what is said now, until `commit` or `mute`. */
  open() {
    this.#connection.send({ type: "open" });
  }

  /** What was said is complete. */
  commit() {
    this.#connection.send({ type: "commit" });
  }

  /** Stop the answer: at once here, then at the server. */
  interrupt() {
    if (!this.#connection.isOpen) return;
    this.#answers.stop();
    this.#connection.send({ type: "cancel" });
    if (this.#activity.name === "speaking") this.#view.announce("Interrupted");
  }

  #said(frame, level) {
    if (this.#isMuted || !this.#connection.isOpen) return;
    this.#view.level = level;
    if (!this.#connection.sendSound(frame)) this.#view.notice(SLOW);
  }

  #connectionIs(state, message, retryS) {
    this.#view.connection(state, message, retryS);
    if (state === "open") this.#opened();
    if (state === "connecting") return;
    if (state === "waiting") this.#waits(message);
    if (state === "token" || state === "closed") this.#finish(state === "token", message);
  }

  #opened() {
    this.#view.clearNotice();
    this.#view.announce("Connected");
    this.#transcript.forgetNumbers();
    if (this.#hadSession) this.#transcript.divide("a new conversation");
    this.#hadSession = true;
    if (this.#isMuted) this.#connection.send({ type: "mute" });
    this.#show(LISTENING);
  }

  #waits(message) {
    this.#answers.stop();
    this.#view.activity("waiting");
    this.#view.level = 0;
    this.#view.notice(message, "Try now", () => this.#connection.retry());
  }

  #finish(needsToken, message) {
    this.end();
    this.#onOver(needsToken, message);
  }

  #show(activity) {
    this.#activity = activity;
    const isQuiet = activity.name === "listening" || activity.name === "hearing";
    this.#view.activity(this.#isMuted && isQuiet ? "muted" : activity.name);
  }

  #take(event) {
    this.#answers.take(event);
    this.#show(nextActivity(this.#activity, event));
    const { type, turn } = event;
    if (type === "user_text") this.#transcript.user(turn, event.text);
    if (type === "turn_ended") this.#turnEnded(event);
    if (type === "error") this.#view.notice(event.message);
    if (type === "closing") this.#view.notice(`The server closes this in ${event.in_s} s.`);
    if (type === "sound_dropped") this.#view.notice(SLOW);
  }

  #turnEnded(event) {
    this.#transcript.end(event);
    const milestones = event.phases ?? {};
    this.#transcript.time(event.turn, segments(milestones, this.#answers.delayMs(event.answer)));
    this.#answers.forget(event.answer);
    if (event.outcome !== "failed") this.#view.clearNotice();
  }
}
