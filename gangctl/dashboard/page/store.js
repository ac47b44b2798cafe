// The documents that the server sent, by kind, with the lookups that views need.
//
// Every kind has a version that grows with each change. Values that are computed from documents are
// kept until the version of one of their kinds changes.

/**
 * @typedef {{ namespace: string, name: string, verdict: number, replicas: number,
 *   available: number, pods: number, readyPods: number, gpus: string, backends: string[],
 *   queue: string, waitingSince: string, reason: string, message: string }} SetRow
 * @typedef {{ kind: "set", row: SetRow, created: string, gangs: number }} SetDoc
 * @typedef {{ name: string, status: string, count: string, reason: string, message: string,
 *   at: string }} Stage
 * @typedef {{ kind: "gang", namespace: string, name: string, set: string, verdict: number,
 *   phase: string, created: string, waitingSince: string, backend: string, queue: string,
 *   gpus: number, stages: Stage[], blockedBy: string, reason: string, message: string,
 *   version: number }} GangDoc
 * @typedef {{ name: string, isGang: boolean, pods: number, amounts: Record<string, number> }} User
 * @typedef {{ kind: "node", name: string, domains: Record<string, string>, unschedulable: string,
 *   total: Record<string, number>, gangs: Record<string, number>,
 *   others: Record<string, number>, users: User[] }} NodeDoc
 * @typedef {{ name: string, verdict: number, alive: boolean, ready: boolean, leader: string,
 *   schedulers: string[], dialect: string, capabilities: string[], gangs: number,
 *   missing: string }} BackendRow
 * @typedef {{ kind: "backend", row: BackendRow, renewedAt: string }} BackendDoc
 * @typedef {{ kind: "activity", at: string, sort: string, isWarning: boolean, namespace: string,
 *   set: string, about: string, reason: string, cause: string, count: number }} ActivityDoc
 * @typedef {{ kind: "cluster", context: string, scope: string, levels: [string, string][],
 *   unread: Record<string, string>, isLoaded: boolean }} ClusterDoc
 * @typedef {{ kind: "problem", about: string, message: string }} ProblemDoc
 * @typedef {{ set: SetDoc, gang: GangDoc, node: NodeDoc, backend: BackendDoc,
 *   activity: ActivityDoc, cluster: ClusterDoc, problem: ProblemDoc }} Kinds
 */

export class Store {
  constructor() {
    /** @type {Map<string, Map<string, any>>} */
    this.documents = new Map();
    /** @type {Map<string, number>} */
    this.versions = new Map();
    /** @type {Map<string, { stamp: string, value: any }>} */
    this.computed = new Map();
    this.changes = 0;
  }

  /** @param {string} key */
  static kindOf(key) {
    return key.split("/", 1)[0] ?? "";
  }

  clear() {
    for (const kind of this.documents.keys()) this.touch(kind);
    this.documents.clear();
  }

  /** @param {string} key @param {any} document */
  put(key, document) {
    const kind = Store.kindOf(key);
    let found = this.documents.get(kind);
    if (!found) this.documents.set(kind, (found = new Map()));
    found.set(key, document);
    this.touch(kind);
  }

  /** @param {string} key */
  remove(key) {
    this.documents.get(Store.kindOf(key))?.delete(key);
    this.touch(Store.kindOf(key));
  }

  /** @param {string} kind */
  touch(kind) {
    this.changes += 1;
    this.versions.set(kind, (this.versions.get(kind) ?? 0) + 1);
  }

  /** @template {keyof Kinds} K @param {K} kind @returns {Kinds[K][]} */
  all(kind) {
    return [...(this.documents.get(kind)?.values() ?? [])];
  }

  /** @template {keyof Kinds} K @param {K} kind @param {string} key @returns {Kinds[K] | undefined} */
  get(kind, key) {
    return this.documents.get(kind)?.get(key);
  }

  /**
   * Return a value that is computed again only if documents of these kinds or the input changed.
   * @template T
   * @param {string} name
   * @param {string[]} kinds
   * @param {string} input
   * @param {() => T} compute
   * @returns {T}
   */
  derive(name, kinds, input, compute) {
    const stamp = `${kinds.map((kind) => this.versions.get(kind) ?? 0).join(",")}|${input}`;
    const kept = this.computed.get(name);
    if (kept && kept.stamp === stamp) return kept.value;
    const value = compute();
    this.computed.set(name, { stamp, value });
    return value;
  }

  /** @returns {ClusterDoc} */
  get cluster() {
    return this.get("cluster", "cluster") ?? {
      kind: "cluster", context: "", scope: "", levels: [], unread: {}, isLoaded: false,
    };
  }

  /** @param {string} namespace @param {string} set @returns {GangDoc[]} */
  gangsOf(namespace, set) {
    const bySet = this.derive("gangs by set", ["gang"], "", () => {
      /** @type {Map<string, GangDoc[]>} */
      const found = new Map();
      for (const gang of this.all("gang")) {
        const key = `${gang.namespace}/${gang.set}`;
        const of = found.get(key);
        if (of) of.push(gang);
        else found.set(key, [gang]);
      }
      for (const gangs of found.values()) gangs.sort(byUrgency);
      return found;
    });
    return bySet.get(`${namespace}/${set}`) ?? [];
  }

  /** @returns {GangDoc[]} */
  get waitingGangs() {
    return this.derive("waiting gangs", ["gang"], "", () =>
      this.all("gang").filter((gang) => gang.verdict > 0).sort(byUrgency));
  }
}

/** @type {Map<string, string>} */
const padded = new Map();

/** A name with its numbers padded; a comparison by locale would be fifty times slower. @param {string} name */
function sortable(name) {
  let found = padded.get(name);
  if (found === undefined) {
    if (padded.size > 50_000) padded.clear();
    found = name.replaceAll(/\d+/g, (digits) => digits.padStart(10, "0"));
    padded.set(name, found);
  }
  return found;
}

/** Compare names so that node-9 comes before node-10. @param {string} a @param {string} b */
export function naturally(a, b) {
  return compare(sortable(a), sortable(b));
}

/** @param {GangDoc} a @param {GangDoc} b */
function byUrgency(a, b) {
  return b.verdict - a.verdict || compare(a.waitingSince, b.waitingSince) || naturally(a.name, b.name);
}

/** @param {string} a @param {string} b */
export function compare(a, b) {
  return a < b ? -1 : a > b ? 1 : 0;
}
