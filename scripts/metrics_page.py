"""docs/reference/metrics.md: what a scrape of a run tells, by the names that are in the code."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path

from prometheus_client.core import Metric
from prometheus_client.metrics import MetricWrapperBase

from freshline.ingest.engine.metrics import GROUP_BOUNDS, LATENCY_BOUNDS_S, FeedMetrics, Histogram
from freshline.ingest.engine.metrics import Metrics as GatewayMetrics
from freshline.ingest.exposition import families
from freshline.project.load import load_project
from freshline.runtime.lineage.emitter import Lineage
from freshline.runtime.metrics.exposition import RunMetrics
from scripts.reference_texts import NOTE

_PROJECT = """\
name: shop
storage: warehouse
libraries: [{glob: {include: tables.sql}}]
feeds:
  orders_feed: {kind: files, path: feed, format: parquet}
"""
_TABLES = """\
CREATE STREAMING TABLE orders AS SELECT * FROM STREAM orders_feed;
CREATE MATERIALIZED VIEW totals AS SELECT count(*) AS n FROM orders;
"""


def metrics_page() -> str:
    """The page, from the families of a run that has not begun."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        (root / "freshline.yml").write_text(_PROJECT, encoding="utf-8")
        (root / "tables.sql").write_text(_TABLES, encoding="utf-8")
        run = RunMetrics(load_project(root, analyse=False), lambda: 0.0)
        lineage = Lineage(str, str, lambda _: None, registry=run.registry)
        labels = _labels_of([*vars(run.counts).values(), *vars(lineage).values()])
        of_run = list(run.registry.collect())
    lines = [
        "# Metrics",
        "",
        NOTE,
        "",
        "`freshline run` answers at `/metrics` of its one address: as Prometheus text, or as",
        "OpenMetrics where the scraper accepts it. Counters begin with the process unless the text",
        "says otherwise.",
        "",
        *_table(of_run, labels),
        "",
        "## The push gateway",
        "",
        "At the same address, and at that of `freshline ingest`.",
        "",
        *_table(_of_gateway(), {}),
    ]
    return "\n".join(lines) + "\n"


def _of_gateway() -> Iterable[Metric]:
    feed = FeedMetrics(0, 0, 0, 0, 0, {}, 0, 0, 0, 0.0, 0, 0, 0, 0)
    groups, commits = Histogram(GROUP_BOUNDS), Histogram(LATENCY_BOUNDS_S)
    picture = GatewayMetrics(
        {"clicks": feed}, "open", 0.0, 0, 0, 0, 0, 0, 0, groups, commits, 0, 0, 0, 0, 0.0, ()
    )
    return families(picture, {("clicks", "over-quota"): 1}, 0)


def _labels_of(instruments: Iterable[object]) -> dict[str, tuple[str, ...]]:
    """The labels of instruments, which a scrape shows only once they have counted something."""
    return {
        next(iter(each.describe())).name: tuple(getattr(each, "_labelnames", ()))
        for each in instruments
        if isinstance(each, MetricWrapperBase)
    }


def _table(found: Iterable[Metric], labels: Mapping[str, tuple[str, ...]]) -> list[str]:
    rows = sorted(_row(each, labels) for each in found)
    return ["| name | type | meaning |", "|---|---|---|", *rows]


def _row(family: Metric, labels: Mapping[str, tuple[str, ...]]) -> str:
    name = family.name + ("_total" if family.type == "counter" else "")
    known = labels.get(family.name) or getattr(family, "_labelnames", ()) or _in_samples(family)
    shown = f"`{name}{{{','.join(known)}}}`" if known else f"`{name}`"
    return f"| {shown} | {family.type} | {family.documentation.rstrip('.')} |"


def _in_samples(family: Metric) -> list[str]:
    return sorted({key for sample in family.samples for key in sample.labels if key != "le"})
