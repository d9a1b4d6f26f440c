"""The adaptive update scheduler as the paper's text says it: exact fractions, no heaps.

A second implementation to compare the product with. It looks at every table at every
instant, keeps all updates ever released, and knows when a table first was not fresh, so
that equation (4) can be written down as it is printed.
"""

from __future__ import annotations

from fractions import Fraction

NEVER = Fraction(10**18)


def exact(value):
    """The number that a decimal literal means."""
    return Fraction(str(value))


class Update:
    def __init__(self, release, deadline, mode):
        self.release, self.deadline, self.mode = release, deadline, mode
        self.start = self.finish = None
        self.track = self.begin = self.to = None


class NaiveTable:
    def __init__(self, spec, order):
        self.name, self.order = spec["name"], order
        self.sources = spec.get("sources", [])
        self.period = exact(spec["period"])
        self.phase = exact(spec.get("phase", spec["period"]))
        self.alpha, self.beta = exact(spec.get("alpha", 0)), exact(spec.get("beta", 0))
        self.wcet = exact(spec["wcet"]) if "wcet" in spec else None
        self.recovery_period = exact(spec["recovery_period"]) if "recovery_period" in spec else None
        self.e = self.u = Fraction(0)
        self.threshold = exact(spec["recovery_threshold"])
        self.files = [] if self.sources else self.feed(spec)
        self.F = self.TE = Fraction(0)
        self.pending = []
        self.updates = []
        self.mode = "normal"
        self.fixed = None
        self.reweighted_while_running = False
        self.stale_since = None
        self.back_to_normal = NEVER
        self.returned = None

    def feed(self, spec):
        if "arrivals" in spec:
            return [(exact(arrival), exact(stamp)) for arrival, stamp in spec["arrivals"]]
        outages = sorted((exact(a), exact(b)) for a, b in spec.get("outages", []))
        files, due = [], self.phase
        while due <= 5000:
            arrival = due
            for start, end in outages:
                if start <= arrival < end:
                    arrival = end
            files.append((arrival, due))
            due += self.period
        return files

    @property
    def last(self):
        return self.updates[-1] if self.updates else None

    @property
    def running(self):
        return self.last is not None and self.last.start is not None and self.last.finish is None

    @property
    def unstarted(self):
        return self.last is not None and self.last.start is None

    @property
    def fresh(self):
        return self.TE <= self.F

    def p(self):
        return self.period if self.mode == "normal" else self.recovery_period

    def next_release(self):
        """r of the next update; None while none is to be released."""
        if self.running or self.unstarted or self.fresh:
            return None
        if self.fixed is not None:
            return self.fixed
        last = self.last
        if last is not None and self.stale_since <= max(last.deadline, last.finish):
            return last.deadline
        return self.stale_since


class NaiveAus:
    """Plays a scenario given as a dictionary; every table has a threshold."""

    def __init__(self, scenario):
        self.tables = [NaiveTable(spec, order) for order, spec in enumerate(scenario["tables"])]
        self.by_name = {table.name: table for table in self.tables}
        self.horizon = exact(scenario["horizon"])
        self.tracks: list[NaiveTable | None] = [None] * scenario.get("tracks", 1)
        self.m = len(self.tracks)
        self.switches, self.trace = [], []
        recovery = scenario["recovery"]
        high = exact(scenario.get("execution", {}).get("high", 1))
        self.multiplier = high  # low and high are the same here
        for table in self.tables:
            nominal = table.alpha + table.beta * table.period
            table.e = nominal * (high if recovery == "worst" else 1)
            if table.wcet is not None:
                table.e = table.wcet
            table.u = table.e / table.period
        load = sum(table.u for table in self.tables)
        for table in self.tables:
            if recovery in ("average", "worst"):
                fastest = table.period
                if load < self.m:
                    fastest = table.e / min(Fraction(1), self.m - load + table.u)
                table.recovery_period = min(max(table.e, fastest), table.period)
            elif recovery == "simultaneous":
                wished = table.period * load / self.m
                table.recovery_period = min(max(table.e, wished), table.period)

    def share(self, table, mode):
        return table.e / (table.period if mode == "normal" else table.recovery_period)

    def run(self):
        while True:
            now = min(
                [file[0] for table in self.tables for file in table.files[:1]]
                + [self.end(table) for table in self.tables if table.running]
                + [table.back_to_normal for table in self.tables]
                + [r for table in self.tables if (r := table.next_release()) is not None]
            )
            if now > self.horizon:
                return self
            self.instant(now)

    def end(self, table):
        update = table.last
        seconds = table.alpha + table.beta * (update.to - update.begin)
        return update.start + seconds * self.multiplier

    def instant(self, now):
        finished = [t for t in self.tables if t.running and self.end(t) <= now]
        for table in sorted(finished, key=lambda t: t.last.track):
            self.finish(table, now)
        arrived = self.arrive(now)
        for table in finished:
            self.judge(table, now)
        returned = self.returns(now)
        if finished or arrived or returned:
            self.switch(now)
        for table in self.tables:
            r = table.next_release()
            if r is not None and r <= now:
                table.updates.append(Update(r, r + table.p(), table.mode))
                table.fixed = None
        if now < self.horizon:
            self.dispatch(now)

    def arrive(self, now):
        """Files, then the trailing edges of derived tables; whether a file brought something."""
        arrived = False
        for table in self.tables:
            while table.files and table.files[0][0] <= now:
                _, stamp = table.files.pop(0)
                if stamp > table.TE:
                    arrived = True
                    table.TE = stamp
                    table.pending.append(stamp)
        for table in self.tables:
            if table.sources:
                table.TE = min(self.by_name[name].F for name in table.sources)
            if table.fresh:
                table.stale_since = None
            elif table.stale_since is None:
                table.stale_since = now
        return arrived

    def finish(self, table, now):
        update = table.last
        update.finish = now
        table.F = update.to
        table.stale_since = None
        self.tracks[update.track] = None
        self.trace.append((table.name, update))

    def judge(self, table, now):
        """RN, or what (vi) and (vii) say of an update that has finished."""
        update = table.last
        if table.fresh:
            table.fixed = None
            if table.mode == "recovery":
                table.back_to_normal = max(now, update.deadline)
        elif table.reweighted_while_running:
            if update.finish >= update.deadline:
                table.fixed = update.deadline
            else:
                q = table.recovery_period / table.period
                table.fixed = now * (1 - q) + update.release * q + table.recovery_period
        table.reweighted_while_running = False

    def returns(self, now):
        done = [table for table in self.tables if table.back_to_normal <= now]
        for table in done:
            table.mode, table.back_to_normal, table.returned = "normal", NEVER, now
            self.switches.append((now, table.name, "normal"))
        return bool(done)

    def switch(self, now):
        wanting = [
            table
            for table in self.tables
            if table.mode == "normal"
            and table.returned != now
            and table.threshold < table.TE - table.F
        ]
        wanting.sort(key=lambda t: (self.share(t, "recovery") - t.u, t.order))
        for table in wanting:
            shares = sum(self.share(other, other.mode) for other in self.tables)
            if shares - table.u + self.share(table, "recovery") > self.m + Fraction(1, 10**9):
                return
            table.mode = "recovery"
            self.switches.append((now, table.name, "recovery"))
            self.reweight(table, now)

    def reweight(self, table, now):
        update, p_r = table.last, table.recovery_period
        if update is None:  # (i)
            table.fixed = now
        elif table.running:
            if update.deadline <= now:  # (v)
                table.fixed = now
            else:  # (vi), (vii)
                table.reweighted_while_running = True
        elif update.deadline <= now:  # (ii)
            table.fixed = now
        elif update.deadline - now > p_r:  # (iv); (iii) changes nothing
            update.deadline = now + p_r
            if table.unstarted:
                update.release, update.mode = now, "recovery"

    def dispatch(self, now):
        while None in self.tracks:
            ready = [table for table in self.tables if table.unstarted]
            if not ready:
                return
            table = min(ready, key=lambda t: (t.last.deadline, t.order))
            update = table.last
            update.start, update.track = now, self.tracks.index(None)
            self.tracks[update.track] = table
            update.begin = table.F
            if table.sources:
                update.to = table.F + min(table.TE - table.F, table.period)
            else:
                update.to = table.pending.pop(0)

    def lines(self):
        """The trace by (finish, track), as dictionaries."""
        order = sorted(self.trace, key=lambda item: (item[1].finish, item[1].track))
        return [
            {
                "table": name,
                "track": update.track,
                "release": float(update.release),
                "start": float(update.start),
                "finish": float(update.finish),
                "from": float(update.begin),
                "to": float(update.to),
                "mode": update.mode,
            }
            for name, update in order
        ]
