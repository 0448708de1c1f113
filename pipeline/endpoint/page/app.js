// The page: two buttons, a key or two, and one conversation at a time.

import { Conversation } from "./conversation.js";
import { listenToKeys } from "./keyboard.js";
import { MicrophoneError } from "./microphone.js";
import { askForToken, forgetToken, knownToken } from "./token.js";
import { Transcript } from "./transcript.js";
import { View } from "./view.js";

const base = new URL(".", document.baseURI);
const view = new View();
const transcript = new Transcript(
  document.getElementById("turns"),
  document.getElementById("scroller"),
);
let conversation = null;

async function start() {
  const mine = new Conversation(base, view, transcript, over);
  conversation = mine;
  view.clearNotice();
  view.isMuted = false;
  view.isOn = true;
  try {
    await mine.begin(knownToken());
  } catch (error) {
    if (conversation !== mine) return; // ended while it began
    stop();
    view.notice(error instanceof MicrophoneError ? error.message : `No sound: ${error.message}`);
  }
}

function stop() {
  conversation?.end();
  conversation = null;
  view.isOn = false;
  view.activity("off");
  view.connection("closed", "Not connected");
}

/** The conversation ended by itself. */
async function over(needsToken, message) {
  stop();
  if (!needsToken) {
    view.notice(message, "Start again", start);
    return;
  }
  const wasRefused = knownToken() !== "";
  forgetToken();
  if (await askForToken(wasRefused ? message : "")) start();
}

function setMuted(isMuted) {
  conversation?.mute(isMuted);
}

view.listen({
  onTalk: () => (conversation ? stop() : start()),
  onMute: () => setMuted(!conversation?.isMuted),
  onInterrupt: () => conversation?.interrupt(),
});

listenToKeys({
  isActive: () => conversation !== null,
  isMuted: () => conversation?.isMuted ?? false,
  setMuted,
  open: () => conversation?.open(),
  commit: () => conversation?.commit(),
  interrupt: () => conversation?.interrupt(),
});

addEventListener("online", () => conversation?.wake());
addEventListener("pagehide", () => stop());
document.addEventListener("visibilitychange", () => {
  if (document.visibilityState === "visible") conversation?.wake();
});
