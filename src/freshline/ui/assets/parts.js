// Small parts that several pages are made of.
import { html, useEffect, useRef, useState } from "/assets/ui.js";
import { brief, clock, iso, percent } from "/assets/format.js";
import { go, moveWindow, now, setQuery, spans, useWindow } from "/assets/store.js";

// Every state has a sign of its own: colour is never the only one.
const SIGNS = {
  fresh: ["●", "fresh"], waiting: ["◔", "waiting"], running: ["▶", "running"],
  retrying: ["✕", "failing"], failing: ["✕", "failing"], paused: ["❚❚", "paused"],
  new: ["○", "no data yet"], wrong: ["≠", "wrong"], dropped: ["–", "dropped"], late: ["▲", "late"],
  idle: ["–", "idle"], unknown: ["?", "not known"],
};

// A table that failed is failing until an update of it succeeds, also while the next one runs.
export function State({ state, late, failures = 0 }) {
  const [sign, text] = SIGNS[state] || ["?", state];
  const kind = state === "retrying" ? "failing" : state;
  return html`<span class="states">
    ${late ? html`<span class="state late"><i aria-hidden="true">▲</i> late</span>` : null}
    ${failures && kind !== "failing" ? html`<span class="state failing"><i aria-hidden="true">✕</i> failing</span>` : null}
    ${late && (state === "fresh" || state === "waiting")
      ? null
      : html`<span class=${`state ${kind}`}><i aria-hidden="true">${sign}</i> ${text}</span>`}
  </span>`;
}

export function Link({ href, children, ...rest }) {
  const click = (event) => {
    if (event.metaKey || event.ctrlKey || event.shiftKey || event.button) return;
    event.preventDefault();
    go(href);
    scrollTo(0, 0);
  };
  return html`<a href=${href} onClick=${click} ...${rest}>${children}</a>`;
}

export const tableHref = (name, extra = "") => `/tables/${encodeURIComponent(name)}${extra}`;
// A table that the project no longer has, has no page.
export const TableLink = ({ name, dropped = false }) =>
  dropped ? html`<span class="name" title="no longer in the project">${name}</span>` : html`<${Link} href=${tableHref(name)} class="name">${name}</${Link}>`;

// How stale, against the target: the bar is full at twice the target, the tick is the target.
export function Meter({ staleness, target, late }) {
  if (staleness === null || staleness === undefined) return html`<span class="muted">no data</span>`;
  const share = target ? Math.min(1, staleness / (2 * target)) : 0;
  return html`<span class=${`meter ${late ? "late" : ""}`}>
    <b>${brief(staleness)}</b>${target ? html` <small>of ${brief(target)}</small>` : html` <small>no target</small>`}
    ${target
      ? html`<svg viewBox="0 0 100 6" preserveAspectRatio="none" aria-hidden="true">
          <rect class="track" width="100" height="6" rx="3" />
          <rect class="fill" width=${share * 100} height="6" rx="3" />
          <rect class="tick" x="49.4" width="1.2" height="6" />
        </svg>`
      : null}
  </span>`;
}

// A table's staleness over the window; what is above the target is drawn in another colour. Two
// paths a line, however many parts it has: a page may show five hundred of them.
export function SparkLine({ line, target, label }) {
  const known = line.filter((each) => each !== null);
  if (!known.length) return html`<span class="muted spark">no data</span>`;
  const top = Math.max(...known, target ? target * 1.25 : 0, 1);
  const step = 120 / line.length;
  const y = (value) => 30 - (28 * value) / top;
  const bars = { under: "", over: "" };
  line.forEach((each, at) => {
    if (each === null) return;
    const high = Math.max(0.8, 31 - y(each)).toFixed(1);
    bars[target && each > target ? "over" : "under"] += `M${at * step + 0.5} ${y(each).toFixed(1)}h${step - 1}v${high}h${1 - step}z`;
  });
  return html`<svg class="spark" viewBox="0 0 120 32" role="img" aria-label=${label}>
    ${Object.entries(bars).map(([kind, path]) => (path ? html`<path class=${kind} d=${path} />` : null))}
    ${target ? html`<path class="target" d=${`M0 ${y(target).toFixed(1)}h120`} />` : null}
  </svg>`;
}

export function Dots({ last, strategies }) {
  return html`<span class="dots">${last.map(([number, outcome, strategy]) => html`<i class=${outcome} data-update=${number} data-strategy=${strategies[strategy] || ""}
      title=${`update ${number}: ${outcome}`}>${outcome === "ok" ? "●" : "✕"}<span class="hidden">update ${number} ${outcome}</span></i>`)}</span>`;
}

export function WindowBar({ fallback = "1h" }) {
  const frame = useWindow(fallback);
  return html`<div class="windowbar" role="group" aria-label="Time shown">
    ${Object.keys(spans).map(
      (each) => html`<button type="button" class="chip" aria-pressed=${frame.range === each}
        onClick=${() => setQuery({ range: each === fallback ? null : each, from: null, to: null })}>${each}</button>`,
    )}
    <span class="steps">
      <button type="button" class="chip" aria-label="Earlier" title="Earlier" onClick=${() => moveWindow(frame, { shift: -0.5 })}>‹</button>
      <button type="button" class="chip" aria-label="Later" title="Later" disabled=${frame.live}
        onClick=${() => moveWindow(frame, { shift: 0.5 })}>›</button>
      <button type="button" class="chip" aria-label="Zoom in" title="Zoom in" onClick=${() => moveWindow(frame, { zoom: 0.5 })}>+</button>
      <button type="button" class="chip" aria-label="Zoom out" title="Zoom out" onClick=${() => moveWindow(frame, { zoom: 2 })}>−</button>
    </span>
    ${frame.from
      ? html`<span class="muted when">${clock(frame.from, now())} – ${frame.to ? clock(frame.to, now()) : "now"} UTC</span>`
      : null}
  </div>`;
}

export function Problem({ error }) {
  return html`<div class="note bad" role="alert" data-error=${error.code || "error"}>
    <strong>${error.status === 401 ? "A token is needed" : "This could not be shown"}</strong>
    <p>${error.message}${error.code === "a-report" ? html`: <${Link} href="/reports">reports</${Link}>` : null}</p>
  </div>`;
}

// What is shown while a view's first answer is on its way, or where there is none. That the server
// does not answer is said once, above the page: here it is said only where there is nothing else.
export function Shown({ got, children }) {
  if (got.error && !got.data) return html`<${Problem} error=${got.error} />`;
  if (!got.data) return html`<div class="loading" aria-busy="true">…</div>`;
  return html`${got.error && got.error.status ? html`<${Problem} error=${got.error} />` : null}${children(got.data)}`;
}

// A field in which somebody types: what stands in it stays until they are through, however often
// the page is drawn. `onDone` gets it then; what is not typed in is `value`.
export function Typed({ value, onDone, ...rest }) {
  const [typed, set] = useState(null);
  const done = (event) => {
    set(null);
    onDone(event.target.value.trim());
  };
  return html`<input ...${rest} value=${typed ?? value} onInput=${(event) => set(event.target.value)} onChange=${done} />`;
}

// A sentence in which commands stand between backticks, as the command line writes it.
export const Words = ({ text }) => String(text ?? "").split("`").map((part, index) => (index % 2 ? html`<code>${part}</code>` : part));

export function Empty({ children }) {
  return html`<div class="empty">${children}</div>`;
}

export function useWidth() {
  const box = useRef(null);
  const [width, set] = useState(0);
  useEffect(() => {
    const observer = new ResizeObserver((entries) => set(Math.floor(entries[0].contentRect.width)));
    if (box.current) observer.observe(box.current);
    return () => observer.disconnect();
  }, [box.current === null]);
  return [box, width];
}

export const ink = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

export { brief, clock, iso, percent };
