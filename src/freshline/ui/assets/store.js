// What all pages share: the address, the connection, and the beat that makes them look again.
import { useEffect, useRef, useState } from "/assets/ui.js";
import { viewed } from "/assets/api.js";
import { epoch, iso } from "/assets/format.js";

const listeners = new Set();
export const state = {
  session: null,
  connected: null,
  lostAt: null, // by our clock, when the server said something last; null: it still does
  version: 0,
  offset: 0, // the server's clock less ours, in seconds
  path: location.pathname,
  query: new URLSearchParams(location.search),
};

export function change(values) {
  Object.assign(state, values);
  for (const each of [...listeners]) each();
}

export function useStore() {
  const [, again] = useState(0);
  useEffect(() => {
    const each = () => again((n) => n + 1);
    listeners.add(each);
    return () => listeners.delete(each);
  }, []);
  return state;
}

export function go(href, { replace = false } = {}) {
  const url = new URL(href, location.origin);
  if (url.origin !== location.origin) return;
  history[replace ? "replaceState" : "pushState"](null, "", url);
  change({ path: url.pathname, query: url.searchParams });
}

addEventListener("popstate", () =>
  change({ path: location.pathname, query: new URLSearchParams(location.search) }),
);

export function setQuery(values, options = { replace: true }) {
  const query = new URLSearchParams(state.query);
  for (const [key, value] of Object.entries(values)) {
    if (value === null || value === "" || value === undefined) query.delete(key);
    else query.set(key, value);
  }
  const text = query.toString();
  go(state.path + (text ? `?${text}` : ""), options);
}

// The server's time now; a recorded run stands still. So does the page while no answer comes: what
// it shows is as old as the last one, and nothing on it grows late by guessing.
export function now() {
  if (state.session && state.session.run !== null) return state.session.at_s;
  return (state.lostAt ?? Date.now() / 1000) + state.offset;
}

const SPANS = { "15m": 900, "1h": 3600, "6h": 21600, "1d": 86400, "7d": 604800 };
export const spans = SPANS;

// The window that the address says: from and to, or the latest `range`.
export function useWindow(fallback = "1h") {
  const { query } = useStore();
  const from = epoch(query.get("from"));
  const to = epoch(query.get("to"));
  const range = query.get("range") || fallback;
  const span = SPANS[range] || SPANS[fallback];
  if (from && to) return { from, to, live: false, range: null, span: to - from, text: `from=${from}&to=${to}` };
  if (from) return { from, to: null, live: true, range: null, span: now() - from, text: `from=${from}` };
  return { from: null, to: null, live: true, range: SPANS[range] ? range : fallback, span, text: null };
}

// The window for the server: the same text for as long as it is the same question.
export const windowQuery = (frame) => frame.text || `last=${frame.span}`;

// What the server takes for a window: between a second and 31 days.
const [SHORTEST, LONGEST] = [1, 31 * 86400 - 1];

export function moveWindow(frame, { shift = 0, zoom = 1 }) {
  const to = frame.to || now();
  const from = frame.from || to - frame.span;
  const width = Math.min(LONGEST, Math.max(SHORTEST, (to - from) * zoom));
  const middle = (from + to) / 2 + (to - from) * shift;
  setQuery({ from: iso(middle - width / 2), to: iso(Math.min(middle + width / 2, now())), range: null });
}

const SOONEST = 1000;

// A view's answer, asked again when something happened; the last one stays while the next comes.
// The server says for how long it will have no newer one: it is not asked before, and a page that
// nobody sees does not ask at all.
export function useView(path, { every = 20 } = {}) {
  const { version, connected } = useStore();
  const [got, set] = useState({ path: null, data: null, error: null });
  const [tick, setTick] = useState(0);
  const asking = useRef({ path: null, answered: null, again: false, newAt: 0, timer: null });
  useEffect(() => {
    const timer = setInterval(() => setTick((n) => n + 1), every * 1000);
    return () => clearInterval(timer);
  }, [every]);
  useEffect(() => () => {
    clearTimeout(asking.current.timer);
    asking.current.path = null; // nobody waits for an answer that is on its way
  }, [path]);
  useEffect(() => {
    const mine = asking.current;
    if (!path || (document.hidden && mine.answered === path)) return;
    if (mine.path === path) {
      mine.again = true; // an answer is on its way; one more is asked for behind it
      return;
    }
    const ask = async () => {
      clearTimeout(mine.timer);
      const early = mine.answered === path ? mine.newAt - performance.now() : 0;
      if (early > 0) {
        mine.timer = setTimeout(ask, early);
        return;
      }
      mine.path = path;
      mine.again = false;
      let next;
      try {
        const { data, kept, outdated } = await viewed(path);
        next = { path, data, error: null };
        // What is older than the last event is asked for again: no event will come that says so.
        mine.again ||= outdated;
        mine.newAt = performance.now() + (outdated ? Math.max(kept, SOONEST) : kept);
      } catch (error) {
        next = { path, error };
        mine.newAt = 0;
      }
      if (mine.path !== path) return; // somebody looks at something else by now
      mine.path = null;
      mine.answered = path;
      set((old) => ({ data: old.path === path ? old.data : null, ...next }));
      if (mine.again && !document.hidden) ask();
    };
    ask();
  }, [path, version, tick, connected]);
  return got.path === path ? got : { path, data: null, error: null, before: got.data };
}

// Counts seconds, for ages that grow while one looks.
export function useSeconds() {
  const [, set] = useState(0);
  useEffect(() => {
    const timer = setInterval(() => set((n) => n + 1), 1000);
    return () => clearInterval(timer);
  }, []);
  return now();
}
