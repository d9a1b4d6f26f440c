// The recorded run under other policies, tracks and objectives: freshness against cost.
import { html, useState } from "/assets/ui.js";
import { view } from "/assets/api.js";
import { brief, count, percent } from "/assets/format.js";
import { setQuery, useStore } from "/assets/store.js";
import { Empty, Problem, TableLink } from "/assets/parts.js";

const title = (each) => `${each.policy}, ${each.tracks} ${each.tracks === 1 ? "track" : "tracks"}${each.objective === "staleness" ? "" : `, ${each.objective}`}`;

function Scatter({ outcomes }) {
  const [wide, high, pad] = [620, 260, 44];
  const xs = outcomes.map((each) => each.executor_seconds);
  const ys = outcomes.map((each) => each.weighted_staleness);
  const [maxX, maxY] = [Math.max(...xs, 1) * 1.15, Math.max(...ys, 1) * 1.15];
  const x = (value) => pad + ((wide - pad - 10) * value) / maxX;
  const y = (value) => high - pad + 8 - ((high - pad - 6) * value) / maxY;
  return html`<svg class="scatter" viewBox=${`0 0 ${wide} ${high}`} role="img" aria-label=${outcomes.map((each, at) => `${at ? title(each) : "as it was"}: ${count(Math.round(each.executor_seconds))} s of executor`).join("; ")}>
    <line x1=${pad} x2=${wide - 10} y1=${y(0)} y2=${y(0)} /><line x1=${pad} x2=${pad} y1="6" y2=${y(0)} />
    <text x=${wide - 10} y=${high - 12} class="end">executor seconds →</text><text x=${pad + 6} y="16">↑ weighted staleness</text>
    ${outcomes.map((each, at) => html`<g class=${at ? "played" : "happened"}><circle cx=${x(each.executor_seconds)} cy=${y(each.weighted_staleness)} r=${at ? 6 : 8} />
      <text x=${x(each.executor_seconds) + (x(each.executor_seconds) > wide * 0.7 ? -12 : 12)} y=${y(each.weighted_staleness) + 4 + (at % 2 ? -10 : 8)} class=${x(each.executor_seconds) > wide * 0.7 ? "end" : ""}>${at ? title(each) : "as it was"}</text></g>`)}
  </svg>`;
}

export function WhatIf() {
  const { session, query } = useStore();
  const [got, set] = useState({ data: null, error: null, busy: false });
  const policies = session ? session.policies : [];
  const chosen = (query.get("policy") || `${session ? session.now.policy : ""},edf`).split(",").filter(Boolean);
  const play = async (event) => {
    event.preventDefault();
    const form = event.target;
    const picked = [...form.querySelectorAll("input[name=policy]:checked")].map((each) => each.value);
    const values = { policy: picked.join(","), tracks: form.elements.tracks.value.replace(/\s/g, ""), objective: form.elements.objective.value };
    setQuery(values);
    set((old) => ({ ...old, error: null, busy: true }));
    try {
      set({ data: await view(`/v1/ui/what-if?${new URLSearchParams(Object.entries(values).filter(([, each]) => each))}`), error: null, busy: false });
    } catch (error) {
      set({ data: null, error, busy: false });
    }
  };
  const outcomes = got.data ? [got.data.happened, ...got.data.played] : [];
  const basis = outcomes.length ? outcomes[0].weighted_staleness : 0;
  return html`<h1>What if</h1>
    <p class="lead">The ${session && session.run !== null ? `run ${session.run}` : "last run"} is played again, with what its updates took, under other rules.</p>
    <form class="card whatif" onSubmit=${play}>
      <fieldset><legend>Policies</legend>${policies.map((each) => html`<label class="pick"><input type="checkbox" name="policy" value=${each} checked=${chosen.includes(each)} /> ${each}</label>`)}</fieldset>
      <label>Tracks <input name="tracks" placeholder="as it was; or 1,2,4" value=${query.get("tracks") || ""} pattern="[0-9, ]*" /></label>
      <label>Objective <select name="objective">${["", "staleness", "cost", "staleness,cost"].map((each) => html`<option value=${each} selected=${each === (query.get("objective") || "")}>${each || "as it was"}</option>`)}</select></label>
      <button type="submit" class="button" disabled=${got.busy}>${got.busy ? "Playing …" : "Play"}</button>
    </form>
    ${got.error ? html`<${Problem} error=${got.error} />` : null}
    ${got.data
      ? html`<section class="card" data-played=${got.data.played.length}><${Scatter} outcomes=${outcomes} />
        <div class="scroller"><table class="plain"><thead><tr><th></th>${outcomes.map((each, at) => html`<th class="num">${at ? title(each) : "as it was"}</th>`)}</tr></thead><tbody>
          <tr><th>weighted staleness</th>${outcomes.map((each) => html`<td class="num">${basis ? `× ${(each.weighted_staleness / basis).toFixed(2)}` : "–"}</td>`)}</tr>
          <tr><th>within targets</th>${outcomes.map((each) => html`<td class="num">${each.within === null ? "no target" : percent(each.within)}</td>`)}</tr>
          <tr><th>executor</th>${outcomes.map((each) => html`<td class="num">${brief(each.executor_seconds)}</td>`)}</tr>
          <tr><th>updates</th>${outcomes.map((each) => html`<td class="num">${count(each.updates)}</td>`)}</tr>
          ${Object.keys(outcomes[0].tables).map((name) => html`<tr><th><${TableLink} name=${name} /></th>${outcomes.map((each) => html`<td class="num">${each.tables[name].mean === null ? "no data" : `${brief(each.tables[name].mean)}, most ${brief(each.tables[name].max)}`}</td>`)}</tr>`)}
        </tbody></table></div>${got.data.notes.map((each) => html`<p class="muted">${each}.</p>`)}</section>`
      : got.busy ? null : html`<${Empty}>Choose what to try, and play. It runs beside the warehouse, at the lowest priority.</${Empty}>`}`;
}
