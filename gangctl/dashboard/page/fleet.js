// The fleet: how many sets run, wait or require manual action, for which reason and how long.

import { h } from "./dom.js";
import { age, parted, plural, secondsSince } from "./format.js";
import { empty, longList, setLink, sign, stateOf } from "./parts.js";
import { compare, naturally } from "./store.js";

/**
 * @typedef {import("./store.js").SetDoc} SetDoc
 * @typedef {import("./app.js").App} App
 * @typedef {{ reason: string, verdict: number, counts: number[], oldest: string }} ReasonRow
 */

const AGES = [
  { word: "< 5 min", until: 300 },
  { word: "5–30 min", until: 1800 },
  { word: "30 min–2 h", until: 7200 },
  { word: "> 2 h", until: Infinity },
];
const COLUMNS = ["State", "Set", "Ready", "Pods", "GPUs", "Backend", "Queue", "Waiting", "Why"];

/** @param {SetDoc} doc */
function bucket(doc) {
  const seconds = secondsSince(doc.row.waitingSince);
  return AGES.findIndex(({ until }) => seconds < until);
}

/** @param {SetDoc} doc */
function reasonOf(doc) {
  return doc.row.reason || "Unknown";
}

/** @param {App} app */
export function fleet(app) {
  const sets = sorted(app);
  const { state, reason, age: chosenAge, text } = app.fleet;
  const matches = sets.filter((doc) =>
    (state < 0 || doc.row.verdict === state)
    && (!reason || (reasonOf(doc) === reason && doc.row.verdict > 0))
    && (chosenAge < 0 || bucket(doc) === chosenAge)
    && (!text || haystack(doc).includes(text.toLowerCase())));
  return [
    h("h1", { key: "title", class: "unseen" }, "Fleet"),
    tiles(app, sets),
    reasons(app, sets),
    h("div", { key: "tools", class: "tools" },
      h("label", { class: "field grow" }, h("span", { class: "unseen" }, "Filter sets"),
        h("input", { type: "search", placeholder: "Filter by name, namespace, queue or backend",
          value: text, oninput: (event) => app.filter({ text: event.target.value }) })),
      isFiltered(app) ? h("button", { type: "button", key: "clear",
        onclick: () => app.filter({ state: -1, reason: "", age: -1, text: "" }) }, "Show all") : null,
      h("span", { class: "count", role: "status" }, `${matches.length.toLocaleString("en")} of ${plural(sets.length, "set")}`)),
    sets.length === 0
      ? nothing(app)
      : longList({ id: "fleet-rows", items: matches, height: app.isNarrow ? 98 : 58, row,
          label: "PodCliqueSets", class: "fleet", columns: app.isNarrow ? [] : COLUMNS }),
  ];
}

/** @param {App} app */
function isFiltered(app) {
  const { state, reason, age: chosenAge, text } = app.fleet;
  return state >= 0 || reason !== "" || chosenAge >= 0 || text !== "";
}

/** @param {SetDoc} doc */
function haystack(doc) {
  const { namespace, name, queue, backends } = doc.row;
  return `${namespace}/${name} ${queue} ${backends.join(" ")}`.toLowerCase();
}

/** @param {App} app */
function sorted(app) {
  return app.store.derive("fleet", ["set"], "", () =>
    app.store.all("set").sort((a, b) =>
      b.row.verdict - a.row.verdict
      || compare(a.row.waitingSince, b.row.waitingSince)
      || naturally(a.row.namespace, b.row.namespace)
      || naturally(a.row.name, b.row.name)));
}

/** @param {App} app @param {SetDoc[]} sets */
function tiles(app, sets) {
  const totals = app.store.derive("tiles", ["set"], "", () => [2, 1, 0].map((verdict) => {
    const found = sets.filter((doc) => doc.row.verdict === verdict);
    const gpus = found.reduce((sum, doc) => sum + (Number(doc.row.gpus) || 0), 0);
    return { verdict, count: found.length, gpus, oldest: found[0]?.row.waitingSince ?? "" };
  }));
  return h("div", { key: "tiles", class: "tiles", role: "group", "aria-label": "Sets by state" },
    totals.map(({ verdict, count, gpus, oldest }) => {
      const { id, word } = stateOf(verdict);
      const facts = [gpus ? plural(gpus, "GPU") : "", oldest ? `longest ${age(oldest)}` : ""];
      return h("button", { key: id, type: "button", class: `tile ${id} ${count ? "" : "none"}`,
          "aria-pressed": String(app.fleet.state === verdict),
          onclick: () => app.filter({ state: app.fleet.state === verdict ? -1 : verdict }) },
        h("span", { class: "tile-head" }, sign(verdict, false), word),
        h("span", { class: "number" }, count.toLocaleString("en")),
        h("span", { class: "facts" }, facts.filter(Boolean).join(" · ") || "\u00a0"));
    }));
}

/** @param {App} app @param {SetDoc[]} sets */
function reasons(app, sets) {
  const waiting = sets.filter((doc) => doc.row.verdict > 0);
  if (!waiting.length) return null;
  /** @type {Map<string, ReasonRow>} */
  const rows = new Map();
  for (const doc of waiting) {
    const reason = reasonOf(doc);
    const found = rows.get(reason) ?? { reason, verdict: 0, counts: [0, 0, 0, 0], oldest: doc.row.waitingSince };
    found.verdict = Math.max(found.verdict, doc.row.verdict);
    const at = bucket(doc);
    found.counts[at] = (found.counts[at] ?? 0) + 1;
    rows.set(reason, found);
  }
  const total = (/** @type {ReasonRow} */ row) => row.counts.reduce((a, b) => a + b, 0);
  const ordered = [...rows.values()].sort((a, b) => b.verdict - a.verdict || total(b) - total(a));
  const most = Math.max(...ordered.flatMap((row) => row.counts));
  return h("div", { key: "reasons", class: "panel scrolls", tabindex: "0", role: "region", "aria-label": "Why sets wait" },
    h("table", { class: "reasons" },
      h("caption", { class: "unseen" }, "Sets that wait, by reason and by how long"),
      h("thead", null, h("tr", null, h("th", { scope: "col" }, "Reason"),
        AGES.map(({ word }) => h("th", { scope: "col", key: word, class: "n" }, word)),
        h("th", { scope: "col", class: "n" }, "Sets"), h("th", { scope: "col", class: "n" }, "Longest"))),
      h("tbody", null, ordered.map((row) => h("tr", { key: row.reason },
        h("th", { scope: "row" }, sign(row.verdict),
          filterButton(app, row.reason, -1, row.reason, `Show sets with reason ${row.reason}`)),
        row.counts.map((count, at) => h("td", { key: String(at), class: `n heat ${stateOf(row.verdict).id}`,
            style: { "--heat": String(count ? 0.12 + (0.5 * count) / most : 0) } },
          count ? filterButton(app, row.reason, at, count.toLocaleString("en"),
            `Show ${plural(count, "set")} with reason ${row.reason}, waiting ${AGES[at]?.word}`) : "·")),
        h("td", { class: "n" }, total(row).toLocaleString("en")),
        h("td", { class: "n" }, age(row.oldest)))))));
}

/** @param {App} app @param {string} reason @param {number} at @param {string} text @param {string} label */
function filterButton(app, reason, at, text, label) {
  const isChosen = app.fleet.reason === reason && app.fleet.age === at;
  return h("button", { type: "button", class: "plain", "aria-label": label, "aria-pressed": String(isChosen),
    onclick: () => app.filter(isChosen ? { reason: "", age: -1 } : { reason, age: at }) }, text);
}

/** @param {SetDoc} doc @param {number} index */
function row(doc, index) {
  const { namespace, name, verdict, available, replicas, readyPods, pods, gpus, backends, queue,
    waitingSince, message } = doc.row;
  const cell = (/** @type {string} */ id, /** @type {any} */ content, title = "") =>
    h("span", { key: id, role: "cell", class: `c-${id}`, title: title || null }, content);
  return h("div", { key: `${namespace}/${name}`, role: "row", class: "row", "aria-rowindex": index + 2 },
    cell("state", sign(verdict)),
    cell("set", h("a", { href: setLink(namespace, name) },
      h("span", { class: "dim" }, `${namespace}/`), name), `${namespace}/${name}`),
    cell("ready", `${available}/${replicas}`),
    cell("pods", `${readyPods}/${pods}`),
    cell("gpus", gpus),
    cell("backend", backends.join(", ") || "–"),
    cell("queue", queue || "–", queue),
    cell("waiting", waitingSince ? age(waitingSince) : "–"),
    cell("why", why(message) || (verdict ? "" : "–"), message));
}

/** What is wrong may be cut, what to do has lines of its own. @param {string} message */
function why(message) {
  const { what, remedy } = parted(message);
  return remedy ? [h("span", { key: "what" }, what), h("span", { key: "remedy" }, remedy)] : what;
}

/** @param {App} app */
function nothing(app) {
  if (!app.stream.isComplete || !app.store.cluster.isLoaded) return empty("Loading…", "The first lists are being read.");
  const where = app.store.cluster.scope ? `namespace ${app.store.cluster.scope}` : "this cluster";
  return empty("No PodCliqueSets", `There is none in ${where}. Apply one, and it appears here.`);
}
