// What each table is made of, from left to right; what is late, and the slowest path to it.
import { html, useEffect, useRef } from "/assets/ui.js";
import { brief, plural } from "/assets/format.js";
import { setQuery, useSeconds, useStore, useView } from "/assets/store.js";
import { Empty, Link, Shown, Typed, tableHref } from "/assets/parts.js";

const WIDE = 172;
const HIGH = 46;
const COLUMN = 232;
const ROW = 60;

const SIGN = { fresh: "●", waiting: "◔", running: "▶", retrying: "✕", paused: "❚❚", new: "○", wrong: "≠ wrong" };

// As much of a name as its box has room for. The boxes are drawn every second: each name is measured
// once.
const pen = document.createElement("canvas").getContext("2d");
const fitted = new Map();
function fitting(name) {
  if (!fitted.has(name)) {
    pen.font = `600 13px ${getComputedStyle(document.body).fontFamily}`;
    const fits = (text) => pen.measureText(text).width <= WIDE - 24;
    let most = Math.min(name.length, 60);
    while (most > 1 && !fits(`${name.slice(0, most)}…`)) most -= 1;
    fitted.set(name, fits(name) ? name : `${name.slice(0, most)}…`);
  }
  return fitted.get(name);
}

// A table that failed shows it also while its next update runs.
function signs(each, late) {
  const own = late && each.state !== "wrong" ? "▲ late" : SIGN[each.state] || "";
  return each.failures && own !== SIGN.retrying ? `${SIGN.retrying} ${own}` : own;
}

function Drawn({ data, at, around }) {
  const slowest = new Set(data.slowest);
  const onPath = new Set(data.slowest.slice(1).map((name, index) => `${data.slowest[index]}\n${name}`));
  const lowest = Math.min(...data.nodes.map((each) => each.place));
  const places = new Map(
    data.nodes.map((each) => [each.name, [12 + each.layer * COLUMN, 12 + (each.place - lowest) * ROW]]),
  );
  const width = 24 + WIDE + COLUMN * Math.max(...data.nodes.map((each) => each.layer));
  const height = 24 + HIGH + ROW * (Math.max(...data.nodes.map((each) => each.place)) - lowest);
  const box = useRef(null);
  useEffect(() => {
    const middle = around && places.get(around);
    if (middle && box.current) box.current.scrollTo(middle[0] - 200, middle[1] - 150);
  }, [around]);
  return html`<div class="graphbox" ref=${box}><svg width=${width} height=${height} viewBox=${`0 0 ${width} ${height}`} role="img"
      aria-label=${`${plural(data.nodes.length, "table")} and ${plural(data.edges.length, "edge")}${data.slowest.length ? `; slowest path ${data.slowest.join(", ")}` : ""}`}>
    <g class="edges">${data.edges.map(([from, to]) => {
      const [fx, fy] = places.get(from);
      const [tx, ty] = places.get(to);
      const [x1, y1, x2, y2] = [fx + WIDE, fy + HIGH / 2, tx, ty + HIGH / 2];
      const bend = Math.max(24, (x2 - x1) / 2);
      return html`<path class=${onPath.has(`${from}\n${to}`) ? "slowest" : ""} d=${`M${x1} ${y1}C${x1 + bend} ${y1} ${x2 - bend} ${y2} ${x2} ${y2}`} />`;
    })}</g>
    ${data.nodes.map((each) => {
      const [x, y] = places.get(each.name);
      const stale = each.fresh_to_s === null ? null : Math.max(0, at - each.fresh_to_s);
      const late = stale !== null && each.target_lag_s ? stale > each.target_lag_s : false;
      const kind = each.state === "wrong" ? "wrong" : each.failures ? "failing" : late ? "late" : each.state;
      return html`<${Link} href=${tableHref(each.name)} class=${`node ${kind} ${slowest.has(each.name) ? "onpath" : ""}`} data-table=${each.name} data-state=${each.state}
          data-late=${String(late)} data-staleness-s=${stale === null ? "" : stale.toFixed(1)} data-target-s=${each.target_lag_s ?? ""}>
        <title>${each.name}</title>
        <rect x=${x} y=${y} width=${WIDE} height=${HIGH} rx="8" />
        <rect class="edge" x=${x} y=${y} width="5" height=${HIGH} rx="2.5" />
        <text x=${x + 14} y=${y + 19} class="title">${fitting(each.name)}</text>
        <text x=${x + 14} y=${y + 36} class="sub">${signs(each, late)} ${stale === null ? "no data" : brief(stale)}${each.target_lag_s ? ` of ${brief(each.target_lag_s)}` : ""}</text>
        ${each.hidden_parents ? html`<text x=${x + WIDE - 10} y=${y + 36} class="sub end">+${each.hidden_parents}</text>` : null}
      </${Link}>`;
    })}
  </svg></div>`;
}

export function Graph() {
  const { query, session } = useStore();
  const around = query.get("around");
  const depth = query.get("depth") || "3";
  const got = useView(`/v1/graph?depth=${encodeURIComponent(depth)}${around ? `&around=${encodeURIComponent(around)}` : ""}`, { every: 10 });
  const seconds = useSeconds();
  return html`<h1>Graph</h1>
    <form class="toolbar" onSubmit=${(event) => event.preventDefault()}>
      <label>around <${Typed} type="search" name="around" placeholder="a table" value=${around || ""} onDone=${(name) => setQuery({ around: name })} /></label>
      <label>steps <select name="depth" value=${depth} onChange=${(event) => setQuery({ depth: event.target.value })}>${[1, 2, 3, 5, 8, 50].map((each) => html`<option value=${each} selected=${String(each) === depth}>${each === 50 ? "all" : each}</option>`)}</select></label>
      <button type="submit" class="chip">Show</button>
    </form>
    <${Shown} got=${got.data ? got : got.before && !got.error ? { data: got.before } : got}>${(data) => html`
      <p class="lead">${data.nodes.length < data.total ? `${data.nodes.length} of ${plural(data.total, "table")}${data.around ? ` around ${data.around}` : ", around the latest one"}. ` : ""}
        ${data.slowest.length ? html`Slowest path: ${data.slowest.map((each, index) => html`${index ? " → " : ""}<b>${each}</b>`)}.` : "No table is late."}</p>
      ${data.nodes.length ? html`<${Drawn} data=${data} around=${data.around} at=${session && session.run !== null ? data.at_s : seconds} />` : html`<${Empty}>The project has no tables.</${Empty}>`}`}</${Shown}>`;
}
