// Reports: each window's deadline, its batches planned and done, and the slack that is left.
import { html } from "/assets/ui.js";
import { brief, clock, count, epoch } from "/assets/format.js";
import { useView } from "/assets/store.js";
import { Empty, Shown } from "/assets/parts.js";

const OVER = new Set(["done", "failed", "withdrawn"]);

// Behind its deadline, by how much; or foreseen to be, as long as it is not over.
function Late({ report }) {
  const open = !OVER.has(report.state);
  const text = report.late_s !== null ? `late by ${brief(report.late_s)}` : report.late ? "late" : report.foreseen && open ? "will be late" : null;
  return text && html`<span class="state late"><i aria-hidden="true">▲</i> ${text}</span>${" "}`;
}

export function Reports() {
  const got = useView("/v1/ui/reports", { every: 10 });
  return html`<h1>Reports</h1><${Shown} got=${got}>${(data) =>
    data.reports.length
      ? html`<div class="scroller"><table class="tables"><thead><tr><th>report</th><th>window</th><th>state</th><th>deadline (UTC)</th><th class="num">slack</th><th class="num">batches</th><th class="num">rows</th><th>next batch</th><th>remarks</th></tr></thead>
          <tbody>${data.reports.map((each) => {
            const open = !OVER.has(each.state);
            const late = each.late_s !== null || each.late || (each.foreseen && open);
            return html`<tr data-report=${each.name} data-state=${each.state} class=${late ? "late" : ""}>
              <td><b>${each.table || each.name}</b></td>
              <td>${each.window.start ? `${clock(epoch(each.window.start), data.at_s)} – ${clock(epoch(each.window.end), data.at_s)}` : "–"}</td>
              <td><${Late} report=${each} />${each.state}${open && !data.running ? html` <small class="muted">no run</small>` : null}</td>
              <td>${clock(each.deadline_s, data.at_s)}</td>
              <td class="num">${each.slack_s === null ? "–" : brief(each.slack_s)}</td>
              <td class="num">${each.batches}${each.planned_s.length ? ` + ${each.planned_s.length}` : ""}</td>
              <td class="num">${count(each.rows_taken)}${each.rows_arrived ? ` of ${count(each.rows_arrived)}` : ""}</td>
              <td>${each.next_batch ? clock(epoch(each.next_batch), data.at_s) : "–"}</td>
              <td>${[each.error, each.complete === false ? "incomplete: the streams were behind" : null, each.runs_once ? `runs once: ${each.runs_once}` : null].filter(Boolean).join("; ")}</td></tr>`;
          })}</tbody></table></div>${data.total > data.reports.length ? html`<p class="muted">The newest ${data.reports.length} of ${data.total}.</p>` : null}`
      : html`<${Empty}>${data.defined.length ? `No window of ${data.defined.join(", ")} was due yet.` : "The project has no reports: views with freshline.window and freshline.deadline."}</${Empty}>`}</${Shown}>`;
}
