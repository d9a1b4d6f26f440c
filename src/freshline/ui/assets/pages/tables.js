// Every table in a line: is anything late, and why?
import { html, useEffect, useMemo, useState } from "/assets/ui.js";
import { brief, count, percent, plural } from "/assets/format.js";
import { setQuery, useSeconds, useStore, useView, useWindow, windowQuery, state as store } from "/assets/store.js";
import { Dots, Empty, Link, Meter, Shown, SparkLine, State, WindowBar, TableLink, Words, tableHref } from "/assets/parts.js";

const FILTERS = [
  ["wrong", "≠ wrong"], ["late", "▲ late"], ["failing", "✕ failing"], ["paused", "❚❚ paused"], ["running", "▶ running"],
  ["waiting", "◔ waiting"], ["fresh", "● fresh"], ["new", "○ no data yet"],
];

// Where nothing is wrong: how many tables that is true of.
function allGood({ counts, own, targets }) {
  if (own && counts.new === own) return "No data yet";
  if (counts.new) return `No table is late, ${counts.new} without data yet`;
  return own && targets === own ? `All ${plural(own, "table")} within target` : "No table is late";
}

function Headline({ data }) {
  const { wrong, late, failing } = data.counts;
  const silent = data.silent.length;
  const worst = data.tables.find((each) => each.state === "wrong" || each.late || each.error);
  const bad = wrong + late + failing + silent > 0;
  return html`<section class=${`headline ${bad ? "bad" : "good"}`} aria-label="Summary">
    <h1>${bad
      ? [wrong && `${plural(wrong, "table")} wrong`, late && `${late} of ${plural(data.own, "table")} late`, failing && `${failing} failing`, silent && `${plural(silent, "feed")} silent`].filter(Boolean).join(", ")
      : allGood(data)}</h1>
    ${worst ? html`<p><${Link} href=${tableHref(worst.name)}><b>${worst.name}</b></${Link}>: ${(worst.state === "wrong" && worst.wrong) || worst.error || worst.reason || worst.next}</p>` : null}
    ${silent && !(worst && worst.reason && data.silent.every((each) => worst.reason.includes(`feed ${each} `))) ? html`<p>Nothing arrives from ${data.silent.slice(0, 5).join(", ")}${silent > 5 ? ` and ${silent - 5} more` : ""}: <${Link} href="/feeds">feeds</${Link}>.</p>` : null}
    ${data.note ? html`<p class="muted">${data.note}</p>` : null}
  </section>`;
}

function Row({ item, at, strategies, total }) {
  const staleness = item.fresh_to_s === null ? null : Math.max(0, at - item.fresh_to_s);
  const late = staleness !== null && item.target_lag_s ? staleness > item.target_lag_s : item.late;
  // What does not change from second to second is made once an answer.
  const still = useMemo(() => html`
    <td class="c-spark"><${SparkLine} line=${item.line} target=${item.target_lag_s}
      label=${`Staleness of ${item.name} over time, largest ${brief(Math.max(0, ...item.line.filter((each) => each !== null)))}, target ${item.target_lag_s ? brief(item.target_lag_s) : "none"}`} /></td>
    <td class="c-kept num">${percent(item.kept)}</td>
    <td class="c-exec num">${item.executor_s ? html`${percent(item.executor_s / total)} <small class="muted">${brief(item.executor_s)}</small>` : "–"}</td>
    <td class="c-pending num">${item.pending ? (item.kind === "base" ? plural(item.pending, "file") : brief(item.pending)) : "–"}</td>
    <td class="c-last"><${Dots} last=${item.last} strategies=${strategies} /></td>`, [item, total]);
  return html`<tr class=${late ? "late" : ""} data-table=${item.name} data-state=${item.state} data-late=${String(late)}
      data-staleness-s=${staleness === null ? "" : staleness.toFixed(1)} data-target-s=${item.target_lag_s ?? ""}>
    <td class="c-name"><${TableLink} name=${item.name} dropped=${item.state === "dropped"} />
      <small class="muted">${item.kind === "base" ? "from a feed" : "view"}</small></td>
    <td class="c-state"><${State} state=${item.state} late=${late} failures=${item.failures} /></td>
    <td class="c-stale"><${Meter} staleness=${staleness} target=${item.target_lag_s} late=${late} /></td>
    ${still}
    <td class="c-next">${item.state === "wrong" ? html`<span class="bad-text">${item.wrong}</span>` : item.error ? html`<span class="bad-text">${item.error}</span>` : item.reason ? html`<b><${Words} text=${item.reason} /></b>` : html`<${Words} text=${item.next} />`}</td>
  </tr>`;
}

const FIRST = 40;
const MORE = 120;

// The rows that are in view are painted first, the others follow a piece at a time.
function Rows({ tables, at, strategies, total }) {
  const [most, set] = useState(FIRST);
  useEffect(() => {
    if (most >= tables.length) return undefined;
    const timer = setTimeout(() => set(most + MORE));
    return () => clearTimeout(timer);
  }, [most, tables.length]);
  return html`<tbody>${tables.slice(0, most).map((item) => html`<${Row} key=${item.name} item=${item} at=${at} strategies=${strategies} total=${total} />`)}</tbody>`;
}

export function Tables() {
  const { query } = useStore();
  const frame = useWindow();
  const filter = query.get("state");
  const text = query.get("q") || "";
  // Where all tables are there the page looks through them; else the server does.
  const [paged, turn] = useState(false);
  const got = useView(`/v1/ui/tables?${windowQuery(frame)}${filter ? `&state=${encodeURIComponent(filter)}` : ""}${paged && text ? `&q=${encodeURIComponent(text)}` : ""}${query.get("after") ? `&after=${encodeURIComponent(query.get("after"))}` : ""}`, { every: 10 });
  useEffect(() => {
    if (got.data && (got.data.next || query.get("after"))) turn(true);
  }, [got.data]);
  const at = useSeconds();
  const shown = got.data ? got : got.before ? { data: got.before, error: got.error } : got;
  return html`<${Shown} got=${shown}>${(data) => {
    const needle = text.toLowerCase();
    const tables = data.tables.filter((each) => each.name.toLowerCase().includes(needle));
    return html`
      <${Headline} data=${data} />
      <div class="toolbar">
        <div class="filters" role="group" aria-label="Filter">
          <button type="button" class="chip" aria-pressed=${!filter} onClick=${() => setQuery({ state: null, after: null })}>all <b>${data.total}</b></button>
          ${FILTERS.filter(([each]) => data.counts[each] || each === filter).map(
            ([each, title]) => html`<button type="button" class=${`chip ${each}`} data-filter=${each} aria-pressed=${filter === each}
              onClick=${() => setQuery({ state: filter === each ? null : each, after: null })}>${title} <b>${data.counts[each]}</b></button>`,
          )}
        </div>
        <input type="search" placeholder="Search  /" aria-label="Search tables" value=${text} onInput=${(event) => setQuery({ q: event.target.value, after: null })} />
        <${WindowBar} />
      </div>
      ${tables.length
        ? html`<div class="scroller"><table class="tables">
            <thead><tr><th>table</th><th>state</th><th>staleness</th><th>over time</th><th class="num" title="Share of the time within the target">kept</th>
              <th class="num" title="Share of all tables' executor time, and that time">executor</th><th class="num">pending</th><th>updates</th><th>next, or why late</th></tr></thead>
            <${Rows} tables=${tables} strategies=${data.strategies} total=${data.executor_s} at=${store.session && store.session.run !== null ? data.at_s : at} />
          </table></div>`
        : html`<${Empty}>${data.next ? "None of these tables matches." : "No table matches."} <button type="button" class="chip" onClick=${() => setQuery({ state: null, q: null, after: null })}>Show all</button></${Empty}>`}
      ${data.next ? html`<p class="more"><button type="button" class="chip" onClick=${() => setQuery({ after: new URL(data.next, location.origin).searchParams.get("after") }, {})}>More tables</button></p>` : null}`;
  }}</${Shown}>`;
}
