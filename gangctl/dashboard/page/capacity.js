// Capacity: racks, nodes and their GPUs, and where a waiting gang nearly fits.

import { h, memo } from "./dom.js";
import { age, amount, plural, unit } from "./format.js";
import { choice, empty, link, select, setLink, unread } from "./parts.js";
import { naturally } from "./store.js";

/**
 * @typedef {import("./store.js").NodeDoc} NodeDoc
 * @typedef {import("./store.js").GangDoc} GangDoc
 * @typedef {import("./stream.js").Shading} Shading
 * @typedef {import("./stream.js").DomainFit} DomainFit
 * @typedef {import("./app.js").App} App
 * @typedef {{ name: string, nodes: NodeDoc[], total: number, gangs: number, others: number }} Domain
 */

const CELLS = 16;
/** Racks that are added in one frame, so that a large cluster does not block the page. */
const STEP = 24;

/** @param {App} app */
export function capacity(app) {
  const nodes = app.store.all("node");
  const title = h("h1", { key: "title", class: "unseen" }, "Capacity");
  const blocked = ["nodes", "pods"].filter((kind) => kind in app.store.cluster.unread);
  const notices = blocked.map((kind) => unread(kind === "nodes" ? "Nodes are" : "Pods of others are", app.store.cluster.unread[kind] ?? ""));
  if (!nodes.length) {
    return [title, ...notices, blocked.includes("nodes") ? null : empty("No nodes", "The cluster has no node yet, or they are being read.")]
      .filter((part) => part !== null);
  }
  const resources = ["gpu", "cpu", "memory"].filter((name) => nodes.some((node) => node.total[name]));
  const resource = resources.includes(app.capacity.resource) ? app.capacity.resource : resources[0] ?? "cpu";
  const { levels } = app.store.cluster;
  const level = levels.some(([, key]) => key === app.capacity.level) ? app.capacity.level : levels.at(narrowest(levels))?.[1] ?? "";
  const gang = selectedGang(app);
  const shading = gang ? app.details.of(gang.namespace, gang.name, `${gang.version}/${app.store.versions.get("node")}`)?.shading ?? null : null;
  const domains = app.store.derive("domains", ["node"], `${level}/${resource}`, () => grouped(nodes, level, resource));
  const fits = (/** @type {Domain} */ domain) => fitOf(shading, level, domain.name)?.fitting ?? 0;
  const ordered = shading ? [...domains].sort((a, b) => fits(b) - fits(a)) : domains;
  return [
    title,
    ...notices,
    tools(app, resources, resource, level, gang),
    gang ? verdict(gang, shading) : null,
    legend(resource, Boolean(gang)),
    h("div", { key: "domains", class: "domains" },
      app.growing("racks", ordered, STEP).map((domain) => {
        const fit = fitOf(shading, level, domain.name);
        const takes = domain.nodes.map((node) => shading?.nodes[node.name]);
        const inputs = [resource, Boolean(gang), shading?.wanted, fit?.fitting, fit?.isComplete];
        return memo(`rack ${domain.name}`, [...inputs, ...takes, ...domain.nodes], () =>
          rack(domain, resource, shading, fit, Boolean(gang)));
      })),
  ].filter((part) => part !== null);
}

/** Racks show more than hosts. @param {[string, string][]} levels */
function narrowest(levels) {
  const rack = levels.findIndex(([name]) => name === "rack");
  if (rack >= 0) return rack;
  const hosts = levels.findIndex(([name]) => name === "host" || name === "numa");
  return hosts > 0 ? hosts - 1 : -1;
}

/** @param {App} app @returns {GangDoc | null} */
function selectedGang(app) {
  const key = app.route.query.get("gang") ?? "";
  const gang = app.store.get("gang", `gang/${key}`);
  return gang && gang.verdict > 0 ? gang : null;
}

/** @param {Shading | null} shading @param {string} level @param {string} domain */
function fitOf(shading, level, domain) {
  return shading?.domains[level]?.[domain] ?? null;
}

/** @param {NodeDoc[]} nodes @param {string} level @param {string} resource @returns {Domain[]} */
function grouped(nodes, level, resource) {
  /** @type {Map<string, Domain>} */
  const found = new Map();
  for (const node of nodes) {
    const name = node.domains[level] ?? "";
    const domain = found.get(name) ?? { name, nodes: [], total: 0, gangs: 0, others: 0 };
    domain.nodes.push(node);
    domain.total += node.total[resource] ?? 0;
    domain.gangs += node.gangs[resource] ?? 0;
    domain.others += node.others[resource] ?? 0;
    found.set(name, domain);
  }
  for (const domain of found.values()) domain.nodes.sort((a, b) => naturally(a.name, b.name));
  // Nodes outside of all domains come last.
  return [...found.values()].sort((a, b) => Number(!a.name) - Number(!b.name) || naturally(a.name, b.name));
}

/** @param {App} app @param {string[]} resources @param {string} resource @param {string} level @param {GangDoc | null} gang */
function tools(app, resources, resource, level, gang) {
  const { levels } = app.store.cluster;
  const waiting = app.store.waitingGangs.slice(0, 200);
  const key = gang ? `${gang.namespace}/${gang.name}` : "";
  /** @type {[string, string][]} */
  const gangs = [["", waiting.length ? "none" : "no gang waits"],
    ...waiting.map((one) => /** @type {[string, string]} */ ([`${one.namespace}/${one.name}`, `${one.namespace}/${one.name}`]))];
  if (key && !gangs.some(([value]) => value === key)) gangs.push([key, key]);
  return h("div", { key: "tools", class: "tools" },
    resources.length > 1 ? choice("Resource", resources.map((name) => [name, unit(name)]), resource,
      (value) => app.choose({ resource: value })) : null,
    levels.length ? select("Group by", levels.map(([name, label]) => [label, name]), level, (value) => app.choose({ level: value })) : null,
    select("Waiting gang", gangs, key, (value) => { location.hash = link("capacity", { gang: value }); }));
}

/** @param {GangDoc} gang @param {Shading | null} shading */
function verdict(gang, shading) {
  const name = h("a", { href: setLink(gang.namespace, gang.set, gang.name) }, `${gang.namespace}/${gang.name}`);
  if (!shading) return h("p", { key: "fit", class: "notice" }, name, ` waits for ${age(gang.waitingSince)}. Its needs are being compared with free capacity.`);
  const where = shading.level ? ` All pods must share one value of ${shading.level}.` : "";
  return h("p", { key: "fit", class: "notice", role: "status" }, name,
    ` waits for ${plural(shading.wanted, "pod")} to be scheduled; ${shading.fitting} of them fit now.${where}`);
}

/** @param {string} resource @param {boolean} hasGang */
function legend(resource, hasGang) {
  const entry = (/** @type {string} */ id, /** @type {string} */ text) =>
    h("li", { key: id }, h("span", { class: `key ${id}`, "aria-hidden": "true" }), text);
  return h("ul", { key: "legend", class: "legend", "aria-label": `Colours of ${unit(resource)}` },
    entry("gangs", "used by gangs"), entry("others", "used by others"), entry("free", "free"),
    entry("closed", "not schedulable"), hasGang ? entry("fits", "pods of the gang fit") : null);
}

/**
 * @param {Domain} domain @param {string} resource @param {Shading | null} shading
 * @param {DomainFit | null} fit @param {boolean} hasGang
 */
function rack(domain, resource, shading, fit, hasGang) {
  const used = domain.gangs + domain.others;
  const share = shading && fit ? fit.fitting / Math.max(1, shading.wanted) : 0;
  const state = !fit || !fit.fitting ? "" : fit.isComplete ? "complete" : "nearly";
  const name = domain.name || "no domain";
  return h("section", { key: domain.name || "-", class: `rack ${state} ${hasGang && !state ? "faded" : ""}`, "aria-label": name,
      style: { "--share": String(share) } },
    h("header", null, h("h2", null, name),
      h("span", { class: "dim" }, `${amount(resource, used)} / ${amount(resource, domain.total)}`),
      fit && fit.fitting && shading ? h("span", { class: "fit" }, fit.isComplete ? "fits" : `${fit.fitting} of ${shading.wanted} pods fit`) : null),
    h("ul", null, domain.nodes.map((node) => nodeRow(node, resource, shading))));
}

/** @param {NodeDoc} node @param {string} resource @param {Shading | null} shading */
function nodeRow(node, resource, shading) {
  const total = node.total[resource] ?? 0;
  const gangs = node.gangs[resource] ?? 0;
  const others = node.others[resource] ?? 0;
  const free = Math.max(0, total - gangs - others);
  const takes = shading?.nodes[node.name] ?? 0;
  const part = (/** @type {number} */ value) => `${total ? Math.min(100, (100 * value) / total) : 0}%`;
  const users = node.users.filter((user) => user.amounts[resource])
    .map((user) => `${user.name} ${amount(resource, user.amounts[resource] ?? 0)}`);
  const facts = [`${node.name}: ${amount(resource, gangs)} of ${amount(resource, total)} ${unit(resource)} used by gangs`,
    `${amount(resource, others)} by others`, `${amount(resource, free)} free`,
    node.unschedulable, takes ? `${plural(takes, "pod")} of the gang fit` : ""].filter(Boolean).join(", ");
  const cells = resource === "gpu" && total > 0 && total <= CELLS ? total : 0;
  return h("li", { key: node.name, class: `node ${node.unschedulable ? "closed" : ""} ${takes ? "takes" : ""}` },
    h("span", { class: "name" }, node.name),
    h("span", { class: "bar", role: "img", "aria-label": facts, title: [facts, ...users].join("\n"),
      style: { "--gangs-part": part(gangs), "--used": part(gangs + others), "--cells": String(cells || 1) } }),
    h("span", { class: "takes-count", "aria-hidden": "true" }, takes ? `+${takes}` : ""));
}
