"""What ``freshline simulate`` shows of a run to people."""

from __future__ import annotations

from freshline.core.objective.compliance import Compliance
from freshline.render.output import console, counted, percent
from freshline.sim.result import Result
from freshline.sim.theory.bounds import Bound, tracks_needed


def show_result(result: Result) -> None:
    """A line a table, then what the run comes to."""
    from rich.table import Table as Grid

    record = result.record()
    grid = Grid(box=None, pad_edge=False, header_style="bold")
    grid.add_column("table")
    kept = result.played.kept
    headings = ["priority", "mean staleness", "largest", "freshness at the end", "share"]
    if kept is not None:
        headings += ["target", "within it", "executor"]
    for heading in headings:
        grid.add_column(heading, justify="right")
    total = record["weighted_staleness"]
    for spec in result.scenario.tables:
        measured = result.played.staleness[spec.name]
        share = spec.priority * measured.integral_s2 / total if total else 0.0
        figures = record["staleness"][spec.name]
        grid.add_row(
            spec.name,
            f"{spec.priority:g}",
            f"{figures['mean']:,.3f} s",
            f"{figures['max']:,.3f} s",
            f"{figures['final_freshness']:,.3f}",
            f"{share:.1%}",
            *(() if kept is None else _kept_cells(kept[spec.name], result.scenario.horizon_s)),
        )
    out = console()
    out.print(grid)
    out.print()
    lateness, stretch = record["relative_lateness"], record["stretch"]
    scenario = result.scenario
    lines = [
        ("weighted staleness", f"{total:,.6g}"),
        ("relative lateness", "no staleness" if lateness is None else f"{lateness:,.4f}"),
        ("stretch", "nothing loaded" if stretch is None else f"{stretch:,.4f}"),
        ("low, penalty", f"{record['low']:,.6g}, {record['penalty']:,.6g}"),
        ("updates", counted(record["jobs"], "update") + " finished"),
        ("events", f"{record['events']:,} in {scenario.horizon_s:,g} s"),
        ("policy", f"{scenario.settings.policy} on {counted(scenario.tracks, 'track')}"),
    ]
    if kept is not None:
        lines.append(("executor", f"{record['executor_seconds']:,.3f} s"))
        lines.append(("objective", scenario.settings.objective))
    if record["lower_bound"] is not None:
        lines.insert(2, ("lower bound", f"{record['lower_bound']:,.6g}"))
    for name, value in lines:
        out.print(f"{name:<20}{value}")


def _kept_cells(kept: Compliance, horizon_s: float) -> list[str]:
    share = kept.share(horizon_s)
    return [
        "" if kept.target_s is None else f"{kept.target_s:,g} s",
        "" if share is None else percent(share),
        f"{kept.executor_s:,.3f} s",
    ]


def show_bounds(result: Result, proven: dict[str, Bound]) -> None:
    """What theory says of it, a line each."""
    if not proven:
        return
    out = console()
    out.print()
    names = {
        "low": "staleness >= LOW/2",
        "penalty": "staleness <= penalty/2",
        "theorem_3_1": "penalty (Theorem 3.1)",
        "theorem_4_3": "stretch (Theorem 4.3)",
        "utilisation": "load to carry",
    }
    for name, bound in proven.items():
        if bound.limit is None:
            said = f"not proven: {bound.why_not}"
        elif bound.measured is None:
            said = f"limit {bound.limit:,.6g}, nothing measured"
        else:
            sign = ">=" if bound.at_least else "<="
            broken = "  too much" if name == "utilisation" else "  BROKEN"
            kept = "" if bound.holds else broken
            said = f"{bound.measured:,.6g} {sign} {bound.limit:,.6g}{kept}"
        out.print(f"{names[name]:<24}{said}")
    needed = tracks_needed(result.scenario)
    if needed > result.scenario.tracks:
        out.print(f"these tables need {counted(needed, 'track')} whatever the policy")
