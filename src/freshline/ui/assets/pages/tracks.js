// Tracks by time: what ran where, what was idle, and the decision behind each update.
import { html, useEffect, useRef, useState } from "/assets/ui.js";
import { brief, clock, hue, percent, plural } from "/assets/format.js";
import { now, setQuery, useStore, useView, useWindow, windowQuery } from "/assets/store.js";
import { Empty, Shown, TableLink, WindowBar, ink, useWidth } from "/assets/parts.js";
import { Told } from "/assets/pages/table.js";

const ROW = 46;
const LEFT = 66;
const FOOT = 24;

function ticks(from, to, width) {
  const steps = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 21600, 43200, 86400, 172800, 604800];
  const step = steps.find((each) => ((to - from) / each) * 90 < width) || 604800;
  const found = [];
  for (let at = Math.ceil(from / step) * step; at <= to; at += step) found.push(at);
  return found;
}

function draw(canvas, data, width, chosen, end) {
  const ratio = devicePixelRatio || 1;
  const height = data.tracks * ROW + FOOT;
  canvas.width = width * ratio;
  canvas.height = height * ratio;
  canvas.style.height = `${height}px`;
  const pen = canvas.getContext("2d");
  pen.scale(ratio, ratio);
  const family = getComputedStyle(document.body).fontFamily;
  const dark = getComputedStyle(document.documentElement).getPropertyValue("--dark").trim() === "1";
  const x = (at) => LEFT + ((at - data.from_s) / (data.to_s - data.from_s)) * (width - LEFT - 4);
  pen.font = `12px ${family}`;
  for (const at of ticks(data.from_s, data.to_s, width - LEFT)) {
    pen.strokeStyle = ink("--line");
    pen.beginPath();
    pen.moveTo(Math.round(x(at)) + 0.5, 0);
    pen.lineTo(Math.round(x(at)) + 0.5, height - FOOT);
    pen.stroke();
    pen.fillStyle = ink("--muted");
    pen.textAlign = "center";
    const text = new Date(at * 1000).toISOString();
    pen.fillText(data.to_s - data.from_s > 172800 ? text.slice(5, 10) : text.slice(11, 19), Math.min(width - 30, x(at)), height - 7);
  }
  pen.textAlign = "left";
  for (let track = 0; track < data.tracks; track += 1) {
    const top = track * ROW;
    pen.fillStyle = ink("--ink");
    pen.fillText(`track ${track}`, 4, top + 20);
    pen.fillStyle = ink("--muted");
    pen.fillText(percent(data.busy[track] || 0), 4, top + 36);
    pen.fillStyle = ink("--lane");
    pen.fillRect(LEFT, top + 6, width - LEFT - 4, ROW - 12);
  }
  const boxes = [];
  for (const [id, track, table, number, start, finish, state, strategy] of data.updates) {
    const left = Math.max(LEFT, x(start));
    const right = Math.min(width - 4, Math.max(left + 1.2, x(finish ?? end)));
    if (right < LEFT || left > width) continue;
    const top = track * ROW + 6;
    const name = data.tables[table];
    const high = ROW - 12;
    pen.fillStyle = `hsl(${hue(name)} ${dark ? "42% 42%" : "52% 62%"})`;
    pen.fillRect(left, top, right - left, high);
    if (state === "failed" || state === "lost") {
      pen.fillStyle = ink("--bad");
      pen.fillRect(left, top + high - 6, right - left, 6);
      if (right - left > 12) pen.fillText("✕", left + 2, top + 12);
    }
    if (id === chosen) {
      pen.strokeStyle = ink("--ink");
      pen.lineWidth = 2.5;
      pen.strokeRect(left, top, right - left, high);
      pen.lineWidth = 1;
    }
    if (right - left > 44) {
      pen.save();
      pen.beginPath();
      pen.rect(left, top, right - left - 3, high);
      pen.clip();
      pen.fillStyle = dark ? "#fff" : "#111";
      pen.fillText(name, left + 5, top + 15);
      pen.globalAlpha = 0.75;
      pen.fillText(strategy || state, left + 5, top + 29);
      pen.restore();
    }
    boxes.push([left, right, top, top + high, id, name, number, start, finish, state]);
  }
  return boxes;
}

function Lanes({ data, chosen, end }) {
  const [box, width] = useWidth();
  const canvas = useRef(null);
  const boxes = useRef([]);
  const [tip, setTip] = useState(null);
  const { theme } = useStore();
  useEffect(() => {
    if (width && canvas.current) boxes.current = draw(canvas.current, data, width, chosen, end);
  }, [data, width, chosen, theme, end]);
  const at = (event) => {
    const { left, top } = canvas.current.getBoundingClientRect();
    const [px, py] = [event.clientX - left, event.clientY - top];
    const near = boxes.current.filter(([l, r, t, b]) => px >= l - 2 && px <= r + 2 && py >= t && py <= b);
    return [near.at(-1), px, py];
  };
  const move = (event) => {
    const [hit, px, py] = at(event);
    setTip(hit ? { px: Math.min(px, width - 220), py, text: `${hit[5]}, update ${hit[6]}`, more: `${clock(hit[7], now())}, ${hit[8] ? brief(hit[8] - hit[7]) : "running"}, ${hit[9]}` } : null);
  };
  const step = (event) => {
    const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (!by || !data.updates.length) return;
    event.preventDefault();
    const ids = data.updates.map(([id]) => id);
    const here = ids.indexOf(chosen);
    const next = here < 0 ? ids.length - 1 : Math.min(ids.length - 1, Math.max(0, here + by));
    setQuery({ update: ids[next] });
  };
  return html`<div class="lanes" ref=${box}>
    <canvas ref=${canvas} role="img" tabindex="0" onKeyDown=${step}
      aria-label=${`${plural(data.updates.length, "update")} on ${plural(data.tracks, "track")} from ${clock(data.from_s)} to ${clock(data.to_s)} UTC. Arrow keys choose one.`}
      onMouseMove=${move} onMouseLeave=${() => setTip(null)}
      onClick=${(event) => {
        const [hit] = at(event);
        if (hit) setQuery({ update: hit[4] });
      }}></canvas>
    ${tip ? html`<div class="tip" style=${{ left: `${tip.px + 12}px`, top: `${tip.py + 12}px` }}><b>${tip.text}</b><br />${tip.more}</div>` : null}
  </div>`;
}

function Decision({ id }) {
  const got = useView(`/v1/updates/${id}`);
  return html`<section class="card decision" data-decision=${id}><h2>Why this update</h2><${Shown} got=${got}>${(data) => html`
    <p><${TableLink} name=${data.table} dropped=${data.dropped} /></p><${Told} update=${data} />`}</${Shown}></section>`;
}

export function Tracks() {
  const { query, session } = useStore();
  const frame = useWindow("15m");
  const got = useView(`/v1/tracks?${windowQuery(frame)}`, { every: 5 });
  const chosen = query.get("update") ? Number(query.get("update")) : null;
  return html`<h1>Tracks</h1><${WindowBar} fallback="15m" />
    <${Shown} got=${got.data ? got : got.before ? { data: got.before } : got}>${(data) => {
      const busy = Object.values(data.busy).reduce((sum, each) => sum + each, 0);
      const end = session && session.run !== null ? data.at_s : Math.min(now(), data.to_s);
      const shown = Math.min(data.to_s, data.at_s) - data.from_s;
      const recent = data.updates.slice(-12).reverse();
      return html`
        <p class="lead" data-busy=${busy.toFixed(3)} data-needed=${data.needed}><b>${busy.toFixed(2)} of ${plural(data.tracks, "track")}</b> busy${data.ran_s < shown - 1 ? ` while freshline ran, ${brief(data.ran_s)} of this time` : ""};
          the tables need <b>${data.needed.toFixed(2)}</b> by what their updates cost${data.needed > data.tracks ? html`: <span class="bad-text">more than there are, so staleness grows</span>` : ""}.</p>
        ${data.cut ? html`<p class="note">Only the newest 2,000 updates are drawn. Choose an earlier time for the others.</p>` : null}
        <section class="card">${data.updates.length ? html`<${Lanes} data=${data} chosen=${chosen} end=${end} />` : html`<${Empty}>No update in this time.</${Empty}>`}</section>
        ${chosen ? html`<${Decision} id=${chosen} key=${chosen} />` : html`<p class="muted">Click an update, or use the arrow keys, to see why it was chosen.</p>`}
        ${recent.length ? html`<details><summary>The latest updates as a list</summary><div class="scroller"><table class="plain"><thead><tr><th>started</th><th>track</th><th>table</th><th class="num">took</th><th>outcome</th></tr></thead>
          <tbody>${recent.map(([id, track, table, number, start, finish, state, strategy]) => html`<tr data-update=${number} data-strategy=${strategy || ""}><td><button type="button" class="linklike" onClick=${() => setQuery({ update: id })}>${clock(start, now())}</button></td>
            <td>${track}</td><td><${TableLink} name=${data.tables[table]} dropped=${data.dropped.includes(data.tables[table])} /></td><td class="num">${finish ? brief(finish - start) : "…"}</td><td>${state === "done" ? strategy : state}</td></tr>`)}</tbody></table></div></details>` : null}`;
    }}</${Shown}>`;
}
