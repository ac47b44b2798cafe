// One set: its gangs with their stages, and the objects and numbers of the gang that is selected.

import { h } from "./dom.js";
import { age, moment, plural } from "./format.js";
import { command, empty, link, longList, setLink, sign, stateOf, unread } from "./parts.js";
import { naturally } from "./store.js";
import { miniature, timeline, waitsFor } from "./timeline.js";

/**
 * @typedef {import("./store.js").GangDoc} GangDoc
 * @typedef {import("./stream.js").TreeNode} TreeNode
 * @typedef {import("./stream.js").Details} Details
 * @typedef {import("./app.js").App} App
 */

/** @param {App} app @param {string} namespace @param {string} name */
export function gangSet(app, namespace, name) {
  const doc = app.store.get("set", `set/${namespace}/${name}`);
  const gangs = app.store.gangsOf(namespace, name);
  const back = h("a", { key: "back", class: "back", href: link("fleet") }, "‹ Fleet");
  if (!doc) {
    return [back, h("h1", { key: "title" }, name), app.stream.isComplete
      ? empty("No such set", `There is no PodCliqueSet ${name} in namespace ${namespace}. It may have been deleted.`)
      : empty("Loading…", "The first lists are being read.")];
  }
  const { row } = doc;
  const chosen = gangs.find((gang) => gang.name === app.route.query.get("gang")) ?? gangs[0];
  const facts = [
    ["Replicas", `${row.available}/${row.replicas} available`], ["Pods", `${row.readyPods}/${row.pods} ready`],
    ["GPUs", row.gpus], ["Backend", row.backends.join(", ") || "–"], ["Queue", row.queue || "–"],
    ["Created", h("span", { title: moment(doc.created) }, `${age(doc.created)} ago`)],
  ];
  // The message of a set repeats that of the gang that blocks it.
  const isRepeated = Boolean(chosen?.message && row.message.includes(chosen.message));
  return [
    back,
    h("header", { key: "header", class: "set-head" },
      h("div", { class: "headline" },
        h("h1", null, h("span", { class: "dim" }, `${namespace}/`), name),
        h("p", { class: `state ${stateOf(row.verdict).id}` }, sign(row.verdict, false),
          stateOf(row.verdict).word, row.waitingSince ? ` for ${age(row.waitingSince)}` : "")),
      h("dl", { class: "facts" }, facts.map(([term, value]) =>
        h("div", { key: String(term) }, h("dt", null, term), h("dd", null, value)))),
      row.message && !isRepeated ? h("p", { class: `message ${stateOf(row.verdict).id}` }, h("b", null, row.reason), ` ${row.message}`) : null),
    gangs.length === 0
      ? empty("No gangs yet", "Core has not created a PodGang for this set.")
      : h("div", { key: "body", class: "split" },
          h("section", { key: "list", "aria-label": "Gangs" },
            h("h2", null, plural(gangs.length, "gang")),
            longList({ id: "gang-rows", items: gangs, height: 52, label: "Gangs of the set", class: "gangs",
              row: (gang, index) => gangRow(gang, index, gang === chosen) })),
          chosen ? selected(app, chosen) : null),
  ];
}

/** @param {GangDoc} gang @param {number} index @param {boolean} isChosen */
function gangRow(gang, index, isChosen) {
  return h("div", { key: gang.name, role: "row", class: "row", "aria-rowindex": index + 1 },
    h("span", { role: "cell", class: "c-gang" },
      h("a", { href: setLink(gang.namespace, gang.set, gang.name), "aria-current": isChosen ? "true" : null },
        sign(gang.verdict), h("span", { class: "name" }, gang.name),
        h("span", { class: "dim when" }, gang.waitingSince ? age(gang.waitingSince) : gang.phase))),
    h("span", { role: "cell", class: "c-stages" }, miniature(gang)));
}

/** @param {App} app @param {GangDoc} gang */
function selected(app, gang) {
  const capacity = gang.verdict > 0 ? app.store.versions.get("node") ?? 0 : 0;
  const details = app.details.of(gang.namespace, gang.name, `${gang.version}/${capacity}`);
  return h("section", { key: "gang", class: "panel detail", "aria-label": `Gang ${gang.name}` },
    h("h2", null, sign(gang.verdict), gang.name),
    h("p", { class: "dim" }, [gang.phase, gang.backend && `backend ${gang.backend}`, gang.queue && `queue ${gang.queue}`,
      gang.gpus ? plural(gang.gpus, "GPU") : ""].filter(Boolean).join(" · ")),
    timeline(gang),
    gang.blockedBy ? h("div", { key: "why", class: `why ${stateOf(gang.verdict).id}` },
      h("h3", { class: "sentence" }, `${waitsFor(gang.blockedBy)}${gang.reason ? `: ${gang.reason}` : ""}`),
      gang.message ? h("p", null, gang.message) : null,
      (details?.sentences ?? []).map((sentence, index) => h("p", { key: String(index) }, sentence)),
      details?.shading && gang.blockedBy === "scheduled" ? h("p", null, h("a", { href: link("capacity", { gang: `${gang.namespace}/${gang.name}` }) },
        "Show where it nearly fits")) : null,
      details?.nextCommand ? h("p", { class: "next" }, "Next: ", command(details.nextCommand)) : null) : null,
    h("h3", { key: "objects-title" }, "Objects"),
    details ? objects(app, details) : h("p", { class: "dim" }, "Loading…"));
}

/** @param {App} app @param {Details} details */
function objects(app, details) {
  const why = app.store.cluster.unread["pods"];
  return h("div", { key: "objects" }, why ? unread("Some pods", why) : null,
    details.objects.length ? h("ul", { class: "tree" }, details.objects.map(branch)) : h("p", { class: "dim" }, "None yet."));
}

const SHOWN = 64;

/** @param {TreeNode} node @returns {import("./dom.js").Element_} */
function branch(node) {
  const shown = [...node.children].sort((a, b) => naturally(a.name, b.name)).slice(0, SHOWN);
  const label = [h("span", { class: "kind" }, node.kind), " ", h("span", { class: "name" }, node.name), " ",
    h("span", { class: `is ${node.verdict === null ? "" : stateOf(node.verdict).id}` }, node.state)];
  if (!node.children.length) return h("li", { key: `${node.kind}/${node.name}` }, label);
  return h("li", { key: `${node.kind}/${node.name}` }, label,
    h("ul", null, shown.map(branch),
      node.children.length > SHOWN
        ? h("li", { key: "more", class: "dim" }, `and ${plural(node.children.length - SHOWN, "more", "more")}`) : null));
}
