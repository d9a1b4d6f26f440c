// Numbers and times for people; times are UTC, as in the command line.

export function brief(seconds) {
  if (seconds === null || seconds === undefined || !isFinite(seconds)) return "–";
  const sign = seconds < 0 ? "-" : "";
  const s = Math.abs(seconds);
  if (s < 9.95) return `${sign}${s.toFixed(1)} s`;
  if (s < 120) return `${sign}${Math.round(s)} s`;
  const minutes = Math.round(s / 60);
  if (minutes < 60) return `${sign}${minutes} min`;
  const hours = Math.floor(minutes / 60);
  const rest = minutes % 60;
  if (hours < 48) return `${sign}${hours} h${rest ? ` ${rest} min` : ""}`;
  return `${sign}${Math.round(hours / 24)} d`;
}

const UNITS = [[86400, "d"], [3600, "h"], [60, "min"], [1, "s"]];

// The unit of an axis that goes up to so many seconds: all of its marks are written in it.
export const unitOf = (most) => UNITS.find(([size]) => most >= 2 * size) || UNITS.at(-1);

// Seconds in that unit, with as many digits as they have.
export const inUnit = (seconds, [size, name]) => `${Number((seconds / size).toPrecision(3))} ${name}`;

const pad = (number) => String(number).padStart(2, "0");

export function clock(seconds, now = null) {
  if (seconds === null || seconds === undefined) return "–";
  const then = new Date(seconds * 1000);
  const time = `${pad(then.getUTCHours())}:${pad(then.getUTCMinutes())}:${pad(then.getUTCSeconds())}`;
  const day = `${then.getUTCFullYear()}-${pad(then.getUTCMonth() + 1)}-${pad(then.getUTCDate())}`;
  if (now !== null && new Date(now * 1000).toISOString().slice(0, 10) === day) return time;
  return `${day} ${time}`;
}

export const iso = (seconds) => new Date(Math.round(seconds * 1000)).toISOString();

// A moment as the server reads it: without a zone it is UTC, a plus sign may have become a space,
// and a number is seconds since the epoch.
export function epoch(text) {
  if (!text) return null;
  if (/^\d{9,12}(\.\d*)?$/.test(text)) return Number(text);
  const told = text.replace(/(T.*) (\d\d:?\d\d)$/, "$1+$2");
  return Date.parse(/[T ]\d\d:\d\d(:\d\d(\.\d+)?)?$/.test(told) ? `${told}Z` : told) / 1000;
}

export const count = (number) => (number === null || number === undefined ? "–" : number.toLocaleString("en"));
export const plural = (number, one, many = `${one}s`) => `${count(number)} ${number === 1 ? one : many}`;

export function percent(share) {
  if (share === null || share === undefined) return "–";
  const shown = (100 * share).toFixed(1);
  return shown === "100.0" && share < 1 ? "99.9 %" : `${shown.replace(".0", "")} %`;
}

// A colour of its own for each table, the same on every page: hue only, lightness is the theme's.
export function hue(name) {
  let hash = 2166136261;
  for (const letter of name) hash = Math.imul(hash ^ letter.codePointAt(0), 16777619);
  return (hash >>> 0) % 360;
}
