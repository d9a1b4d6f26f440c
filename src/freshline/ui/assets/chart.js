// The staleness of one table over time: a sawtooth on canvas, by uPlot.
import { html, useEffect, useRef } from "/assets/ui.js";
import { brief, clock, inUnit, unitOf } from "/assets/format.js";
import { ink, useWidth } from "/assets/parts.js";
import { useStore } from "/assets/store.js";

// Corners of the sawtooth: before and after every committed update, and both ends.
export function corners(data, end) {
  const column = (name) => data.columns.indexOf(name);
  const [FINISH, TO, STATE] = [column("finish_s"), column("to_s"), column("state")];
  const xs = [];
  const ys = [];
  let fresh = data.fresh_to_s;
  const add = (x, y) => {
    xs.push(x);
    ys.push(y);
  };
  if (fresh !== null) add(data.from_s, data.from_s - fresh);
  const done = data.steps
    .filter((step) => step[STATE] === "done" && step[FINISH] !== null)
    .sort((one, other) => one[FINISH] - other[FINISH]);
  for (const step of done) {
    const at = step[FINISH];
    if (at < data.from_s) {
      fresh = fresh === null ? step[TO] : Math.max(fresh, step[TO]);
      if (xs.length) ys[0] = data.from_s - fresh;
      continue;
    }
    if (at > end) break;
    if (fresh !== null) add(at, at - fresh);
    fresh = fresh === null ? step[TO] : Math.max(fresh, step[TO]);
    add(at, Math.max(0, at - fresh));
  }
  if (fresh !== null && end > (xs.at(-1) ?? data.from_s)) add(end, end - fresh);
  return [xs, ys];
}

// Times as the command line writes them; the day where steps are days.
function stamp(seconds, step) {
  const text = new Date(seconds * 1000).toISOString();
  if (step >= 86400) return text.slice(5, 10);
  return step >= 60 ? text.slice(11, 16) : text.slice(11, 19);
}

function hatch(context, ratio) {
  const size = 6 * ratio;
  const tile = document.createElement("canvas");
  tile.width = tile.height = size;
  const pen = tile.getContext("2d");
  pen.strokeStyle = ink("--late");
  pen.lineWidth = 1.3 * ratio;
  for (const shift of [-size, 0, size]) {
    pen.beginPath();
    pen.moveTo(shift, size);
    pen.lineTo(shift + size, 0);
    pen.stroke();
  }
  return context.createPattern(tile, "repeat");
}

const FAR = 5;

// Steps that are round in seconds, minutes, hours and days.
const STEPS = [0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, ...Array.from({ length: 8 }, (_, power) => [1, 2, 5].map((each) => 86400 * each * 10 ** power)).flat()];

// An axis has one unit, so that its steps are told apart: 150 s and 200 s are not both 3 min.
const levels = (splits) => splits.map((each) => inUnit(each, unitOf(splits.at(-1))));

export function Sawtooth({ data, at, onPick, end }) {
  const [box, width] = useWidth();
  const { theme } = useStore();
  const plot = useRef(null);
  const latest = useRef({});
  latest.current = { data, at, onPick };
  const [xs, ys] = corners(data, end);
  const target = data.target_lag_s;

  useEffect(() => {
    if (!width) return undefined;
    const grid = { stroke: ink("--line"), width: 1 };
    const font = `12px ${getComputedStyle(document.body).fontFamily}`;
    const made = new uPlot(
      {
        width,
        height: width < 500 ? 200 : 270,
        tzDate: (stamp) => uPlot.tzDate(new Date(stamp * 1e3), "Etc/UTC"),
        legend: { show: false },
        cursor: { y: false, drag: { x: false, y: false }, points: { show: false } },
        scales: {
          x: { time: true, range: () => [latest.current.data.from_s, latest.current.data.to_s] },
          y: {
            // A bound that is far above all that was seen is told, and would flatten what is drawn.
            range: (_, __, most) => {
              const { target_lag_s: lag, bound_s: bound } = latest.current.data;
              const top = Math.max(most || 1, (lag || 0) * 1.3);
              return [0, (bound && bound < FAR * top ? Math.max(top, bound * 1.1) : top) * 1.08];
            },
          },
        },
        axes: [
          // Wide enough for a time with seconds, and some room beside it.
          { stroke: ink("--muted"), grid, ticks: grid, font, size: 34, space: 70, values: (_, splits, __, ___, step) => splits.map((each) => stamp(each, step)) },
          { stroke: ink("--muted"), grid, ticks: grid, font, size: 62, incrs: STEPS, values: (_, splits) => levels(splits) },
        ],
        series: [{}, { label: "staleness", stroke: ink("--accent"), fill: ink("--accent-soft"), width: 1.6, points: { show: false } }],
        hooks: {
          draw: [
            (u) => {
              const { data: shown, at: moment } = latest.current;
              const pen = u.ctx;
              const ratio = devicePixelRatio || 1;
              const { left, top, width: wide, height: high } = u.bbox;
              pen.save();
              pen.beginPath();
              pen.rect(left, top, wide, high);
              pen.clip();
              const lag = shown.target_lag_s;
              if (lag) {
                const level = u.valToPos(lag, "y", true);
                // What was late: between the line and the target.
                pen.save();
                pen.beginPath();
                pen.rect(left, top, wide, Math.max(0, level - top));
                pen.clip();
                pen.beginPath();
                u.data[0].forEach((x, index) => {
                  const px = u.valToPos(x, "x", true);
                  const py = u.valToPos(u.data[1][index], "y", true);
                  if (index) pen.lineTo(px, py);
                  else {
                    pen.moveTo(px, top + high);
                    pen.lineTo(px, py);
                  }
                });
                if (u.data[0].length) pen.lineTo(u.valToPos(u.data[0].at(-1), "x", true), top + high);
                pen.closePath();
                pen.fillStyle = hatch(pen, ratio);
                pen.fill();
                pen.restore();
                pen.setLineDash([6 * ratio, 4 * ratio]);
                pen.strokeStyle = ink("--late");
                pen.lineWidth = 1.4 * ratio;
                pen.beginPath();
                pen.moveTo(left, level);
                pen.lineTo(left + wide, level);
                pen.stroke();
                pen.setLineDash([]);
                pen.textAlign = "left";
                pen.textBaseline = "alphabetic";
                pen.font = `${11 * ratio}px system-ui, sans-serif`;
                const text = `target ${brief(lag)}`;
                pen.fillStyle = ink("--surface");
                pen.fillRect(left + 3 * ratio, level - 17 * ratio, pen.measureText(text).width + 8 * ratio, 15 * ratio);
                pen.fillStyle = ink("--late");
                pen.fillText(text, left + 7 * ratio, level - 6 * ratio);
              }
              if (shown.bound_s) {
                const level = u.valToPos(shown.bound_s, "y", true);
                pen.setLineDash([2 * ratio, 3 * ratio]);
                pen.strokeStyle = ink("--muted");
                pen.beginPath();
                pen.moveTo(left, level);
                pen.lineTo(left + wide, level);
                pen.stroke();
                pen.setLineDash([]);
                pen.fillStyle = ink("--muted");
                pen.textAlign = "left";
                pen.textBaseline = "alphabetic";
                pen.font = `${11 * ratio}px system-ui, sans-serif`;
                pen.fillText(`bound ${brief(shown.bound_s)}`, left + wide - 90 * ratio, level - 5 * ratio);
              }
              if (moment) {
                const px = u.valToPos(moment, "x", true);
                pen.strokeStyle = ink("--ink");
                pen.lineWidth = 1.5 * ratio;
                pen.beginPath();
                pen.moveTo(px, top);
                pen.lineTo(px, top + high);
                pen.stroke();
              }
              pen.restore();
            },
          ],
        },
      },
      [xs, ys],
      box.current,
    );
    plot.current = made;
    const pick = () => {
      if (made.cursor.left >= 0) latest.current.onPick(made.posToVal(made.cursor.left, "x"));
    };
    made.over.addEventListener("click", pick);
    return () => {
      made.destroy();
      plot.current = null;
    };
  }, [width, theme]);

  const most = ys.length ? Math.max(...ys) : null;
  const label = `Staleness of ${data.table} from ${clock(data.from_s)} to ${clock(data.to_s)} UTC: largest ${brief(most)}, target ${target ? brief(target) : "none"}${data.bound_s ? `, guaranteed bound ${brief(data.bound_s)}` : ""}. Arrow keys move the moment that is explained.`;
  useEffect(() => {
    if (!plot.current) return;
    plot.current.setData([xs, ys]);
    plot.current.ctx.canvas.setAttribute("aria-label", label);
  }, [data, end, at, width, theme]);
  const key = (event) => {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (!step) return;
    event.preventDefault();
    const wide = data.to_s - data.from_s;
    onPick(Math.min(data.to_s, Math.max(data.from_s, (at || data.to_s) + (step * wide) / 100)));
  };
  return html`<div class="chart" ref=${box} role="img" tabindex="0" aria-label=${label} onKeyDown=${key}></div>
    ${data.bound_s ? html`<p class="muted" data-bound-s=${data.bound_s}>Bound of policy aus: at most ${brief(data.bound_s)} stale, as long as updates and feeds take what is assumed of them.</p>` : null}`;
}
