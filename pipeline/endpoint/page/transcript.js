// Both sides of the conversation, turn by turn, as a list on the page.

import { latencyBar } from "./latency-bar.js";

const NEAR_PX = 80; // who reads this close to the end wants to stay there
const NOTES = {
  interrupted: "interrupted",
  empty: "nothing to say",
  failed: "this turn failed",
  "timed out": "no answer in time",
};

export class Transcript {
  #list;
  #scroller;
  #turns = new Map(); // number to row
  #isNear = true; // the end is in sight

  /**
   * @param {HTMLOListElement} list
   * @param {HTMLElement} scroller that the list is scrolled in
   */
  constructor(list, scroller) {
    this.#list = list;
    this.#scroller = scroller;
    scroller.addEventListener("scroll", () => (this.#isNear = this.#measure()));
    new ResizeObserver(() => this.#keepInSight(() => {})).observe(scroller);
  }

  /** The server counts anew. */
  forgetNumbers() {
    this.#turns.clear();
  }

  /** Another conversation begins: a line tells it. */
  divide(text) {
    if (this.#list.children.length === 0) return;
    const line = document.createElement("li");
    line.className = "divider";
    line.textContent = text;
    this.#keepInSight(() => this.#list.append(line));
  }

  user(turn, text) {
    this.#keepInSight(() => this.#row(turn).say("user", text));
  }

  reply(turn, text) {
    this.#keepInSight(() => this.#row(turn).say("reply", text));
  }

  /** @param {{turn: number, outcome: string, user_text: string, heard_text: string}} ended */
  end({ turn, outcome, user_text: said, heard_text: heard }) {
    if (outcome === "no speech") {
      this.#turns.get(turn)?.remove();
      this.#turns.delete(turn);
      return;
    }
    this.#keepInSight(() => this.#row(turn).end(said, heard, NOTES[outcome] ?? ""));
  }

  /** Show where a turn's time went. @param {{key: string, name: string, ms: number}[]} parts */
  time(turn, parts) {
    if (parts.length === 0) return;
    this.#keepInSight(() => {
      for (const open of this.#list.querySelectorAll("details[open]")) open.open = false;
      this.#row(turn).time(parts);
    });
  }

  #row(turn) {
    let row = this.#turns.get(turn);
    if (!row) {
      row = new Row();
      this.#turns.set(turn, row);
      this.#list.append(row.item);
    }
    return row;
  }

  #keepInSight(change) {
    change();
    if (this.#isNear) this.#scroller.scrollTop = this.#scroller.scrollHeight;
  }

  #measure() {
    const { scrollHeight, scrollTop, clientHeight } = this.#scroller;
    return scrollHeight - scrollTop - clientHeight < NEAR_PX;
  }
}

class Row {
  item = document.createElement("li");
  #said = { user: speech("You", "user"), reply: speech("Answer", "reply") };

  constructor() {
    this.item.className = "turn";
    this.item.append(this.#said.user.box, this.#said.reply.box);
  }

  /** @param {"user" | "reply"} who */
  say(who, text) {
    const { box, words } = this.#said[who];
    if (words.data !== text) words.data = text;
    box.hidden = text === "";
  }

  end(said, heard, note) {
    this.say("user", said);
    this.say("reply", heard);
    if (!note) return;
    const { box, paragraph } = this.#said.reply;
    const mark = document.createElement("span");
    mark.className = "note";
    mark.textContent = note;
    paragraph.append(" ", mark);
    box.hidden = false;
  }

  time(parts) {
    const bar = latencyBar(parts);
    bar.open = true;
    this.item.querySelector(".latency")?.remove();
    this.item.append(bar);
  }

  remove() {
    this.item.remove();
  }
}

function speech(name, who) {
  const box = document.createElement("div");
  box.className = `speech ${who}`;
  box.hidden = true;
  const label = document.createElement("span");
  label.className = "who";
  label.textContent = name;
  const paragraph = document.createElement("p");
  const words = document.createTextNode("");
  paragraph.append(words);
  box.append(label, paragraph);
  return { box, paragraph, words };
}
