// What can be promised, what was seen, and what broke a promise.
import { html } from "/assets/ui.js";
import { brief, clock, epoch } from "/assets/format.js";
import { now, useView } from "/assets/store.js";
import { Empty, Shown, TableLink } from "/assets/parts.js";

// Every version of a view equals its query: idle tracks verify that.
function Audits({ tables }) {
  const audited = tables.filter((each) => each.audits.last || each.wrong);
  const number = (each, outcome) => each.audits.outcomes[outcome] || 0;
  return html`<h2>Each version equals its query</h2>
    <p class="muted">Idle tracks compute views again in full and compare. A view that was wrong is rebuilt, and computed in full until <code>freshline retry</code>.</p>
    ${audited.length
      ? html`<div class="scroller"><table class="tables"><thead><tr><th>view</th><th>last audit (UTC)</th><th class="num">right</th><th class="num">wrong</th><th class="num">not verified</th><th>remarks</th></tr></thead>
        <tbody>${audited.map((each) => html`<tr data-table=${each.name} data-audit=${each.audits.last_outcome || ""} data-wrong=${each.wrong ? each.wrong.version : ""} class=${each.wrong ? "late" : ""}>
          <td><${TableLink} name=${each.name} dropped=${each.dropped} /></td><td>${clock(epoch(each.audits.last), now())}</td>
          <td class="num">● ${number(each, "right")}</td><td class="num">${number(each, "wrong") ? html`<span class="bad-text">≠ ${number(each, "wrong")}</span>` : "0"}</td><td class="num">${number(each, "skipped")}</td>
          <td>${each.wrong ? html`<span class="bad-text">version ${each.wrong.version} was wrong</span>; evidence: <code>${each.wrong.evidence}</code>` : each.audits.last_outcome === "skipped" ? each.audits.reason : ""}</td></tr>`)}</tbody></table></div>`
      : html`<${Empty}>No view was verified yet. <code>freshline verify</code> does it now.</${Empty}>`}`;
}

export function Guarantees() {
  const got = useView("/v1/ui/guarantees", { every: 20 });
  return html`<h1>Guarantees</h1><${Shown} got=${got}>${(data) => {
    const promised = data.tables.filter((each) => Object.keys(each.bounds_s).length || each.bound || Object.keys(each.broken).length);
    return html`<h2>Staleness stays below a bound</h2>
      <p class="lead">Policy <b>${data.policy}</b>${data.utilisation !== null && data.utilisation !== undefined ? html`, utilisation <b>${Number(data.utilisation).toFixed(2)}</b>` : ""}${data.schedulable === true ? ": bounds hold for every table." : data.schedulable === false ? html`: <span class="bad-text">no bounds hold; there is more work than tracks</span>.` : "."}</p>
      ${data.why_not ? html`<div class="note"><p>${data.why_not}</p></div>` : null}
      ${promised.length
        ? html`<div class="scroller"><table class="tables"><thead><tr><th>table</th><th>mode</th><th class="num">staleness bound</th><th class="num">worst seen</th><th class="num">broken</th><th>cause</th></tr></thead>
          <tbody>${promised.map((each) => {
            const broken = Object.values(each.broken).reduce((sum, number) => sum + number, 0);
            const bound = each.bounds_s.staleness ?? (each.bound && each.bound.staleness) ?? null;
            return html`<tr data-table=${each.name} data-broken=${broken} class=${broken ? "late" : ""}><td><${TableLink} name=${each.name} dropped=${each.dropped} /></td><td>${each.mode || "–"}</td>
              <td class="num">${typeof bound === "number" ? brief(bound) : "none"}</td><td class="num">${each.worst_s.staleness === undefined ? "–" : brief(each.worst_s.staleness)}</td>
              <td class="num">${broken ? html`<span class="bad-text">✕ ${broken}</span>` : typeof bound === "number" ? "● 0" : "–"}</td>
              <td>${Object.entries(each.broken).map(([cause, number]) => `${cause} ${number}`).join(", ")}${each.last_broken ? html` <small class="muted">${each.last_broken}</small>` : null}</td></tr>`;
          })}</tbody></table></div>`
        : html`<${Empty}>Nothing is promised under this policy; <code>policy: aus</code> gives bounds.</${Empty}>`}
      <${Audits} tables=${data.tables} />`;
  }}</${Shown}>`;
}
