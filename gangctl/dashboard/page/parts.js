// Parts that several views show: states, icons, empty lists, and lists of any length.

import { h } from "./dom.js";

/**
 * @typedef {import("./dom.js").Element_} Element_
 * @typedef {import("./dom.js").Loose} Loose
 */

/** The states by verdict, as the command line numbers them. */
export const STATES = [
  { id: "running", word: "Running", path: "M4.8 8.3l2.2 2.2 4.2-4.8" },
  { id: "waiting", word: "Waiting", path: "M8 4.6V8l2.3 1.6" },
  { id: "manual", word: "Requires manual action", path: "M8 4.5v4.2M8 11.2v.1" },
];

/** @param {number} verdict */
export function stateOf(verdict) {
  return STATES[Math.min(verdict, 2)] ?? { id: "running", word: "Running", path: "" };
}

/** A sign for a verdict; the shape differs, not only the colour. @param {number} verdict */
export function sign(verdict, isLabelled = true) {
  const { id, word, path } = stateOf(verdict);
  const outline =
    id === "manual"
      ? h("path", { d: "M5.3 1.5h5.4l3.8 3.8v5.4l-3.8 3.8H5.3l-3.8-3.8V5.3z" })
      : h("circle", { cx: 8, cy: 8, r: 6.6 });
  const label = isLabelled ? { role: "img", "aria-label": word } : { "aria-hidden": "true" };
  return h("svg", { class: `sign ${id}`, viewBox: "0 0 16 16", ...label }, outline,
    h("path", { class: "mark", d: path }));
}

/** @param {string} title @param {...(Loose | Loose[])} text */
export function empty(title, ...text) {
  return h("div", { class: "empty" }, h("p", { class: "empty-title" }, title), h("p", null, ...text));
}

/** What cannot be read, with the server's reason. @param {string} what @param {string} why */
export function unread(what, why) {
  return h("p", { class: "notice", role: "note" }, `${what} not shown: ${why}`);
}

/** A command that people copy. @param {string} text */
export function command(text) {
  return h("code", { class: "command", tabindex: "0" }, text);
}

/** @param {string} route @param {Record<string, string>} [query] */
export function link(route, query = {}) {
  const found = new URLSearchParams(Object.entries(query).filter(([, value]) => value)).toString();
  return `#/${route}${found ? `?${found}` : ""}`;
}

/** @param {string} namespace @param {string} name @param {string} [gang] */
export function setLink(namespace, name, gang = "") {
  return link(`set/${encodeURIComponent(namespace)}/${encodeURIComponent(name)}`, { gang });
}

const MARGIN = 12;

/**
 * Show only those rows of a long list that can be seen, each of the same height.
 * @template T
 * @param {{ id: string, items: T[], height: number, row: (item: T, index: number) => Element_,
 *   label: string, class?: string, columns?: string[] }} options
 */
export function longList({ id, items, height, row, label, columns = [], ...more }) {
  const place = document.getElementById(id);
  const top = place ? place.getBoundingClientRect().top : 200;
  const first = Math.max(0, Math.floor(-top / height) - MARGIN);
  const count = Math.ceil(window.innerHeight / height) + 2 * MARGIN;
  const visible = items.slice(first, first + count);
  const after = Math.max(0, items.length - first - visible.length);
  const space = (/** @type {string} */ key, /** @type {number} */ rows) =>
    h("div", { key, class: "space", role: "presentation", style: { height: `${rows * height}px` } });
  const head = columns.length
    ? h("div", { key: "head", role: "row", class: "row head", "aria-rowindex": 1 },
        columns.map((name) => h("span", { role: "columnheader", key: name, class: `c-${slug(name)}` }, name)))
    : null;
  return h("div", { class: `long ${more.class ?? ""}`, role: "table", "aria-label": label,
      "aria-rowcount": items.length + (head ? 1 : 0) },
    head,
    h("div", { id, role: "rowgroup", key: "body" },
      space("before", Math.min(first, items.length)),
      visible.map((item, index) => row(item, first + index)),
      space("after", after)));
}

/** @param {string} text */
export function slug(text) {
  return text.toLowerCase().replaceAll(/[^a-z0-9]+/g, "-");
}

/**
 * A group of buttons of which one is pressed.
 * @param {string} label @param {[string, string][]} options @param {string} chosen
 * @param {(value: string) => void} choose
 */
export function choice(label, options, chosen, choose) {
  return h("div", { class: "choice", role: "group", "aria-label": label },
    options.map(([value, text]) =>
      h("button", { key: value, type: "button", "aria-pressed": String(value === chosen),
        onclick: () => choose(value) }, text)));
}

/**
 * @param {string} label @param {[string, string][]} options @param {string} chosen
 * @param {(value: string) => void} choose
 */
export function select(label, options, chosen, choose) {
  return h("label", { class: "field" }, h("span", null, label),
    h("select", { value: chosen, onchange: (event) => choose(event.target.value) },
      options.map(([value, text]) => h("option", { key: value, value }, text))));
}
