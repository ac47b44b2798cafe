// What happened: losses, preemptions, moves, terminations and updates, each with its cause.

import { h } from "./dom.js";
import { age, moment, plural } from "./format.js";
import { choice, empty, longList, setLink, unread } from "./parts.js";
import { compare } from "./store.js";

/**
 * @typedef {import("./store.js").ActivityDoc} ActivityDoc
 * @typedef {import("./app.js").App} App
 */

/** @type {[string, string][]} */
const SORTS = [["", "All"], ["loss", "Losses"], ["preemption", "Preemptions"], ["move", "Moves"],
  ["termination", "Terminations"], ["update", "Updates"], ["problem", "Problems"]];

/** @param {App} app */
export function activity(app) {
  const all = app.store.derive("activity", ["activity"], "", () => app.store.all("activity").sort((a, b) => compare(b.at, a.at)));
  const found = all.filter((doc) => !app.activity.sort || doc.sort === app.activity.sort);
  const why = app.store.cluster.unread["events"];
  return [
    h("h1", { key: "title", class: "unseen" }, "Activity"),
    why ? unread("Events are", why) : null,
    h("div", { key: "tools", class: "tools" }, choice("Kind of activity", SORTS, app.activity.sort, (sort) => app.show(sort)),
      h("span", { class: "count", role: "status" }, plural(found.length, "event"))),
    found.length
      ? longList({ id: "activity-rows", items: found, height: app.isNarrow ? 96 : 46, row, label: "Activity", class: "activity" })
      : empty("Nothing happened", all.length ? "No event of this kind is stored." : "Losses, preemptions and moves of the last hour appear here."),
  ].filter((part) => part !== null);
}

/** @param {ActivityDoc} doc @param {number} index */
function row(doc, index) {
  const about = doc.set
    ? h("a", { href: setLink(doc.namespace, doc.set) }, h("span", { class: "dim" }, `${doc.namespace}/`), doc.set)
    : h("span", null, doc.namespace ? `${doc.namespace}/` : "", doc.about);
  return h("div", { key: `${doc.at}/${doc.about}/${doc.reason}/${doc.cause}`, role: "row", class: `row ${doc.isWarning ? "warning" : ""}`, "aria-rowindex": index + 1 },
    h("span", { role: "cell", class: "c-at", title: moment(doc.at) }, `${age(doc.at)} ago`),
    h("span", { role: "cell", class: "c-sort" }, h("span", { class: `badge ${doc.sort}` }, doc.sort)),
    h("span", { role: "cell", class: "c-about", title: doc.about }, about),
    h("span", { role: "cell", class: "c-cause", title: doc.cause }, h("b", null, doc.reason), doc.count > 1 ? ` ×${doc.count}` : "", ` ${doc.cause}`));
}
