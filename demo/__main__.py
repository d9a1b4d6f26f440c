"""``python -m demo``: a warehouse under more load than it can carry, killed and checked."""

from __future__ import annotations

import argparse
import json
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

from demo import data, schedule, show, topics
from demo.broker import Broker
from demo.check import Verdict, check
from demo.commits import Commit, commits
from demo.measure import staleness
from demo.places import DemoError, Places
from demo.processes import Warehouse, freshline, interrupted, show_status, start_producer
from demo.queries import Query, read_queries
from demo.settled import behind

_HISTORY = 0.8
"""Share of the days that come with the first file of each feed: what a shop has already."""
_KILL_AT = 0.5
"""Share of the releases' time after which the warehouse is killed: amid the flood."""
_KILL_AFTER_COMMITS = 10
"""But not before it has done this much, however slow the machine."""
_STUCK_S = 240.0
"""A warehouse that lacks something and commits nothing for so long does not catch up."""
_VERIFIED = ("revenue_by_day", "large_orders", "pricing_summary")
_VERSIONS = 3
"""All versions of all tables would take longer than the rest of the demo."""
_STORY_OF = "revenue_by_day"


def main() -> int:
    """Run the demo; exit status 1 where a table is not what its query says."""
    parser = argparse.ArgumentParser(prog="python -m demo", description=__doc__)
    parser.add_argument("--scale", type=float, default=0.2, help="TPC-H's scale factor (0.2)")
    parser.add_argument("--seconds", type=float, default=80.0, help="how long files arrive (80)")
    parser.add_argument("--out", type=Path, default=Path("demo-out"), help="emptied at the start")
    parser.add_argument("--feed", choices=("files", "kafka"), default="files", help="(files)")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    demo = Demo(
        Places(options.out.absolute()), options.scale, options.seconds, options.feed == "kafka"
    )
    try:
        return demo.run()
    except DemoError as error:
        show.paragraph(f"[red]{error}[/red]")
        return 1
    except KeyboardInterrupt:
        return 1
    finally:
        demo.clean_up()


class Demo:
    """One run, act by act.

    Args:
        places: Its folders.
        scale: TPC-H's scale factor.
        seconds: How long files are released.
        kafka: Their rows go to topics of a broker.
    """

    def __init__(self, places: Places, scale: float, seconds: float, kafka: bool) -> None:  # noqa: FBT001 - from the command line
        self._places = places
        self._scale = scale
        self._seconds = seconds
        self._kafka = kafka
        self._broker: Broker | None = None
        self._warehouse = Warehouse(places.project)
        self._producer: subprocess.Popen[bytes] | None = None
        self._queries: list[Query] = []
        self._rows: dict[str, int] = {}
        self._start_s = 0.0
        self._killed_s = 0.0

    def run(self) -> int:
        """All acts; the exit status."""
        began_s = time.monotonic()
        self._prepare()
        self._flood()
        self._kill()
        self._recover()
        self._freshness()
        self._story()
        wrong = [verdict.table for verdict in self._check() if verdict.fault is not None]
        wrong += self._verify()
        show.paragraph(
            f"That took {time.monotonic() - began_s:.0f} s. Everything is in"
            f" {self._places.root}; look around with"
            f" `freshline status --project {self._places.project}`, or open the web page that"
            f" `freshline ui --project {self._places.project}` serves."
        )
        return 1 if wrong else 0

    def clean_up(self) -> None:
        """Leave no process behind, however impatient somebody is."""
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        self._warehouse.kill()
        if self._producer is not None and self._producer.poll() is None:
            self._producer.kill()
            self._producer.wait()
        if self._broker is not None:
            self._broker.stop()

    # ---- the acts ----

    def _prepare(self) -> None:
        show.heading("1. Data")
        places = self._places
        places.start_afresh()
        planned = schedule.releases(self._seconds)
        schedule.save(planned, places.plan)
        data.generate(places, self._scale)
        data.write_static_tables(places)
        self._rows = data.cut(places, len(planned) // 2, history=_HISTORY)
        if self._kafka:
            self._broker = Broker(places.root / "kafka")
            topics.declare(places, self._broker)
        self._queries = read_queries(places.project / "tables")
        views = sum(not query.base for query in self._queries)
        show.paragraph(
            f"TPC-H at scale factor {self._scale:g}: {self._rows['orders']:,} orders with"
            f" {self._rows['lineitem']:,} lineitems, cut into {len(planned)} feed files by order"
            f" date, the first of each feed with {_HISTORY:.0%} of the days"
            f"{', sent as records to two topics of a Kafka broker' if self._kafka else ''}."
            " Customer, supplier, part, nation and region are static Delta tables."
        )
        show.paragraph(
            f"The project (demo/project) wants {len(self._queries)} tables: one base table for"
            f" each feed and {views} views over them, joins and rollups of rollups among them,"
            " with priorities from 1 to 10."
        )

    def _flood(self) -> None:
        show.heading("2. The flood")
        flood_s = self._seconds * schedule.FLOOD_SHARE
        updates = len(self._queries) / schedule.FLOOD_EVERY_S
        show.paragraph(
            f"A producer (a process of its own) now releases two files every"
            f" {schedule.FLOOD_EVERY_S} s, for {flood_s:.0f} s. To bring every table up to date"
            f" with each of them would take {updates:.0f} updates a second; two tracks make a"
            " few. So `freshline run` has to choose. It starts now, with Spark. Open the web page"
            " whose address it says first, to see which table is late and why:"
        )
        show.console.print()
        self._start_s = time.time()
        servers = self._broker.servers if self._broker is not None else None
        self._producer = start_producer(self._places, self._start_s, servers)
        self._warehouse.start()
        self._wait_until(self._start_s + self._seconds * _KILL_AT)
        while sum(map(len, self._logs())) < _KILL_AFTER_COMMITS:
            self._wait_until(time.time() + 0.5)

    def _kill(self) -> None:
        self._warehouse.kill()
        self._killed_s = time.time()
        torn = interrupted(self._places)
        amid = f"in the middle of updating {' and '.join(torn)}" if torn else "between two updates"
        show.heading("3. SIGKILL")
        show.paragraph(
            f"{self._killed_s - self._start_s:.0f} s after the start, {amid}, the warehouse was"
            " killed with all of its processes: no chance to tidy up. Files keep arriving. What"
            " `freshline status` says, without Spark:"
        )
        show.console.print()
        show_status(self._places.project)

    def _recover(self) -> None:
        show.heading("4. It starts again")
        trickle_s = self._start_s + self._seconds * schedule.FLOOD_SHARE
        at = f"{show.clock(trickle_s)} UTC"
        since = f"From {at} on," if trickle_s > time.time() else f"Since {at}"
        show.paragraph(
            "What was committed is in the Delta logs, and the logs decide; everything else is done"
            f" again. {since} a pair of files comes only every {schedule.TRICKLE_EVERY_S:.0f} s,"
            " and the warehouse catches up:"
        )
        show.console.print()
        self._warehouse.start()
        assert self._producer is not None
        while self._producer.poll() is None:
            self._wait_until(time.time() + 0.2)
        if self._producer.returncode:
            raise DemoError("the producer failed")
        late = self._settle()
        status = self._warehouse.stop()
        if status:
            raise DemoError(f"`freshline run` ended with exit status {status} after SIGTERM")
        if late:
            show.paragraph(f"[red]It has not caught up: {', '.join(late)}[/red]")

    def _settle(self) -> list[str]:
        """Wait until nothing is behind, or nothing happens any more; the tables behind."""
        done, done_s = 0, time.time()
        while late := behind(self._places, self._queries):
            commits_now = sum(map(len, self._logs()))
            if commits_now > done:
                done, done_s = commits_now, time.time()
            elif time.time() - done_s > _STUCK_S:
                break
            self._wait_until(time.time() + 1.0)
        return late

    def _freshness(self) -> None:
        show.heading("5. How fresh the tables were")
        logs = self._logs()
        end_s = max((log[-1].at_s for log in logs if log), default=time.time())
        measured = [staleness(log, self._start_s, end_s) for log in logs]
        show.paragraph(
            "From the Delta logs, over the"
            f" {end_s - self._start_s:.0f} s from the first file to the last update, the kill and"
            " both starts of Spark included. Staleness is now minus freshness: the age of the"
            " oldest data that a table may lack. Updates went where priority times the gain in"
            " freshness a second of work was largest."
        )
        rows = list(zip(self._queries, logs, measured, strict=True))
        show.freshness_table(rows, end_s)
        before = sum(commit.at_s < self._killed_s for log in logs for commit in log)
        weighted_s2 = sum(q.priority * stale.area_s2 for q, _, stale in rows)
        mean_s = weighted_s2 / sum(query.priority for query in self._queries)
        mean_s /= end_s - self._start_s
        loaded = sum(commit.rows for q, log, _ in rows if q.base for commit in log)
        ways = Counter(commit.strategy for q, log, _ in rows if not q.base for commit in log[1:])
        show.paragraph(
            f"{sum(map(len, logs))} updates, {before} of them before the kill at"
            f" {show.clock(self._killed_s)} UTC; {loaded:,} rows loaded from feeds. Weighted"
            f" staleness (sum of priority x integral): {weighted_s2:,.0f} s2, that is a mean of"
            f" {mean_s:.1f} s, weighted by priority."
            f" Of {ways.total()} updates of views after their first, {ways.total() - ways['full']}"
            f" were made from changes, {ways['full']} in full, where that was quicker or had to be."
        )

    def _story(self) -> None:
        show.heading(f"6. Why {_STORY_OF} was updated when it was")
        show.paragraph(f"`freshline story {_STORY_OF} --last 3`:")
        show.story(freshline(self._places.project, "story", _STORY_OF, "--last", "3"))

    def _check(self) -> list[Verdict]:
        show.heading("7. Is it right?")
        show.paragraph(
            "DuckDB computes every table again: a base table's query over all feed files, a"
            " view's over exactly the parents' versions that its newest commit records (name@"
            "version). Rows are compared as multisets, exactly; floating-point columns to 1e-9."
        )
        found = list(check(self._places.project))
        show.verdicts(found)
        for verdict in found:
            generated = self._rows.get(verdict.table, verdict.rows)
            if verdict.fault is None and verdict.rows != generated:
                raise DemoError(f"{verdict.table} has {verdict.rows} rows of {generated}")
        wrong = sum(verdict.fault is not None for verdict in found)
        show.paragraph(
            f"[red]{wrong} of {len(found)} tables are not what their queries say.[/red]"
            if wrong
            else f"[green]All {len(found)} tables equal their queries[/green]: after the kill,"
            " each of the"
            f" {sum(self._rows.values()):,} rows generated is in its base table exactly once."
        )
        return found

    def _verify(self) -> list[str]:
        """Every version of every table, by freshline itself; the tables with wrong ones."""
        show.heading("8. Was it always right?")
        show.paragraph(
            f"`freshline verify {' '.join(_VERIFIED)} --versions {_VERSIONS}` has Spark compute"
            f" the newest {_VERSIONS} versions of each from what their commits name:"
        )
        told = freshline(
            self._places.project, "verify", *_VERIFIED, "--versions", str(_VERSIONS), "--json"
        )
        tables = json.loads(told)["tables"]
        checked = sum(len(each["checked"]) for each in tables.values())
        wrong = [name for name, each in tables.items() if each["wrong"]]
        reasons = {why for each in tables.values() for why in each["skipped"].values()}
        skipped = sum(len(each["skipped"]) for each in tables.values())
        show.paragraph(
            f"[red]Of {checked} versions some of {', '.join(wrong)} are wrong.[/red]"
            if wrong
            else f"[green]All {checked} versions equal their queries.[/green]"
        )
        if skipped:
            show.paragraph(f"{skipped} were not verified: {'; '.join(sorted(reasons))}.")
        return wrong

    def _logs(self) -> list[list[Commit]]:
        """The commits of each table, in the order of the queries."""
        return [commits(self._places.warehouse / query.table) for query in self._queries]

    def _wait_until(self, moment_s: float) -> None:
        """Sleep, watching that the warehouse runs."""
        while (left_s := moment_s - time.time()) > 0.0:
            self._warehouse.must_run()
            time.sleep(min(0.2, left_s))


if __name__ == "__main__":
    sys.exit(main())
