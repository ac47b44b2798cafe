// The backends: whether each is alive, who leads, what its scheduler serves, and what is missing.

import { h } from "./dom.js";
import { age, plural } from "./format.js";
import { command, empty, sign, unread } from "./parts.js";

/** @param {import("./app.js").App} app */
export function backends(app) {
  const title = h("h1", { key: "title", class: "unseen" }, "Backends");
  const why = app.store.cluster.unread["schedulerbackends"];
  if (why) return [title, unread("Backends are", why)];
  const found = app.store.all("backend").sort((a, b) => b.row.verdict - a.row.verdict || (a.row.name < b.row.name ? -1 : 1));
  if (!found.length) {
    return [title, empty("No backend is installed", "Without one no gang is scheduled. Install one: ",
      command("kubectl apply --server-side -k deploy/backends/default"))];
  }
  return [title, h("div", { key: "cards", class: "cards" }, found.map(card))];
}

/** @param {import("./store.js").BackendDoc} doc */
function card({ row, renewedAt }) {
  const word = !row.alive ? "down" : row.ready ? "ready" : "not ready";
  const facts = [
    ["Gangs", row.gangs.toLocaleString("en")],
    ["Leader", row.leader || "–"],
    ["Lease renewed", renewedAt ? `${age(renewedAt)} ago` : "–"],
    ["Schedulers", row.schedulers.join(", ") || "–"],
    ["Scheduler API", row.dialect || "–"],
  ];
  return h("article", { key: row.name, class: "panel backend", "aria-label": `Backend ${row.name}` },
    h("header", null, sign(row.verdict, false), h("h2", null, row.name), h("span", { class: `badge ${row.verdict ? "manual" : "running"}` }, word)),
    row.missing ? h("p", { class: "message manual" }, row.missing) : null,
    h("dl", null, facts.map(([term, value]) => h("div", { key: String(term) }, h("dt", null, term), h("dd", null, value)))),
    h("h3", null, plural(row.capabilities.length, "capability", "capabilities")),
    h("ul", { class: "chips" }, row.capabilities.map((name) => h("li", { key: name }, name))));
}
