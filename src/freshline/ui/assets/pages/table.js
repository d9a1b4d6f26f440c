// One table: how stale it was, what that was made of, and why at any moment.
import { html, useEffect, useState } from "/assets/ui.js";
import { act, token } from "/assets/api.js";
import { Sawtooth } from "/assets/chart.js";
import { brief, clock, count, epoch, iso, percent, plural } from "/assets/format.js";
import { change, now, setQuery, state as store, useSeconds, useStore, useView, useWindow, windowQuery } from "/assets/store.js";
import { Empty, Link, Meter, Shown, State, TableLink, WindowBar, Words, tableHref } from "/assets/parts.js";

const PARTS = [
  ["source_s", "source", (source) => (source.kind === "feed" ? `feed ${source.name}` : source.name ?? "its sources")],
  ["waiting_s", "waiting", () => "waiting for a track"],
  ["working_s", "working", () => "own updates"],
];

function Blame({ parts }) {
  const total = parts.staleness_s;
  if (!total) return html`<p class="muted">No data in this window.</p>`;
  const biggest = PARTS.reduce((one, other) => (parts[other[0]] > parts[one[0]] ? other : one));
  return html`<div class="blame" data-blame=${biggest[1]}>
    <p>On average <b>${brief(total)}</b> stale, mostly <b>${biggest[2](parts.source)}</b>.</p>
    <svg viewBox="0 0 100 10" preserveAspectRatio="none" role="img" aria-label=${PARTS.map(([key, , title]) => `${title(parts.source)} ${brief(parts[key])}`).join(", ")}>
      ${PARTS.map(([key, kind], index) => {
        const before = PARTS.slice(0, index).reduce((sum, [each]) => sum + parts[each], 0);
        return html`<rect class=${kind} x=${(100 * before) / total} width=${(100 * parts[key]) / total} height="10" />`;
      })}
    </svg>
    <ul class="legend">${PARTS.map(
      ([key, kind, title]) => html`<li><i class=${`swatch ${kind}`} aria-hidden="true"></i>
        ${kind === "source" && parts.source.kind === "table" && parts.source.name ? html`<${TableLink} name=${parts.source.name} />` : title(parts.source)}${" "}
        <b>${brief(parts[key])}</b>${" "}<span class="muted">${percent(parts[key] / total)}</span></li>`,
    )}</ul>
  </div>`;
}

export function Told({ update }) {
  return html`<div class="told" data-update=${update.number} data-strategy=${update.strategy || ""}>
    ${update.told.map((line, index) => (index ? html`<p>${line.trim()}</p>` : html`<h3>${line}</h3>`))}
    ${update.passed_over.length
      ? html`<div class="scroller"><table class="plain"><caption>Chosen over</caption><thead><tr><th>table</th><th>score</th></tr></thead>
          <tbody>${update.passed_over.map((each) => html`<tr><td><${TableLink} name=${each.table} /></td><td>${each.score}</td></tr>`)}</tbody></table></div>`
      : null}
  </div>`;
}

function Why({ name, at }) {
  const got = useView(`/v1/tables/${encodeURIComponent(name)}/why${at ? `?at=${at.toFixed(3)}` : ""}`);
  return html`<section class="card why" aria-live="polite" data-why=${got.data ? got.data.state : ""}>
    <h2>Why, at ${at ? `${clock(at, now())} UTC` : "this moment"}
      ${at ? html` <button type="button" class="chip" onClick=${() => setQuery({ at: null })}>now</button>` : html` <small class="muted">point at the chart for another moment</small>`}</h2>
    <${Shown} got=${got}>${(data) => html`
      <p class="lead"><${State} state=${data.state} /> ${data.told.join(" ")}</p>
      ${data.update && data.state === "running" ? html`<${Told} update=${data.update} />` : null}
      ${data.decisions.length
        ? html`<div class="scroller"><table class="plain"><caption>What was chosen while it waited</caption><thead><tr><th>at</th><th>chosen</th><th>with</th><th>this table had</th></tr></thead>
            <tbody>${data.decisions.map(
              (each) => html`<tr><td>${clock(each.at_s, now())}</td><td><${TableLink} name=${each.table} /> <small class="muted">track ${each.track}</small></td>
                <td>${each.score}</td><td>${each.this || html`<span class="muted">not among the best</span>`}</td></tr>`,
            )}</tbody></table></div>`
        : null}
      ${data.update && data.state !== "running" ? html`<details><summary>The update that followed</summary><${Told} update=${data.update} /></details>` : null}`}
    </${Shown}>
  </section>`;
}

function Actions({ name, paused }) {
  const { session } = useStore();
  const [said, set] = useState(null);
  if (!session || !session.may_act) return null;
  const ask = async (action, body) => {
    try {
      set({ text: (await act(name, action, body)).message });
    } catch (error) {
      set({ text: error.message, bad: true });
    }
    change({ version: store.version + 1 });
  };
  const prioritise = (event) => {
    event.preventDefault();
    ask("prioritise", { priority: Number(event.target.elements.priority.value) });
  };
  return html`<div class="actions">
    ${paused
      ? html`<button type="button" class="button" data-action="resume" onClick=${() => ask("resume")}>▶ Resume</button>`
      : html`<button type="button" class="button" data-action="pause" onClick=${() => ask("pause")}>❚❚ Pause</button>`}
    <button type="button" class="button" data-action="refresh" onClick=${() => ask("refresh")}>↻ Refresh</button>
    <form onSubmit=${prioritise}><label>priority <input name="priority" type="number" min="0.001" step="any" required /></label>
      <button type="submit" class="button" data-action="prioritise">Set</button></form>
    ${said ? html`<span role="status" class=${said.bad ? "bad-text" : "muted"}>${said.text}</span>` : null}
  </div>`;
}

function Updates({ name, frame }) {
  const got = useView(`/v1/tables/${encodeURIComponent(name)}/updates?${windowQuery(frame)}`);
  return html`<section class="card"><h2>Updates</h2><${Shown} got=${got}>${(data) =>
    data.updates.length
      ? html`<div class="scroller"><table class="plain updates">
          <thead><tr><th class="num">no.</th><th>started</th><th class="num">waited</th><th class="num" title="Seconds, against the estimate">took / estimated</th>
            <th class="num">rows</th><th>strategy</th><th>read</th><th>fresh to</th></tr></thead>
          <tbody>${data.updates.map((each) => {
            const start = epoch(each.started);
            return html`<tr data-update=${each.number} data-strategy=${each.strategy || ""} data-outcome=${each.state} class=${each.state}>
              <td class="num"><button type="button" class="linklike" title="Why this update" onClick=${() => { setQuery({ at: iso(start + 0.001) }); document.querySelector(".why")?.scrollIntoView({ block: "nearest" }); }}>${each.number}</button></td>
              <td>${clock(start, now())}</td>
              <td class="num">${each.waited_s === null ? "–" : brief(each.waited_s)}</td>
              <td class="num">${each.seconds === null ? (each.state === "running" ? "…" : "–") : brief(each.seconds)} <small class="muted">/ ${brief(each.expected_s)}</small></td>
              <td class="num">${count(each.rows)}</td>
              <td title=${each.reason || ""}>${each.state === "done" ? each.strategy : html`<span class=${each.state === "running" ? "" : "bad-text"}>${each.state === "running" ? "▶ running" : `✕ ${each.state}: ${each.error || ""}`}</span>`}</td>
              <td class="muted">${each.files ? plural(each.files, "file") : Object.entries(each.parents).map(([parent, version]) => `${parent} v${version}`).join(", ")}</td>
              <td>${each.state === "done" ? clock(epoch(each.to), now()) : "–"}</td></tr>`;
          })}</tbody></table></div>${data.next ? html`<p class="muted">The newest ${data.updates.length}; an earlier time shows older ones.</p>` : null}`
      : html`<${Empty}>No update in this time.</${Empty}>`}</${Shown}></section>`;
}

// What an audit found: which version, which rows, where the evidence lies, and the way out.
function Wrong({ wrong }) {
  const shown = (times) => wrong.rows.filter((each) => each.times * times > 0);
  const rows = (title, some) => some.length
    ? html`<h3>${title}</h3><pre><code>${some.map((each) => each.text).join("\n")}</code></pre>`
    : null;
  const found = epoch(wrong.found);
  return html`<section class="note bad" role="alert" data-wrong=${wrong.version} data-rebuilt=${String(wrong.rebuilt)}>
    <p><b>≠ ${wrong.rebuilt ? "It was wrong" : "It is wrong"}:</b> version ${wrong.version}, made by ${wrong.strategy}, did not equal its query: ${plural(wrong.missing, "row")} missing, ${count(wrong.extra)} extra.
      An audit found it at ${clock(found, now())} UTC.</p>
    <p>${wrong.rebuilt ? "It was rebuilt since." : "It is rebuilt next."} ${wrong.trusted ? "Then it is maintained from changes again." : html`Until <code>freshline retry ${wrong.table}</code>, or until its query changes, it is computed in full.`}</p>
    <p>Evidence (query, plan, versions read, rows): <code>${wrong.evidence}</code></p>
    ${wrong.rows.length ? html`<details><summary>Some of the rows that differ</summary>${rows("Missing", shown(-1))}${rows("Extra", shown(1))}</details>` : null}
  </section>`;
}

const AUDITED = { right: "● right", wrong: "≠ wrong", skipped: "– skipped" };

function Audits({ audits }) {
  if (!audits.last) return "not yet: idle tracks verify views";
  const counts = Object.entries(audits.outcomes).map(([outcome, number]) => `${number} × ${outcome}`).join(", ");
  return html`<span data-audits=${audits.last_outcome}>${AUDITED[audits.last_outcome] || audits.last_outcome} at ${clock(epoch(audits.last), now())} UTC</span> <span class="muted">(${counts})</span>${audits.last_outcome === "right" ? null : `: ${audits.reason}`}`;
}

function Explained({ name, explained }) {
  const lines = [explained.text, ...explained.costs].filter(Boolean).join("\n").replace(/\n\n+/g, "\n");
  return html`<details data-explained=${String(Boolean(explained.text))}><summary>Explain: which updates are right for this query, and why not others</summary>
    ${lines ? html`<pre><code>${lines}</code></pre>` : null}
    ${explained.text ? null : html`<p class="muted">A run writes it down at the first update of the view; <code>freshline explain ${name}</code> asks Spark now.</p>`}</details>`;
}

const UPKEEP = new Set(["compact", "vacuum", "verify", "try"]);

function Definition({ data }) {
  const { definition } = data;
  return html`<section class="card definition"><h2>Definition <small class="muted">${definition.file}</small></h2>
    ${definition.comment ? html`<p>${definition.comment}</p>` : null}
    <pre><code data-sql>${definition.sql}</code></pre>
    <dl>
      <dt>Kept up to date by</dt><dd>${data.last_update ? html`<b>${data.last_update.strategy}</b>: ${data.last_update.reason}` : "nothing yet"}</dd>
      ${data.strategies.length ? html`<dt>So far</dt><dd>${data.strategies.filter((each) => !UPKEEP.has(each.strategy)).map((each) => `${each.strategy} ${count(each.updates)} × (${each.code})`).join(", ")}</dd>` : null}
      <dt>Reads</dt><dd>${definition.feed ? html`feed <${Link} href="/feeds">${definition.feed}</${Link}>` : definition.parents.map((each) => html`<${TableLink} name=${each} /> `)}</dd>
      <dt>Read by</dt><dd>${definition.children.length ? definition.children.map((each) => html`<${TableLink} name=${each} /> `) : "no table"}</dd>
      ${data.kind === "base" ? null : html`<dt>Verified</dt><dd><${Audits} audits=${data.audits} /></dd>`}
      ${definition.time ? html`<dt>Event time</dt><dd>${definition.time}</dd>` : null}
    </dl>
    ${data.kind === "base" ? null : html`<${Explained} name=${data.name} explained=${data.explained} />`}
    ${data.columns.length
      ? html`<details open=${data.columns.length <= 12}><summary>${plural(data.columns.length, "column")}</summary><table class="plain columns"><thead><tr><th>name</th><th>type</th><th>comment</th></tr></thead>
          <tbody>${data.columns.map((each) => html`<tr><td>${each.name}</td><td><code>${each.type}</code></td><td>${each.comment || ""}</td></tr>`)}</tbody></table></details>`
      : null}
  </section>`;
}

export function Table({ name }) {
  const { query, session } = useStore();
  const frame = useWindow();
  const seconds = useSeconds();
  const path = `/v1/tables/${encodeURIComponent(name)}`;
  const got = useView(path, { every: 10 });
  const stale = useView(`${path}/staleness?${windowQuery(frame)}`, { every: 10 });
  const at = query.get("at") ? epoch(query.get("at")) : null;
  return html`<${Shown} got=${got}>${(data) => {
    const fresh = epoch(data.freshness);
    const moment = session && session.run !== null ? data.at_s : seconds;
    const staleness = fresh === null ? null : Math.max(0, moment - fresh);
    const late = staleness !== null && data.target_lag_s ? staleness > data.target_lag_s : false;
    return html`
      <div class="title" data-table=${data.name} data-state=${data.state} data-staleness-s=${staleness === null ? "" : staleness.toFixed(1)} data-target-s=${data.target_lag_s ?? ""}>
        <h1>${data.name}</h1><${State} state=${data.state} late=${late} failures=${data.failures} />
        <${Meter} staleness=${staleness} target=${data.target_lag_s} late=${late} />
        <span class="muted">${fresh === null ? "" : `fresh to ${clock(fresh, moment)} UTC · `}priority ${data.priority ?? "–"} · ${plural(data.updates, "update")}${late && data.reason ? "" : html` · <${Words} text=${data.next} />`}</span>
        ${late && data.reason ? html`<b class="reason" data-reason><${Words} text=${data.reason} /></b>` : null}
      </div>
      ${data.wrong ? html`<${Wrong} wrong=${{ ...data.wrong, table: data.name }} />` : null}
      ${data.error ? html`<div class="note bad" role="alert">${data.error}</div>` : null}
      <${Actions} name=${data.name} paused=${data.paused} />
      <section class="card"><h2>Staleness</h2><${WindowBar} />
        <${Shown} got=${stale.data ? stale : stale.before && stale.before.table === name ? { data: stale.before } : stale}>${(steps) => html`
          <${Sawtooth} data=${frame.live ? { ...steps, to_s: Math.max(steps.to_s, session && session.run !== null ? steps.to_s : moment) } : steps} end=${Math.min(frame.live ? moment : steps.to_s, moment)} at=${at}
            onPick=${(x) => setQuery({ at: iso(x) })} />
          ${steps.cut ? html`<p class="note">Only the newest 1,000 updates are drawn, from ${clock(steps.from_s)}. Choose an earlier time for the others.</p>` : null}
          <${Blame} parts=${steps.blame} />`}</${Shown}>
      </section>
      <${Why} name=${data.name} at=${at} />
      <${Updates} name=${data.name} frame=${frame} />
      <${Definition} data=${data} />`;
  }}</${Shown}>`;
}
