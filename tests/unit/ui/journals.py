"""A project on disk and a journal of any size, as if it had run: for speed, sizes and looks.

python -m tests.unit.ui.journals DIR [TABLES] [UPDATES]
"""

from __future__ import annotations

import json
import random
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

from freshline.project.load import load_project
from freshline.project.model import Project
from freshline.runtime.journal.paths import journal_path
from freshline.runtime.journal.store import Journal

TRACKS = 3
_STRATEGIES = {"base": "append", "derived": "merge"}
_UPDATE = """INSERT INTO updates (id, run, table_name, number, attempt, track, release_s, start_s,
 finish_s, from_s, to_s, expected_s, seconds, rows, rejected_rows, version, strategy, reason, state,
 error, score, passed_over, files, parents, full)
 VALUES (?,1,?,?,1,?,?,?,?,?,?,?,?,?,0,?,?,?,?,?,?,?,?,?,0)"""


@dataclass
class _Table:
    name: str
    parents: list[_Table]
    period_s: float
    seconds: float
    fresh_s: float
    number: int = 0
    version: int = -1
    seen_s: float = 0.0
    busy: bool = False
    children: list[_Table] = field(default_factory=list)

    def available_s(self, now_s: float) -> float:
        """Up to when data could be loaded now."""
        if self.parents:
            return min(each.fresh_s for each in self.parents)
        return now_s - now_s % self.period_s - 1.0


def write_project(root: Path, tables: int, seed: int = 1) -> Project:
    """A project of so many tables: a fifth are loaded from feeds, the others are views."""
    chance = random.Random(seed)
    bases = max(1, tables // 5)
    feeds, sql = [], []
    for number in range(bases):
        feeds.append(
            f'  feed_{number}: {{kind: files, path: feed/{number}, format: csv, schema: "id BIGINT,'
            f' at TIMESTAMP, v BIGINT", period: {chance.choice((5, 10, 30, 60))} seconds}}\n'
        )
        sql.append(
            f"CREATE STREAMING TABLE base_{number}\n  TBLPROPERTIES ('freshline.target_lag' ="
            f" '2 minutes')\n  AS SELECT id, at, v FROM STREAM feed_{number};\n"
        )
    names = [f"base_{number}" for number in range(bases)]
    for number in range(tables - bases):
        recent = names[-max(8, bases) :] if number % 3 else names[:bases]
        parents = chance.sample(recent, min(len(recent), chance.choice((1, 1, 2))))
        lag = chance.choice(("30 seconds", "1 minute", "5 minutes", "1 hour"))
        joined = parents[0] + "".join(f" JOIN {each} USING (id)" for each in parents[1:])
        sql.append(
            f"CREATE MATERIALIZED VIEW view_{number}\n  TBLPROPERTIES ('freshline.target_lag' ="
            f" '{lag}', 'freshline.priority' = '{chance.randint(1, 9)}')\n"
            f"  AS SELECT id, count(*) AS n FROM {joined} GROUP BY id;\n"
        )
        names.append(f"view_{number}")
    (root / "tables").mkdir(parents=True, exist_ok=True)
    (root / "freshline.yml").write_text(
        "name: shop\nstorage: warehouse\nlibraries:\n  - glob: {include: tables/**/*.sql}\n"
        f"scheduler: {{tracks: {TRACKS}, policy: index}}\nserver: {{port: 0}}\n"
        f"feeds:\n{''.join(feeds)}"
    )
    (root / "tables" / "all.sql").write_text("\n".join(sql))
    return load_project(root, root, analyse=False)


def write_journal(project: Project, updates: int, end_s: float, seed: int = 1) -> None:
    """A journal in which ``project`` ran until ``end_s`` and made so many updates."""
    chance = random.Random(seed)
    made: dict[str, _Table] = {}
    for table in project.tables:
        period_s = project.feeds[table.feed].period_s if table.feed else 0.0
        made[table.name] = _Table(
            table.name,
            [made[each] for each in table.parents],
            period_s or 30.0,
            chance.uniform(0.2, 0.8) * 60.0 * TRACKS / len(project.tables),
            0.0,
        )
    mean_s = sum(each.seconds for each in made.values()) / len(made)
    begin_s = end_s - updates * mean_s / TRACKS * 1.3
    for each in made.values():
        each.fresh_s = each.seen_s = begin_s - 20.0
    rows = list(_played(made, updates, begin_s, chance))
    last_s = max(row[6] or row[5] for row in rows)
    shift_s = end_s - last_s
    journal = Journal(journal_path(project), create=True)
    settings = {
        "start_s": begin_s + shift_s,
        "scheduler": {"tracks": TRACKS},
        "specs": [],
        "first_instant": 1,
    }
    journal.write(
        "INSERT INTO runs (id, pid, started_s, ready_s, stopped_s, setting) VALUES (1,1,?,?,?,?)",
        (begin_s + shift_s, begin_s + shift_s + 5.0, end_s, json.dumps(settings)),
    )
    times = (4, 5, 6, 7, 8)  # release, start, finish, from, to
    for row in rows:
        moved = [
            value + shift_s if place in times and value is not None else value
            for place, value in enumerate(row)
        ]
        journal.write(_UPDATE, moved)
    for table in project.tables:
        each = made[table.name]
        journal.put(
            "tables", {"name": table.name}, kind=table.kind, freshness_s=each.fresh_s + shift_s,
            trailing_edge_s=each.available_s(last_s) + shift_s, version=each.version,
            number=each.number, updates=each.number, alpha_s=each.seconds, beta=0.0,
            priority=table.priority, period_s=each.period_s,
            since_s=_waits_since_s(each, last_s, shift_s),
        )  # fmt: skip
    for feed in project.feeds.values():
        journal.put(
            "feeds", {"name": feed.name}, last_s=end_s - chance.uniform(0.0, 20.0),
            period_s=feed.period_s, jitter_s=1.0,
        )  # fmt: skip
        for ago_s in (5_000.0, 2_000.0) if chance.random() < 0.3 else ():
            journal.write(
                "INSERT INTO gaps (feed, from_s, to_s) VALUES (?,?,?)",
                (feed.name, end_s - ago_s, end_s - ago_s + chance.uniform(60.0, 900.0)),
            )
    assert journal.flush()
    journal.close()


def _waits_since_s(table: _Table, last_s: float, shift_s: float) -> float | None:
    """When the work that waits at the end arrived; None: there is none."""
    ahead = table.available_s(last_s) > table.fresh_s
    return max(table.available_s(last_s), table.seen_s) + shift_s if ahead else None


def _played(made, updates, now_s, chance):
    free_s = [now_s] * TRACKS
    tables = list(made.values())
    for number in range(1, updates + 1):
        track = min(range(TRACKS), key=lambda each: free_s[each])
        now_s = free_s[track]
        waiting = [
            (ahead_s, each)
            for each in chance.sample(tables, min(len(tables), 40))
            if (ahead_s := each.available_s(now_s) - each.fresh_s) > 0.0
        ]
        waiting.sort(key=lambda item: -item[0])
        if not waiting:
            free_s[track] = now_s + 1.0
            waiting = [(0.0, chance.choice(tables))]
        _, table = waiting[0]
        seconds = table.seconds * chance.uniform(0.7, 1.5)
        to_s = max(table.fresh_s, table.available_s(now_s))
        release_s = min(now_s, max(table.seen_s, to_s + 1.0))
        table.number += 1
        failed = chance.random() < 0.004
        over = [[each.name, f"index {gain:.1f}"] for gain, each in waiting[1:4]]
        finish_s = now_s + seconds
        kind = "derived" if table.parents else "base"
        if not failed:
            table.version += 1
        yield (
            number, table.name, table.number, track, release_s, now_s, finish_s, table.fresh_s,
            to_s, table.seconds, seconds, chance.randint(1, 5000),
            None if failed else table.version, None if failed else _STRATEGIES[kind],
            None if failed else "loads what arrived", "failed" if failed else "done",
            "[made-up] the disk was slow" if failed else None,
            f"index {waiting[0][0]:.1f}: priority 1, {waiting[0][0]:.3f} s of new data",
            json.dumps(over), 1 if kind == "base" else 0,
            json.dumps({each.name: each.version for each in table.parents}),
        )  # fmt: skip
        if not failed:
            table.fresh_s = to_s
            table.seen_s = finish_s
        free_s[track] = finish_s


if __name__ == "__main__":
    where = Path(sys.argv[1])
    shop = write_project(where, int(sys.argv[2]) if len(sys.argv) > 2 else 40)
    write_journal(shop, int(sys.argv[3]) if len(sys.argv) > 3 else 2000, time.time())
