// What the page shows beside the transcript: connection, activity, controls, notices.

const ACTIVITIES = {
  off: "Ready when you are",
  starting: "Starting…",
  waiting: "Waiting for the server",
  muted: "Muted",
  listening: "Listening",
  hearing: "Hearing you",
  thinking: "Thinking",
  speaking: "Answering",
};
const LEVEL_GAIN = 8; // speech is around -20 to -30 dBFS

const find = (id) => document.getElementById(id);

export class View {
  #countdown = null;
  #onAction = () => {};

  constructor() {
    find("notice-action").addEventListener("click", () => this.#onAction());
  }

  /** @param {{onTalk: () => void, onMute: () => void, onInterrupt: () => void}} handlers */
  listen({ onTalk, onMute, onInterrupt }) {
    find("talk").addEventListener("click", onTalk);
    find("mute").addEventListener("click", onMute);
    find("interrupt").addEventListener("click", onInterrupt);
  }

  /** @param {string} state for the dot @param {number} retryS counted down behind the text */
  connection(state, text, retryS = 0) {
    clearInterval(this.#countdown);
    find("connection").dataset.state = state;
    const until = performance.now() + 1000 * retryS;
    const show = () => {
      const left = Math.ceil((until - performance.now()) / 1000);
      find("connection-text").textContent = left > 0 ? `Next try in ${left} s` : text;
    };
    show();
    if (retryS > 0) this.#countdown = setInterval(show, 250);
  }

  /** @param {keyof typeof ACTIVITIES} state */
  activity(state) {
    find("activity").dataset.state = state;
    find("activity").textContent = ACTIVITIES[state];
  }

  /** A conversation begins or ends. */
  set isOn(value) {
    const focused = document.activeElement;
    find("talk").dataset.state = value ? "on" : "off";
    find("talk-text").textContent = value ? "End" : "Start";
    find("mute").disabled = find("interrupt").disabled = !value;
    if (value) find("welcome").hidden = true;
    if (value && focused === find("talk")) find("mute").focus(); // Space is then its key
    if (!value) this.level = 0;
  }

  set isMuted(value) {
    find("mute").setAttribute("aria-pressed", String(value));
  }

  /** @param {number} rms of the microphone, 0 to 1 */
  set level(rms) {
    const shown = Math.min(1, Math.sqrt(rms * LEVEL_GAIN));
    find("talk").style.setProperty("--level", shown.toFixed(2));
  }

  /** Tell of trouble, and what to press against it. */
  notice(text, label = "", onAction = () => {}) {
    find("notice").hidden = false;
    if (find("notice-text").textContent !== text) find("notice-text").textContent = text;
    find("notice-action").hidden = label === "";
    find("notice-action").textContent = label;
    this.#onAction = onAction;
  }

  clearNotice() {
    find("notice").hidden = true;
    find("notice-text").textContent = "";
  }

  /** For screen readers. The conversation itself is not read out: it is heard. */
  announce(text) {
    find("announcer").textContent = text;
  }
}
