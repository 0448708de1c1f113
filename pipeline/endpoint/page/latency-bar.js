// The phases of a turn, drawn: a bar of labelled segments, with its sentence for who cannot see it.

import { sentence, total } from "./latency.js";

/**
 * @param {{key: string, name: string, ms: number}[]} parts not empty
 * @returns {HTMLDetailsElement}
 */
export function latencyBar(parts) {
  const details = document.createElement("details");
  details.className = "latency";
  const summary = document.createElement("summary");
  const bar = element("span", "bar");
  bar.setAttribute("role", "img");
  bar.setAttribute("aria-label", sentence(parts));
  bar.append(...parts.map(segment));
  const sum = element("span", "total", `${total(parts)} ms`);
  sum.setAttribute("aria-hidden", "true"); // the sentence begins with it
  summary.append(bar, sum);
  const legend = element("ul", "legend");
  legend.append(...parts.map(entry));
  details.append(summary, legend);
  return details;
}

function segment({ key, name, ms }) {
  const part = element("span", `segment phase-${key}`);
  part.style.flexGrow = ms;
  part.title = `${name}: ${Math.round(ms)} ms`;
  return part;
}

function entry({ key, name, ms }) {
  const item = element("li", "");
  item.append(
    element("span", `swatch phase-${key}`),
    element("span", "phase", name),
    element("span", "ms", `${Math.round(ms)} ms`),
  );
  return item;
}

function element(tag, className, text = "") {
  const made = document.createElement(tag);
  made.className = className;
  made.textContent = text;
  return made;
}
