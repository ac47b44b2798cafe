// Turns descriptions of elements into elements, and changes only what differs.
//
// It owns all writes to the document. Text becomes text nodes and attributes, never markup, so
// nothing that stands in an object of the cluster can become an element or a script.

/**
 * @typedef {string | number | boolean | null | undefined | ((event: any) => void) |
 *   Record<string, string>} Value
 * @typedef {{ tag: string, key: string, props: Record<string, Value>, children: Child[],
 *   node: Node | null }} Element_
 * @typedef {Element_ | string} Child
 * @typedef {Element_ | string | number | false | null | undefined} Loose
 */

const SVG = "http://www.w3.org/2000/svg";
const LIVE = new Set(["value", "checked", "selected"]);

/**
 * Describe an element. `key` among the properties identifies it among its siblings.
 * @param {string} tag
 * @param {Record<string, Value> | null} props
 * @param {...(Loose | Loose[])} children
 * @returns {Element_}
 */
export function h(tag, props, ...children) {
  const { key = "", ...others } = props ?? {};
  return { tag, key: String(key), props: others, children: flat(children), node: null };
}

/** @param {(Loose | Loose[])[]} children @returns {Child[]} */
function flat(children) {
  /** @type {Child[]} */
  const found = [];
  for (const child of children.flat()) {
    if (child === null || child === undefined || child === false || child === "") continue;
    found.push(typeof child === "number" ? String(child) : child);
  }
  return found;
}

/** @type {Map<string, { inputs: unknown[], made: Element_ }>} */
const made = new Map();

/**
 * Describe an element only if one of its inputs changed; an equal description costs no comparison.
 * @param {string} name Identifies the element in the whole page.
 * @param {unknown[]} inputs
 * @param {() => Element_} make
 */
export function memo(name, inputs, make) {
  const kept = made.get(name);
  if (kept && kept.inputs.length === inputs.length && kept.inputs.every((one, at) => one === inputs[at])) {
    return kept.made;
  }
  const fresh = make();
  made.set(name, { inputs, made: fresh });
  return fresh;
}

/** @type {WeakMap<Node, Child[]>} */
const shown = new WeakMap();

/**
 * Show children in an element; whatever it showed before is changed into them.
 * @param {Element} root
 * @param {Child[]} children
 */
export function render(root, children) {
  if (!shown.has(root)) root.replaceChildren();
  const focused = document.activeElement;
  update(root, shown.get(root) ?? [], children, false);
  shown.set(root, children);
  // An element that had to move has lost the focus.
  if (focused instanceof HTMLElement && focused !== document.activeElement && focused.isConnected) {
    focused.focus({ preventScroll: true });
  }
}

/** @param {Child} child @param {number} index */
function identity(child, index) {
  if (typeof child === "string") return `#${index}`;
  return child.key ? `${child.tag}:${child.key}` : `${child.tag}#${index}`;
}

/**
 * @param {Node} parent
 * @param {Child[]} before
 * @param {Child[]} after
 * @param {boolean} isSvg
 */
function update(parent, before, after, isSvg) {
  /** @type {Map<string, { child: Child, node: Node }>} */
  const old = new Map();
  const present = [...parent.childNodes];
  before.forEach((child, index) => {
    const node = present[index];
    if (node) old.set(identity(child, index), { child, node });
  });
  const names = after.map(identity);
  // Before anything is inserted: an element that need not move keeps the focus.
  const kept = new Set(names);
  for (const [name, { node }] of old) if (!kept.has(name)) parent.removeChild(node);
  /** @type {Node | null} */
  let place = parent.firstChild;
  after.forEach((child, index) => {
    const found = old.get(names[index] ?? "");
    const node = found ? changed(found.node, found.child, child, isSvg) : created(child, isSvg);
    if (node === place) place = place.nextSibling;
    else parent.insertBefore(node, place);
  });
}

/** @param {Child} child @param {boolean} isSvg @returns {Node} */
function created(child, isSvg) {
  if (typeof child === "string") return document.createTextNode(child);
  const inSvg = isSvg || child.tag === "svg";
  const node = inSvg ? document.createElementNS(SVG, child.tag) : document.createElement(child.tag);
  update(node, [], child.children, inSvg);
  // After the children: a select takes a value only if it has the option.
  for (const [name, value] of Object.entries(child.props)) assign(node, name, undefined, value);
  child.node = node;
  return node;
}

/** @param {Node} node @param {Child} before @param {Child} after @param {boolean} isSvg */
function changed(node, before, after, isSvg) {
  if (typeof after === "string") {
    if (before !== after) node.nodeValue = after;
    return node;
  }
  if (typeof before === "string" || before === after) return node;
  const element = /** @type {Element} */ (node);
  const inSvg = isSvg || after.tag === "svg";
  update(element, before.children, after.children, inSvg);
  for (const name of Object.keys(before.props)) {
    if (!(name in after.props)) assign(element, name, before.props[name], undefined);
  }
  for (const [name, value] of Object.entries(after.props)) {
    assign(element, name, before.props[name], value);
  }
  after.node = node;
  return node;
}

/** @param {Element} node @param {string} name @param {Value} before @param {Value} value */
function assign(node, name, before, value) {
  if (LIVE.has(name)) {
    const live = /** @type {any} */ (node);
    if (live[name] !== value) live[name] = value ?? "";
    return;
  }
  if (before === value) return;
  if (name.startsWith("on")) {
    /** @type {any} */ (node)[name] = value ?? null;
  } else if (name === "style") {
    restyle(/** @type {HTMLElement} */ (node), value);
  } else if (value === undefined || value === null || value === false) {
    node.removeAttribute(name);
  } else {
    node.setAttribute(name, value === true ? "" : String(value));
  }
}

/** @param {HTMLElement} node @param {Value} value */
function restyle(node, value) {
  // The content policy forbids style attributes, and permits single properties.
  if (value === null || typeof value !== "object") return;
  for (const [name, text] of Object.entries(value)) {
    if (node.style.getPropertyValue(name) !== text) node.style.setProperty(name, text);
  }
}
