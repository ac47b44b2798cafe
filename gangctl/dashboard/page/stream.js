// Follows the stream of changes of the server.
//
// The browser reconnects by itself and names the last change that it got, so the server continues
// there. Messages that arrive together are applied together, before the next frame.

import { clock } from "./format.js";

/**
 * @typedef {{ put?: Record<string, any>, deleted?: string[], reset?: boolean, complete?: boolean,
 *   now?: string }} Message
 * @typedef {"connecting" | "live" | "lost"} State
 */

export class Stream {
  /**
   * @param {import("./store.js").Store} store
   * @param {() => void} onChange
   */
  constructor(store, onChange) {
    this.store = store;
    this.onChange = onChange;
    /** @type {State} */
    this.state = "connecting";
    this.isComplete = false;
    const source = (this.source = new EventSource("events"));
    source.onmessage = (event) => this.apply(JSON.parse(event.data));
    source.onerror = () => {
      this.state = "lost";
      onChange();
      // A refused stream is closed for good; a cut one is opened again by the browser.
      if (source.readyState === EventSource.CLOSED) setTimeout(() => location.reload(), 5000);
    };
  }

  /** @param {Message} message */
  apply(message) {
    if (message.reset) this.store.clear();
    for (const [key, document] of Object.entries(message.put ?? {})) this.store.put(key, document);
    for (const key of message.deleted ?? []) this.store.remove(key);
    if (message.now) clock.offset = Date.parse(message.now) - Date.now();
    if (message.complete) this.isComplete = true;
    this.state = "live";
    this.onChange();
  }
}

/**
 * @typedef {{ kind: string, name: string, state: string, verdict: number | null,
 *   children: TreeNode[] }} TreeNode
 * @typedef {{ fitting: number, isComplete: boolean }} DomainFit
 * @typedef {{ wanted: number, fitting: number, level: string, nodes: Record<string, number>,
 *   domains: Record<string, Record<string, DomainFit>> }} Shading
 * @typedef {{ namespace: string, name: string, set: string, sentences: string[],
 *   nextCommand: string, objects: TreeNode[], shading: Shading | null }} Details
 */

const SHORTEST = 1000;

/** The details of one gang at a time, asked for again when the gang or the capacity changed. */
export class DetailsReader {
  /** @param {() => void} onChange */
  constructor(onChange) {
    this.onChange = onChange;
    this.key = "";
    this.stamp = "";
    /** @type {Details | null} */
    this.details = null;
    this.isBusy = false;
    this.askedAt = 0;
    this.timer = 0;
  }

  /**
   * Return the details of a gang as far as they are known, and ask for newer ones if needed.
   * @param {string} namespace
   * @param {string} name
   * @param {string} stamp Changes when the details may have.
   * @returns {Details | null}
   */
  of(namespace, name, stamp) {
    const key = `${namespace}/${name}`;
    if (key !== this.key) {
      this.key = key;
      this.stamp = "";
      this.details = null;
      this.askedAt = 0;
    }
    const wait = this.askedAt + SHORTEST - Date.now();
    if (stamp !== this.stamp && !this.isBusy) {
      if (wait <= 0) this.ask(namespace, name, stamp);
      else this.askLater(wait);
    }
    return this.details;
  }

  /** @param {number} wait */
  askLater(wait) {
    if (this.timer) return;
    this.timer = setTimeout(() => {
      this.timer = 0;
      this.onChange();
    }, wait);
  }

  /** @param {string} namespace @param {string} name @param {string} stamp */
  async ask(namespace, name, stamp) {
    const key = this.key;
    this.isBusy = true;
    this.askedAt = Date.now();
    try {
      const query = new URLSearchParams({ namespace, name });
      const answer = await fetch(`gang?${query}`);
      const found = answer.ok ? await answer.json() : null;
      if (key === this.key) {
        this.details = found;
        this.stamp = stamp;
      }
    } catch {
      // The stream shows that the connection is lost; the next change asks again.
    } finally {
      this.isBusy = false;
      this.onChange();
    }
  }
}
