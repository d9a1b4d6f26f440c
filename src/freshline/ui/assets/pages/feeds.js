// Is it us or the source? What arrives, what is missing, what could not be read.
import { html } from "/assets/ui.js";
import { brief, clock, count, epoch, plural } from "/assets/format.js";
import { useSeconds, useStore, useView } from "/assets/store.js";
import { Empty, Shown, TableLink } from "/assets/parts.js";

// Silences that have ended, the newest first.
function Gaps({ gaps, at }) {
  const [from, to] = gaps[0];
  return html`<details><summary>${brief(to - from)}, until ${clock(to, at)}${gaps.length > 1 ? html` <small class="muted">and ${gaps.length - 1} before</small>` : null}</summary>
    <ul>${gaps.map(([begun, ended]) => html`<li>${clock(begun, at)} – ${clock(ended, at)}: ${brief(ended - begun)}</li>`)}</ul></details>`;
}

// What came last, by the kind of the feed: a file, a pushed record, an offset or a version. Of
// records that were pushed before the gateway started only their number is known.
export function newest(feed, at) {
  const last = epoch(feed.last_file) || (feed.push && feed.push.newest_s);
  if (last) return `${brief(Math.max(0, at - last))} ago`;
  if (feed.push && feed.push.last) return `record ${count(feed.push.last)}`;
  const ends = feed.topics.length ? Object.values(feed.topics[0].ends) : [];
  const total = ends.reduce((sum, each) => sum + each, 0);
  if (ends.length) return ends.length > 1 ? `offsets ${count(total)}, ${ends.length} partitions` : `offset ${count(total)}`;
  const version = feed.sources.length ? feed.sources[0].version : null;
  return version === null ? "–" : `version ${count(version)}`;
}

// A sign, a class and a word: what a reader of a topic or table met comes before what is known.
export function standing(feed, running) {
  const read = [...feed.topics, ...feed.sources];
  const bad = read.find((each) => !["read", "new"].includes(each.state));
  if (bad) return ["✕", "failing", bad.state];
  if (feed.error) return ["✕", "failing", "cannot be listed"];
  if (feed.out_since) return ["▲", "late", "silent"];
  if (feed.last_file || read.some((each) => each.state === "read")) return ["●", "fresh", running ? "arriving" : "known"];
  return feed.push ? ["●", "fresh", "pushed"] : null;
}

function Feed({ feed, at, running }) {
  const last = epoch(feed.last_file);
  const silent = Boolean(feed.out_since);
  const found = standing(feed, running);
  const bad = feed.tables.reduce((sum, each) => sum + each.quarantined, 0);
  return html`<tr data-feed=${feed.name} data-silent=${String(silent)} class=${silent ? "late" : ""}>
    <td><b>${feed.name}</b> <small class="muted">${feed.kind}</small></td>
    <td>${found ? html`<span class=${`state ${found[1]}`}><i aria-hidden="true">${found[0]}</i> ${found[2]}</span>${silent ? ` nothing for ${brief(at - (last || epoch(feed.out_since)))}` : null}` : html`<span class="muted">nothing yet</span>`}</td>
    <td class="num">${newest(feed, at)}</td>
    <td class="num">${feed.period_s ? brief(feed.period_s) : "not known"}</td>
    <td>${feed.tables.map((each) => html`<${TableLink} name=${each.table} /> `)}</td>
    <td class="num">${feed.topics.length ? `${count(feed.topics.reduce((sum, each) => sum + each.lag_records, 0))} records` : feed.sources.length ? plural(Math.max(...feed.sources.map((each) => each.lag_versions)), "version") : feed.push ? `${count(feed.push.backlog_records)} pushed` : plural(feed.tables.reduce((sum, each) => sum + (each.pending_files || 0), 0), "file")}</td>
    <td class="num">${count(feed.tables.reduce((sum, each) => sum + each.rejected_rows, 0))}</td>
    <td>${bad ? html`<details><summary class="bad-text">✕ ${plural(bad, "file")}</summary><ul>${feed.tables.flatMap((each) => each.files.map((file) => html`<li><code>${file.file}</code>: ${file.reason}</li>`))}</ul></details>` : "–"}
      ${[feed, ...feed.topics, ...feed.sources].filter((each) => each.error).map((each) => html`<div class="bad-text">${each.error}</div>`)}</td>
    <td class="c-gaps" data-gaps=${feed.gaps.length}>${feed.gaps.length ? html`<${Gaps} gaps=${feed.gaps} at=${at} />` : "–"}</td>
  </tr>`;
}

export function Feeds() {
  const got = useView("/v1/ui/feeds", { every: 10 });
  const { session } = useStore();
  const seconds = useSeconds();
  return html`<h1>Feeds</h1><${Shown} got=${got}>${(data) =>
    data.feeds.length
      ? html`<div class="scroller"><table class="tables"><thead><tr><th>feed</th><th>state</th><th class="num">newest</th><th class="num">expected every</th><th>read by</th>
          <th class="num">waiting</th><th class="num">rejected rows</th><th>quarantine</th><th>past gaps</th></tr></thead>
          <tbody>${data.feeds.map((each) => html`<${Feed} key=${each.name} feed=${each} running=${data.running} at=${session && session.run !== null ? data.at_s : seconds} />`)}</tbody></table></div>
          ${data.total > data.feeds.length ? html`<p class="muted">The first ${data.feeds.length} of ${data.total}.</p>` : null}`
      : html`<${Empty}>The project has no feeds.</${Empty}>`}</${Shown}>`;
}
