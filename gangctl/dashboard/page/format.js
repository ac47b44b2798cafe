// Writes times and amounts as kubectl does.

/** The difference between the clock of the server and that of the browser, in milliseconds. */
export const clock = { offset: 0 };

/** @returns {number} */
export function now() {
  return Date.now() + clock.offset;
}

/** Seconds since a timestamp; 0 if there is none. @param {string} since */
export function secondsSince(since) {
  return since ? Math.max(0, Math.floor((now() - Date.parse(since)) / 1000)) : 0;
}

/** @param {number} seconds */
export function span(seconds) {
  const minutes = Math.floor(seconds / 60);
  const hours = Math.floor(seconds / 3600);
  if (minutes < 2) return `${seconds}s`;
  if (minutes < 10) return seconds % 60 ? `${minutes}m${seconds % 60}s` : `${minutes}m`;
  if (hours < 3) return `${minutes}m`;
  if (hours < 8) return minutes % 60 ? `${hours}h${minutes % 60}m` : `${hours}h`;
  return hours < 48 ? `${hours}h` : `${Math.floor(seconds / 86400)}d`;
}

/** @param {string} since */
export function age(since) {
  return since ? span(secondsSince(since)) : "";
}

/** The seconds between two timestamps as text, with a sign. @param {string} from @param {string} to */
export function delta(from, to) {
  const seconds = Math.round((Date.parse(to) - Date.parse(from)) / 1000);
  return seconds >= 0 ? `+${span(seconds)}` : "";
}

const TIME = new Intl.DateTimeFormat(undefined, {
  hour: "2-digit", minute: "2-digit", second: "2-digit", hour12: false,
});
const MOMENT = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" });

/** @param {string} at */
export function time(at) {
  return at ? TIME.format(new Date(at)) : "";
}

/** @param {string} at */
export function moment(at) {
  return at ? MOMENT.format(new Date(at)) : "";
}

/**
 * The two parts of a message: what is wrong and why, and what to do. The last sentence is the remedy; it may be
 * missing.
 * @param {string} message
 */
export function parted(message) {
  const found = /^(.*)\. ([A-Z][^]*)$/s.exec(message);
  return { what: found?.[1] ?? message, remedy: found?.[2] ?? "" };
}

const GIBI = 1024 ** 3;

/** @param {string} resource @param {number} amount */
export function amount(resource, amount) {
  if (resource === "memory") {
    const gibi = amount / GIBI;
    return gibi >= 1024 ? `${round(gibi / 1024)} Ti` : `${round(gibi)} Gi`;
  }
  return round(amount);
}

/** @param {number} value */
function round(value) {
  return value >= 100 ? String(Math.round(value)) : String(Math.round(value * 10) / 10);
}

/** @param {string} resource */
export function unit(resource) {
  return resource === "gpu" ? "GPUs" : resource === "cpu" ? "CPUs" : resource;
}

/** @param {number} count @param {string} one @param {string} [many] */
export function plural(count, one, many) {
  return `${count.toLocaleString("en")} ${count === 1 ? one : (many ?? `${one}s`)}`;
}
