// The page: which view is shown, and when it is drawn again.
//
// A change only marks the page; it is drawn at most once a frame, and once a second so that ages
// move. Views are functions of the store and of what people chose.

import { activity } from "./activity.js";
import { backends } from "./backends.js";
import { capacity } from "./capacity.js";
import { h, render } from "./dom.js";
import { fleet } from "./fleet.js";
import { plural } from "./format.js";
import { gangSet } from "./gangset.js";
import { link } from "./parts.js";
import { Store } from "./store.js";
import { DetailsReader, Stream } from "./stream.js";

const VIEWS = [["fleet", "Fleet"], ["capacity", "Capacity"], ["backends", "Backends"], ["activity", "Activity"]];
const NARROW = matchMedia("(max-width: 640px)");
const QUIET = 10_000;

/** @typedef {{ view: string, parts: string[], query: URLSearchParams }} Route */

/** @returns {Route} */
function routed() {
  const [path = "", query = ""] = location.hash.replace(/^#\/?/, "").split("?");
  const parts = path.split("/").map(decodeURIComponent);
  return { view: parts[0] || "fleet", parts, query: new URLSearchParams(query) };
}

export class App {
  constructor() {
    this.root = /** @type {Element} */ (document.getElementById("app"));
    this.announcer = /** @type {Element} */ (document.getElementById("announcer"));
    this.store = new Store();
    this.fleet = { state: -1, reason: "", age: -1, text: "" };
    this.capacity = { resource: "gpu", level: "" };
    this.activity = { sort: "" };
    this.route = routed();
    this.grown = { route: "", count: 0 };
    this.isMarked = false;
    this.announcedAt = 0;
    this.mark = this.mark.bind(this);
    this.details = new DetailsReader(this.mark);
    this.stream = new Stream(this.store, this.mark);
    addEventListener("hashchange", () => this.navigate());
    addEventListener("scroll", this.mark, { passive: true });
    addEventListener("resize", this.mark, { passive: true });
    addEventListener("keydown", (event) => moveByArrow(event));
    setInterval(this.mark, 1000);
    this.mark();
  }

  get isNarrow() {
    return NARROW.matches;
  }

  mark() {
    if (this.isMarked || document.hidden) return;
    this.isMarked = true;
    requestAnimationFrame(() => {
      this.isMarked = false;
      this.draw();
    });
  }

  navigate() {
    const before = this.route;
    this.route = routed();
    if (before.view !== this.route.view) this.grown = { route: "", count: 0 };
    if (before.view !== this.route.view || before.parts.join("/") !== this.route.parts.join("/")) {
      scrollTo(0, 0);
      this.draw();
      // Where a page would load, screen readers go to the new content.
      document.getElementById("main")?.focus({ preventScroll: true });
    } else {
      this.mark();
    }
  }

  /**
   * Return as many items as may be shown now; the others follow, a step in each frame.
   * @template T @param {string} name @param {T[]} items @param {number} step @returns {T[]}
   */
  growing(name, items, step) {
    const route = `${name} ${this.route.view}`;
    if (this.grown.route !== route) this.grown = { route, count: 0 };
    if (this.grown.count < items.length) {
      this.grown.count += step;
      setTimeout(this.mark);
    }
    return items.slice(0, this.grown.count);
  }

  /** @param {Partial<App["fleet"]>} changes */
  filter(changes) {
    Object.assign(this.fleet, changes);
    this.mark();
  }

  /** @param {Partial<App["capacity"]>} changes */
  choose(changes) {
    Object.assign(this.capacity, changes);
    this.mark();
  }

  /** @param {string} sort */
  show(sort) {
    this.activity.sort = sort;
    this.mark();
  }

  draw() {
    const { context, scope } = this.store.cluster;
    render(this.root, [
      h("header", { key: "top", class: "top" },
        h("div", { class: "brand" }, h("img", { src: "favicon.svg", alt: "", width: 20, height: 20 }), h("b", null, "Gangs"),
          h("span", { class: "dim context", title: context }, context), h("span", { class: "dim" }, scope ? `namespace ${scope}` : "all namespaces")),
        h("nav", { "aria-label": "Views" }, VIEWS.map(([view = "", word]) =>
          h("a", { key: view, href: link(view), "aria-current": this.isCurrent(view) ? "page" : null }, word))),
        connection(this.stream.state)),
      h("main", { key: "main", id: "main", tabindex: "-1", class: `view-${this.route.view}` }, ...this.problems(), ...this.view()),
    ]);
    this.announce();
  }

  /** @param {string} view */
  isCurrent(view) {
    return this.route.view === view || (view === "fleet" && this.route.view === "set");
  }

  view() {
    switch (this.route.view) {
      case "set": return gangSet(this, this.route.parts[1] ?? "", this.route.parts[2] ?? "");
      case "capacity": return capacity(this);
      case "backends": return backends(this);
      case "activity": return activity(this);
      default: return fleet(this);
    }
  }

  problems() {
    const kinds = ["podcliquesets", "podgangs"].filter((kind) => kind in this.store.cluster.unread);
    const texts = [...kinds.map((kind) => `${kind}: ${this.store.cluster.unread[kind]}`), ...this.store.all("problem").slice(0, 3).map((doc) => doc.message)];
    return texts.map((text) => h("p", { key: `problem ${text}`, class: "notice", role: "note" }, text));
  }

  /** Announce to screen readers how many sets run, at most every ten seconds. */
  announce() {
    if (!this.stream.isComplete || Date.now() < this.announcedAt + QUIET) return;
    const counts = this.store.derive("counts", ["set"], "", () => {
      const found = [0, 0, 0];
      for (const doc of this.store.all("set")) found[doc.row.verdict] = (found[doc.row.verdict] ?? 0) + 1;
      return found;
    });
    const text = `${plural(counts[2] ?? 0, "set requires", "sets require")} manual action, ${counts[1]} waiting, ${counts[0]} running`;
    if (this.announcer.textContent !== text) {
      this.announcer.textContent = text;
      this.announcedAt = Date.now();
    }
  }
}

/** @param {string} state */
function connection(state) {
  const words = /** @type {Record<string, string>} */ ({ live: "live", connecting: "connecting", lost: "connection lost, retrying" });
  return h("span", { class: `connection ${state}`, role: "status" }, h("span", { class: "pulse", "aria-hidden": "true" }), words[state]);
}

/** Move between the rows of a list by arrow keys. @param {KeyboardEvent} event */
function moveByArrow(event) {
  const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
  const row = document.activeElement?.closest(".long .row");
  if (!step || !row) return;
  const next = step > 0 ? row.nextElementSibling : row.previousElementSibling;
  const target = /** @type {HTMLElement | null} */ (next?.querySelector("a") ?? null);
  if (target) {
    event.preventDefault();
    target.focus();
    target.scrollIntoView({ block: "nearest" });
  }
}

Object.assign(globalThis, { dashboard: new App() });
