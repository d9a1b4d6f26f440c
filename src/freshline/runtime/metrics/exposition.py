"""The answer to a scrape: text, or OpenMetrics where the scraper accepts it."""

from __future__ import annotations

from collections.abc import Callable

from prometheus_client import CollectorRegistry
from prometheus_client.exposition import choose_encoder
from prometheus_client.registry import Collector

from freshline.project.model import Project
from freshline.runtime.metrics.counts import RunCounts
from freshline.runtime.metrics.standing import Standing


class RunMetrics:
    """All metrics of one run.

    Args:
        project: What is run.
        clock: Wall-clock seconds since the epoch.
        leads: Whether the run has the storage's lease; by the lock where it is not given.

    Attributes:
        counts: The observer to tell what happens in the run.
        registry: For what else is counted in this process.
    """

    def __init__(
        self,
        project: Project,
        clock: Callable[[], float],
        leads: Callable[[], bool] | None = None,
    ) -> None:
        self.registry = CollectorRegistry(auto_describe=False)
        self.counts = RunCounts(self.registry, [table.name for table in project.tables])
        self.registry.register(Standing(project, clock, leads))

    def add(self, collector: Collector) -> None:
        """Answer with these metrics, too: the push gateway's."""
        self.registry.register(collector)

    def scraped(self, accept: str) -> tuple[bytes, str]:
        """The answer and its content type.

        Args:
            accept: The request's Accept header; empty where it has none.

        Raises:
            PlatformError: The journal cannot be read.
        """
        encode, content_type = choose_encoder(accept)
        return encode(self.registry), content_type
