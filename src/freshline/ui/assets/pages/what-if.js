// The recorded run under other rules, priorities and targets: freshness against cost.
import { html, useState } from "/assets/ui.js";
import { view } from "/assets/api.js";
import { brief, count, inUnit, percent, unitOf } from "/assets/format.js";
import { setQuery, useStore, useView } from "/assets/store.js";
import { Empty, Problem, TableLink, Typed } from "/assets/parts.js";

const title = (each) => `${each.policy}, ${each.tracks} ${each.tracks === 1 ? "track" : "tracks"}${each.objective === "staleness" ? "" : `, ${each.objective}`}`;

// Points by cost and staleness; `basis` is the point that others are compared with, `line` joins them.
// Staleness is in seconds, or as `unit` writes it.
function Plane({ points, unit, line, label }) {
  const [wide, high, left, low, right] = [720, 300, 58, 40, 24];
  const nice = (most) => {
    const rough = most / 4;
    const power = 10 ** Math.floor(Math.log10(rough));
    return power * [1, 2, 5, 10].find((each) => each * power >= rough);
  };
  const [mostX, mostY] = [Math.max(...points.map((each) => each.x), 1), Math.max(...points.map((each) => each.y), 1e-9)];
  // Where an axis shows times its steps are round in the one unit that all of its marks have.
  const [unitX, unitY] = [unitOf(mostX), unit ? [1] : unitOf(mostY)];
  const [stepX, stepY] = [nice(mostX / unitX[0]) * unitX[0], nice(mostY / unitY[0]) * unitY[0]];
  const [maxX, maxY] = [Math.max(mostX, stepX) * 1.12, Math.max(mostY, stepY) * 1.15];
  const x = (value) => left + ((wide - left - right) * value) / maxX;
  const y = (value) => high - low - ((high - low - 12) * value) / maxY;
  const marks = (step, most) => Array.from({ length: Math.floor(most / step) + 1 }, (_, index) => index * step);
  // A name stands where no other does: to the right of its point, and lower where that is taken.
  const taken = [];
  const placed = points.map((each) => {
    const end = x(each.x) > wide * 0.68;
    let at = y(each.y) + 4;
    while (each.name && taken.some(([tx, ty]) => Math.abs(tx - x(each.x)) < 190 && Math.abs(ty - at) < 15)) at += 15;
    if (each.name) taken.push([x(each.x), at]);
    return { ...each, end, at: Math.min(at, high - low - 4) };
  });
  return html`<svg class="scatter" viewBox=${`0 0 ${wide} ${high}`} role="img" aria-label=${label}>
    ${marks(stepY, maxY).map((each) => html`<line x1=${left} x2=${wide - right} y1=${y(each)} y2=${y(each)} /><text x=${left - 8} y=${y(each) + 4} class="end" data-axis="y">${unit ? unit(each) : inUnit(each, unitY)}</text>`)}
    ${marks(stepX, maxX).map((each) => html`<text x=${x(each)} y=${high - low + 18} class="middle" data-axis="x">${inUnit(each, unitX)}</text>`)}
    <text x=${wide - right} y=${high - 4} class="end">executor time →</text><text x=${left + 6} y="14">↑ staleness, weighted by priority</text>
    ${line ? html`<polyline points=${points.filter((each) => !each.basis).map((each) => `${x(each.x)},${y(each.y)}`).join(" ")} />` : null}
    ${placed.map((each) => html`<g class=${each.basis ? "happened" : "played"}><title>${each.told}</title><circle cx=${x(each.x)} cy=${y(each.y)} r=${each.basis ? 8 : line ? 5 : 6} />
      ${each.name ? html`<text x=${x(each.x) + (each.end ? -13 : 13)} y=${each.at} class=${each.end ? "end" : ""}>${each.name}</text>` : null}</g>`)}
  </svg>`;
}

function Compared({ data }) {
  const outcomes = [data.happened, ...data.played];
  const basis = outcomes[0].weighted_staleness;
  const times = (each) => (basis ? each.weighted_staleness / basis : 0);
  const name = (each, at) => (at ? title(each) : "as it was");
  return html`<section class="card" data-played=${data.played.length}>
    <${Plane} points=${outcomes.map((each, at) => ({ x: each.executor_seconds, y: times(each), basis: !at, name: name(each, at), told: `${name(each, at)}: ${brief(each.executor_seconds)}, staleness × ${times(each).toFixed(2)}` }))}
      unit=${(each) => `× ${each.toFixed(each && each < 1 ? 2 : 1)}`} label=${outcomes.map((each, at) => `${name(each, at)}: executor ${brief(each.executor_seconds)}, staleness × ${times(each).toFixed(2)}`).join("; ")} />
    <div class="scroller"><table class="plain"><thead><tr><th></th>${outcomes.map((each, at) => html`<th class="num">${name(each, at)}</th>`)}</tr></thead><tbody>
      <tr><th>weighted staleness</th>${outcomes.map((each) => html`<td class="num">${basis ? `× ${times(each).toFixed(2)}` : "–"}</td>`)}</tr>
      <tr><th>within targets</th>${outcomes.map((each) => html`<td class="num">${each.within === null ? "no target" : percent(each.within)}</td>`)}</tr>
      <tr><th>executor</th>${outcomes.map((each) => html`<td class="num">${brief(each.executor_seconds)}</td>`)}</tr>
      <tr><th>updates</th>${outcomes.map((each) => html`<td class="num">${count(each.updates)}</td>`)}</tr>
      ${Object.keys(outcomes[0].tables).map((table) => html`<tr data-table=${table}><th><${TableLink} name=${table} /> <small class="muted">priority ${data.priorities[table] ?? "–"}${outcomes[0].tables[table].target_lag ? `, target ${brief(outcomes[0].tables[table].target_lag)}` : ""}</small></th>
        ${outcomes.map((each) => html`<td class="num">${each.tables[table].mean === null ? "no data" : `${brief(each.tables[table].mean)}, most ${brief(each.tables[table].max)}`}</td>`)}</tr>`)}
    </tbody></table></div>${data.notes.map((each) => html`<p class="muted">${each}.</p>`)}</section>`;
}

function Swept({ data }) {
  const points = [data.staleness, ...data.cost];
  const name = (each) => (each.factor === null ? "as fresh as can be" : `targets × ${Number(each.factor.toPrecision(3))}`);
  const told = (each) => `${name(each)}: least target ${brief(each.target_lag)}, executor ${brief(each.executor_seconds)}, mean staleness ${brief(each.mean_staleness)}`;
  return html`<section class="card" data-swept=${data.cost.length}>
    <p>Each point is the run with all targets nearer or farther, updated as rarely as the targets allow. Choose the farthest targets that you accept; the left end of the curve is what they cost.</p>
    <${Plane} line points=${points.map((each, at) => ({ x: each.executor_seconds, y: each.mean_staleness, basis: !at, name: !at || each.factor === 1 ? name(each) : at === points.length - 1 ? name(each) : "", told: told(each) }))}
      label=${points.map(told).join("; ")} />
    <div class="scroller"><table class="plain"><thead><tr><th>targets</th><th class="num">least target</th><th class="num">mean staleness</th><th class="num">largest</th><th class="num">within</th><th class="num">executor</th><th class="num">updates</th></tr></thead>
      <tbody>${points.map((each) => html`<tr data-factor=${each.factor ?? ""}><th>${name(each)}</th><td class="num">${brief(each.target_lag)}</td><td class="num">${brief(each.mean_staleness)}</td><td class="num">${brief(each.max_staleness)}</td>
        <td class="num">${each.within === null ? "no target" : percent(each.within)}</td><td class="num">${brief(each.executor_seconds)}</td><td class="num">${count(each.updates)}</td></tr>`)}</tbody></table></div>
    ${data.targets === "invented" ? html`<p class="muted">No table has a target, so the tables that nothing is derived from got the same one.</p>` : null}</section>`;
}

const changed = (text) => Object.fromEntries((text || "").split(",").filter((each) => each.includes("=")).map((each) => [each.slice(0, each.lastIndexOf("=")), each.slice(each.lastIndexOf("=") + 1)]));
const written = (values) => Object.entries(values).map(([name, value]) => `${name}=${value}`).join(",");

// Other priorities and targets, table by table; they stand in the address.
function Changes() {
  const { query } = useStore();
  const got = useView("/v1/ui/tables?last=60", { every: 3600 });
  const [table, choose] = useState("");
  const [added, add] = useState([]);
  const priorities = changed(query.get("priority"));
  const targets = changed(query.get("target"));
  const tables = got.data ? got.data.tables : [];
  const known = Object.fromEntries(tables.map((each) => [each.name, each]));
  const names = [...new Set([...Object.keys(priorities), ...Object.keys(targets), ...added])].sort();
  const set = (name, values, key, value) => {
    const next = { ...values };
    if (value) next[name] = value;
    else delete next[name];
    setQuery({ [key]: written(next) });
  };
  const leave = (name) => {
    const others = (values) => written(Object.fromEntries(Object.entries(values).filter(([each]) => each !== name)));
    add(added.filter((each) => each !== name));
    setQuery({ priority: others(priorities), target: others(targets) });
  };
  return html`<fieldset><legend>Priorities and targets</legend>
    ${names.map((name) => html`<div class="change" key=${name} data-change=${name}><b>${name}</b>
      <label>priority <${Typed} name="priority" inputmode="decimal" value=${priorities[name] || ""} placeholder=${known[name] ? known[name].priority ?? "" : ""} onDone=${(text) => set(name, priorities, "priority", text)} /></label>
      <label>target <${Typed} name="target" value=${targets[name] || ""} placeholder=${known[name] && known[name].target_lag_s ? brief(known[name].target_lag_s) : "none"} onDone=${(text) => set(name, targets, "target", text)} /></label>
      <button type="button" class="chip" aria-label=${`Leave ${name} as it is`} onClick=${() => leave(name)}>✕</button></div>`)}
    <select aria-label="A table to change" value=${table} onChange=${(event) => choose(event.target.value)}><option value="">a table …</option>${tables.filter((each) => !names.includes(each.name)).map((each) => html`<option value=${each.name}>${each.name}</option>`)}</select>
    <button type="button" class="chip" disabled=${!table} onClick=${() => { add([...added, table]); choose(""); }}>Change it</button>
  </fieldset>`;
}

const FIELDS = ["policy", "tracks", "objective", "priority", "target"];

export function WhatIf() {
  const { session, query } = useStore();
  const [got, set] = useState({ data: null, error: null, busy: null });
  const policies = session ? session.policies : [];
  const [picked, pick] = useState(null);
  const chosen = picked ?? (query.get("policy") || `${session ? session.now.policy : ""},edf`).split(",").filter(Boolean);
  const choose = (event) => {
    const { value, checked } = event.target;
    const next = policies.filter((each) => (each === value ? checked : chosen.includes(each)));
    pick(next);
    setQuery({ policy: next.join(",") });
  };
  const play = async (event, sweep) => {
    event.preventDefault();
    setQuery({ policy: chosen.join(",") });
    const now = new URLSearchParams(location.search);
    const asked = { ...Object.fromEntries(FIELDS.map((each) => [each, now.get(each)])), ...(sweep ? { sweep: "target" } : {}) };
    set((old) => ({ ...old, error: null, busy: sweep ? "sweep" : "play" }));
    try {
      set({ data: await view(`/v1/ui/what-if?${new URLSearchParams(Object.entries(asked).filter(([, each]) => each))}`), error: null, busy: null });
    } catch (error) {
      set({ data: null, error, busy: null });
    }
  };
  return html`<h1>What if</h1>
    <p class="lead">The ${session && session.run !== null ? `run ${session.run}` : "last run"} is played again, with what its updates took, under other rules.</p>
    <form class="card whatif" onSubmit=${(event) => play(event, false)}>
      <fieldset><legend>Policies</legend>${policies.map((each) => html`<label class="pick"><input type="checkbox" name="policy" value=${each} checked=${chosen.includes(each)} onChange=${choose} /> ${each}</label>`)}</fieldset>
      <label>Tracks <${Typed} name="tracks" placeholder="as it was; or 1,2,4" value=${query.get("tracks") || ""} pattern="[0-9, ]*" onDone=${(text) => setQuery({ tracks: text.replace(/\s/g, "") })} /></label>
      <label>Objective <select name="objective" value=${query.get("objective") || ""} onChange=${(event) => setQuery({ objective: event.target.value })}>${["", "staleness", "cost", "staleness,cost"].map((each) => html`<option value=${each}>${each || "as it was"}</option>`)}</select></label>
      <${Changes} />
      <button type="submit" class="button primary" data-play disabled=${got.busy}>${got.busy === "play" ? "Playing …" : "Play"}</button>
      <button type="button" class="button" data-sweep disabled=${got.busy} title="The run under nearer and farther targets: what does freshness cost?" onClick=${(event) => play(event, true)}>${got.busy === "sweep" ? "Playing 16 times …" : "Sweep the targets"}</button>
    </form>
    ${got.error ? html`<${Problem} error=${got.error} />` : null}
    ${got.data
      ? got.data.cost ? html`<${Swept} data=${got.data} />` : html`<${Compared} data=${got.data} />`
      : got.busy ? null : html`<${Empty}>Choose what to try, and play: each outcome stands beside what happened, freshness against cost. It runs beside the warehouse, at the lowest priority.</${Empty}>`}`;
}
