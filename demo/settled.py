"""Whether the warehouse has caught up: by the Delta logs and the feeds, not by its own word."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import yaml

from demo import topics
from demo.check import complete_files
from demo.commits import Commit, commits, newest_news
from demo.places import Places
from demo.queries import Query


def behind(places: Places, queries: Sequence[Query]) -> list[str]:
    """The tables that lack something: a feed file, or a newer version of a parent."""
    logs = {query.table: commits(places.warehouse / query.table) for query in queries}
    return [query.table for query in queries if _is_behind(query, logs, places)]


def _is_behind(query: Query, logs: Mapping[str, Sequence[Commit]], places: Places) -> bool:
    log = logs[query.table]
    if not log:
        return True
    if query.base and any(commit.offsets for commit in log):
        feeds = yaml.safe_load((places.project / "freshline.yml").read_text())["feeds"]
        feed = feeds[query.reads[0]]
        return topics.fault(log, topics.ends(feed["servers"], feed["topic"])) is not None
    if query.base:
        loaded = {file for commit in log for file in commit.files}
        feed = places.feed / query.table
        return any(file.name not in loaded for file in complete_files(feed))
    pins = log[-1].parents
    return any(pins.get(name, -1) < newest_news(logs[name]) for name in query.reads if name in logs)
