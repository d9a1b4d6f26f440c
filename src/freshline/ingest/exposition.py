"""The gateway's figures as Prometheus wants them, and as JSON for ``status``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
)
from prometheus_client.exposition import choose_encoder
from prometheus_client.registry import Collector, CollectorRegistry

from freshline.ingest.engine.metrics import FeedMetrics, Histogram, Metrics

_STATES = ("open", "memory", "disk", "commit-failed", "draining", "closed")

_FEED_COUNTERS = {
    "received_requests": "Requests with records that fit, refused later or not",
    "received_records": "Records of those requests",
    "acknowledged_requests": "Requests stored and answered, duplicates not counted",
    "acknowledged_records": "Records of those requests",
    "duplicate_requests": "Requests answered from the first time that their key was used",
    "landed_files": "Files landed",
    "landed_records": "Records landed",
}
_FEED_GAUGES = {
    "backlog_requests": "Requests in the log and not landed",
    "backlog_records": "Records in the log and not landed",
    "backlog_bytes": "Compressed bytes in the log and not landed",
    "backlog_age_s": "Age of the oldest record in the log that is not landed, in seconds",
    "memory_bytes": "Bytes of the backlog that are held in memory, too",
}
_GAUGES = {
    "land_after_s": "The age at which records are landed, in seconds",
    "memory_limit_bytes": "What may be held in memory",
    "memory_bytes": "What is held in memory",
    "memory_peak_bytes": "The most that was held in memory",
    "segments": "Files of the log",
    "log_bytes": "Bytes of the log",
    "disk_free_bytes": "Free on the log's file system",
    "recovery_s": "How long the start took, in seconds",
}
_COUNTERS = {
    "reads": "Runs of requests read back from the log",
    "writes": "Runs of requests dropped from memory, to be read back later",
    "rewritten_bytes": "Bytes dropped from memory after having been read back",
    "corrupt_rows": "Requests in the log found damaged or missing",
}


def exposition(
    metrics: Metrics,
    refused: Mapping[tuple[str, str], int],
    request_bytes: int,
    accept: str = "",
) -> tuple[bytes, str]:
    """The text that a scrape gets, and its content type: OpenMetrics where that is accepted.

    Args:
        metrics: The engine's.
        refused: What the interface refused, by (feed, code), the engine's refusals included.
        request_bytes: Of bodies that are being read or checked.
        accept: The request's Accept header; empty where it has none.
    """
    registry = CollectorRegistry(auto_describe=False)
    registry.register(Picture(lambda: families(metrics, refused, request_bytes)))
    encode, content_type = choose_encoder(accept)
    return encode(registry), content_type


class Picture(Collector):
    """Metrics that are read when they are asked for.

    Args:
        read: The families of now.
    """

    def __init__(self, read: Callable[[], Iterable[Metric]]) -> None:
        self._read = read

    def collect(self) -> Iterable[Metric]:
        """The families of now."""
        return self._read()


def families(
    metrics: Metrics, refused: Mapping[tuple[str, str], int], request_bytes: int
) -> Iterator[Metric]:
    """What a scrape tells of the gateway; arguments as for :func:`exposition`."""
    for name, text in _FEED_COUNTERS.items():
        yield _by_feed(CounterMetricFamily, name, text, metrics.feeds)
    rejected = CounterMetricFamily(
        "freshline_ingest_rejected_requests", "Requests not stored", labels=("feed", "reason")
    )
    for (feed, code), count in sorted(refused.items()):
        rejected.add_metric((feed, code), count)
    yield rejected
    for name, text in _FEED_GAUGES.items():
        yield _by_feed(GaugeMetricFamily, name, text, metrics.feeds)
    for name, text in _GAUGES.items():
        yield GaugeMetricFamily(_named(name), text, value=getattr(metrics, name))
    for name, text in _COUNTERS.items():
        yield CounterMetricFamily(_named(name), text, value=getattr(metrics, name))
    yield GaugeMetricFamily(
        "freshline_ingest_request_bytes", "Bytes of bodies being read", value=request_bytes
    )
    state = GaugeMetricFamily(
        "freshline_ingest_state", "1 for the state that it is in", labels=("state",)
    )
    for each in _STATES:
        state.add_metric((each,), float(each == metrics.state))
    yield state
    yield _histogram("group_requests", "Requests in a commit", metrics.group_requests)
    yield _histogram("commit_s", "Seconds of a commit", metrics.commit_s)


def _named(name: str) -> str:
    """Prometheus' own units: seconds are spelled out."""
    return f"freshline_ingest_{name[:-2] + '_seconds' if name.endswith('_s') else name}"


def _by_feed(
    kind: type[CounterMetricFamily | GaugeMetricFamily],
    name: str,
    text: str,
    feeds: Mapping[str, FeedMetrics],
) -> Metric:
    shown = "backlog_memory_bytes" if name in _GAUGES else name  # one family has one name
    family = kind(_named(shown), text, labels=("feed",))
    for feed, values in feeds.items():
        family.add_metric((feed,), getattr(values, name))
    return family


def _histogram(name: str, text: str, histogram: Histogram) -> Metric:
    buckets: list[tuple[str, float]] = []
    below = 0
    for bound, count in zip((*histogram.bounds, None), histogram.counts, strict=True):
        below += count
        buckets.append(("+Inf" if bound is None else str(float(bound)), below))
    family = HistogramMetricFamily(_named(name), text)
    family.add_metric((), buckets, histogram.total)
    return family


def metrics_record(metrics: Metrics, refused: Mapping[tuple[str, str], int]) -> dict[str, Any]:
    """The same for ``status --json``: names as in :class:`Metrics`."""
    by_feed: dict[str, Counter[str]] = {}
    for (feed, code), count in sorted(refused.items()):
        by_feed.setdefault(feed, Counter())[code] += count
    every: Counter[str] = Counter()
    for counts in by_feed.values():
        every += counts
    return {
        "state": metrics.state,
        **{name: getattr(metrics, name) for name in (*_GAUGES, *_COUNTERS)},
        "rejected": dict(every),
        "group_requests": _quantiles(metrics.group_requests),
        "commit_s": _quantiles(metrics.commit_s),
        "messages": list(metrics.messages),
        "feeds": {
            name: {
                **{key: getattr(feed, key) for key in (*_FEED_COUNTERS, *_FEED_GAUGES)},
                "last": feed.last,
                "newest_s": feed.newest_s,
                "rejected": dict(by_feed.get(name, {})),
            }
            for name, feed in metrics.feeds.items()
        },
    }


def _quantiles(histogram: Histogram) -> dict[str, float | None]:
    mean = histogram.total / histogram.number if histogram.number else None
    return {
        "count": histogram.number,
        "mean": mean,
        "p50_at_most": histogram.quantile(0.5),
        "p99_at_most": histogram.quantile(0.99),
    }
