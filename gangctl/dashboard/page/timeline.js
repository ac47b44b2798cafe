// The stages of a gang, from created to ready, with times.

import { h } from "./dom.js";
import { age, delta, moment, time } from "./format.js";

/**
 * @typedef {import("./store.js").GangDoc} GangDoc
 * @typedef {import("./store.js").Stage} Stage
 * @typedef {{ name: string, state: string, count: string, at: string, reason: string, step: string }} Step
 */

const WORDS = /** @type {Record<string, string>} */ ({
  passed: "done", waiting: "waiting", refused: "requires manual action", open: "not yet",
});

const WAITS = /** @type {Record<string, string>} */ ({
  selected: "waits for a backend", accepted: "waits to be accepted by its backend", pods: "waits for its pods",
});

/** What a gang waits for. @param {string} stage */
export function waitsFor(stage) {
  return WAITS[stage] ?? `waits to be ${stage}`;
}

/** The steps of a gang; the first is its creation. @param {GangDoc} gang @returns {Step[]} */
export function steps(gang) {
  const created = { name: "created", state: "passed", count: "", at: gang.created, reason: "", step: "" };
  /** @type {Step[]} */
  const found = [created];
  let last = gang.created;
  for (const stage of gang.stages) {
    const isBlocking = stage.name === gang.blockedBy;
    const state = isBlocking ? (gang.verdict > 1 ? "refused" : "waiting")
      : stage.status === "True" ? "passed" : "open";
    const at = state === "open" ? "" : stage.at;
    const step = state === "passed" && at && last ? delta(last, at) : "";
    found.push({ name: stage.name, state, count: stage.count, at, reason: stage.reason, step });
    if (state === "passed" && at > last) last = at;
  }
  return found;
}

/** The stages in one line, for lists. @param {GangDoc} gang */
export function miniature(gang) {
  const found = steps(gang).slice(1);
  const done = found.filter((step) => step.state === "passed").length;
  const blocked = gang.blockedBy ? `, ${waitsFor(gang.blockedBy)}` : "";
  return h("span", { class: "miniature", role: "img", "aria-label": `${done} of ${found.length} stages done${blocked}` },
    found.map((step) => h("span", { key: step.name, class: step.state, title: `${step.name}: ${WORDS[step.state]}` })));
}

/** The stages with times. @param {GangDoc} gang */
export function timeline(gang) {
  return h("ol", { class: "timeline", "aria-label": `Stages of ${gang.name}` },
    steps(gang).map((step) => h("li", { key: step.name, class: step.state },
      h("span", { class: "dot", "aria-hidden": "true" }),
      h("span", { class: "stage" }, step.name, step.count ? h("span", { class: "dim" }, ` ${step.count}`) : null),
      h("span", { class: "unseen" }, `: ${WORDS[step.state]}`),
      h("span", { class: "at", title: moment(step.at) || null }, when(gang, step)))));
}

/** @param {GangDoc} gang @param {Step} step */
function when(gang, step) {
  if (step.state === "waiting" || step.state === "refused") return age(gang.waitingSince);
  if (step.state === "open") return "–";
  return step.step || time(step.at) || "–";
}
