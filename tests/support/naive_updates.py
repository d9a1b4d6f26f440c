"""The contract of updates read word for word: no heap, no keys, everything looked up anew.

An outside opinion on the scheduler, the driver, the policies and the partitions: slow, with
every table's whole history at hand, sharing no code with them but the records of a scenario.
"""

from __future__ import annotations

from itertools import combinations
from math import ceil, floor, inf


class Naive:
    def __init__(self, scenario):
        self.s, self.p = scenario, scenario.settings
        self.specs = scenario.tables
        self.names = [spec.name for spec in self.specs]
        self.order = {name: i for i, name in enumerate(self.names)}
        n = len(self.specs)
        self.F, self.started, self.number = [0.0] * n, [0.0] * n, [0] * n
        self.files: list[list] = [[] for _ in range(n)]  # (arrival, timestamp) with data, so far
        self.edges: list[list] = [[] for _ in range(n)]  # (instant, TE) of derived tables
        self.running = {}  # track -> (finish, table, release, start, from, to)
        self.period = [self.period_of(i) for i in range(n)]
        self.weight = [self.inherited(i) for i in range(n)]
        self.trace = []

    def sources(self, i):
        return [self.order[name] for name in self.specs[i].sources]

    def children(self, i):
        return [j for j in range(len(self.specs)) if i in self.sources(j)]

    def all_below(self, i):
        found = set()
        for child in self.children(i):
            found |= {child} | self.all_below(child)
        return found

    def all_above(self, i):
        found = set(self.sources(i))
        for source in self.sources(i):
            found |= self.all_above(source)
        return found

    def period_of(self, i):
        given = self.specs[i].period_s
        return given if given is not None else max(self.period_of(j) for j in self.all_above(i))

    def inherited(self, i):
        own = self.specs[i].priority
        if self.p.inherit == "sum":
            return own + sum(self.specs[j].priority for j in sorted(self.all_below(i)))
        if self.p.inherit == "max":
            return max([own, *(self.specs[j].priority for j in self.all_below(i))])
        if self.p.inherit == "max-plus":
            below = [self.p.inherit_factor * self.inherited(j) for j in self.children(i)]
            return max([own, *below])
        return own

    # ---- state ----

    def edge(self, i):
        if self.specs[i].sources:
            return min(self.F[j] for j in self.sources(i))
        return max([stamp for _, stamp in self.files[i]], default=0.0)

    def is_running(self, i):
        return any(entry[1] == i for entry in self.running.values())

    def pending(self, i):
        return not self.is_running(i) and self.edge(i) > self.F[i]

    def target(self, i):
        chop = self.p.chop
        if chop is None:
            return self.edge(i)
        limit = self.F[i] + chop * self.period[i]
        if self.specs[i].sources:
            return min(self.edge(i), limit)
        stamps = [stamp for _, stamp in self.files[i] if stamp > self.F[i]]
        return max([stamps[0], *(stamp for stamp in stamps if stamp <= limit)])

    def release(self, i):
        if self.specs[i].sources:
            return next(t for t, edge in self.edges[i] if edge > self.started[i])
        return next(t for t, stamp in self.files[i] if stamp > self.started[i])

    def gain(self, i):
        return self.target(i) - self.F[i]

    def cost(self, i, gain):
        return self.specs[i].alpha_s + self.specs[i].beta * gain

    def ratio(self, i, gain):
        seconds = self.cost(i, gain)
        if seconds == 0.0:
            return inf if self.weight[i] > 0 else 0.0
        return self.weight[i] * gain / seconds

    def rank(self, i):
        name = self.p.policy
        deadline = self.release(i) + self.period[i]
        rank = {
            "fifo": (self.release(i),),
            "myopic": (self.release(i),),
            "group-and-run": (self.release(i),),
            "edf": (deadline,),
            "edf-p": (-self.weight[i], deadline),
        }.get(name, (-self.ratio(i, self.gain(i)),))
        return (*rank, i)

    # ---- lookahead ----

    def expected(self, k, now):
        feed = self.s.feeds[self.names[k]]
        if feed.arrivals is None:
            j = 1
            while feed.phase_s + (j - 1) * feed.period_s <= now:
                j += 1
            return feed.phase_s + (j - 1) * feed.period_s
        if not self.files[k]:
            return inf
        date = last = self.files[k][-1][0]
        n = 0
        while date <= now:
            n += 1
            date = last + n * feed.period_s
        return date

    def looked_ahead(self, waiting, now):
        best = waiting[0]
        e_i, ratio_i = self.cost(best, self.gain(best)), self.ratio(best, self.gain(best))
        top, chosen = ratio_i, best
        others = [m for m in waiting[1:] if self.cost(m, self.gain(m)) < e_i]
        for k in range(len(self.specs)):
            if self.specs[k].sources or self.is_running(k) or self.pending(k):
                continue
            date = self.expected(k, now)
            gain = date - self.F[k]
            if self.p.chop is not None:
                gain = min(gain, max(1, self.p.chop) * self.period[k])
            if not date - now < e_i or not self.ratio(k, gain) > ratio_i:
                continue
            for size in range(1, len(others) + 1):
                for members in combinations(others, size):
                    seconds = sum(self.cost(m, self.gain(m)) for m in members)
                    if not date - now <= seconds < e_i:
                        continue
                    value = sum(self.weight[m] * self.gain(m) for m in members)
                    whole = seconds + self.cost(k, gain)
                    if (value + self.weight[k] * gain) / whole > top:
                        top = (value + self.weight[k] * gain) / whole
                        chosen = min(members, key=lambda m: (-self.ratio(m, self.gain(m)), m))
        return chosen

    # ---- partitions ----

    def may_run(self, laid, i, later, free):
        """The first free track, in the order of the partition's rule; None if there is none."""
        kind, data = laid
        if kind == "groups":
            return next((r for r in data[i] if r in free), None)
        if kind == "edf-partitioned":
            home, opened, tracks = data
            if home[i] in free:
                return home[i]
            for r in free:
                if r >= opened:
                    return r
            for r in free:
                load, emax, pmin = tracks[r]
                e = self.cost(i, self.period[i])
                fits = load + e / self.period[i] <= (
                    1 - max(emax, e) / min(pmin, self.period[i]) + 1e-9
                )
                if fits and (self.p.aggressive or all(home[m] != r for m in later)):
                    return r
            return None
        bounds, target = data
        lo, hi = bounds[i]
        for r in [*range(lo + 1, hi + 1), lo, *range(target, self.s.tracks)]:
            if r in free:
                return r
        for r in range(lo):
            wanted = any(bounds[m][0] <= r <= bounds[m][1] for m in later)
            if r in free and (self.p.aggressive or not wanted):
                return r
        return None

    def laid(self):
        if self.p.policy == "group-and-run":
            return "groups", self.groups()
        if self.p.partition == "edf-partitioned":
            return "edf-partitioned", self.homes()
        return None if self.p.partition == "none" else ("proportional", self.clusters())

    def by_period(self):
        return sorted(range(len(self.specs)), key=lambda i: (self.period[i], i))

    def groups(self):
        groups: list[list[int]] = []
        result, first = {}, 0
        for i in self.by_period():
            if groups and self.period[i] <= 2 * self.period[groups[-1][0]]:
                groups[-1].append(i)
            else:
                groups.append([i])
        for group in groups:
            size = ceil((self.s.tracks - len(groups)) * len(group) / len(self.specs))
            result.update({i: range(first, first + size) for i in group})
            first += size
        return result

    def homes(self):
        home, opened = {}, list[tuple]()
        for i in self.by_period():
            e, period = self.cost(i, self.period[i]), self.period[i]
            load, emax, pmin = opened[-1] if opened else (inf, 0.0, inf)
            joined = load + e / period, max(emax, e), min(pmin, period)
            if joined[0] <= 1 - joined[1] / joined[2] + 1e-9:
                opened[-1] = joined
            else:
                opened.append((e / period, e, period))
            home[i] = len(opened) - 1
        return home, len(opened), opened

    def clusters(self):
        e = [self.cost(i, period) for i, period in enumerate(self.period)]
        clusters: list[list[int]] = []
        for i in sorted(range(len(e)), key=lambda i: (e[i], i)):
            if clusters and e[i] < self.p.clustering * min(self.period[j] for j in clusters[-1]):
                clusters[-1].append(i)
            else:
                clusters.append([i])
        loads = [sum(e[i] / self.period[i] for i in cluster) for cluster in clusters]
        target = self.s.tracks
        if self.p.allocation == "basic":
            target = min(target, max(1, ceil(sum(loads) - 1e-9)))
        bounds, a = {}, 0.0
        for cluster, load in zip(clusters[::-1], loads[::-1], strict=True):
            b = a + (target / sum(loads)) * load
            lo = min(floor(a + 1e-9), self.s.tracks - 1)
            bounds.update(
                {i: (lo, max(lo, min(ceil(b - 1e-9) - 1, self.s.tracks - 1))) for i in cluster}
            )
            a = b
        return bounds, target

    # ---- the run ----

    def run(self):
        due = self.all_files()
        laid = self.laid()
        now = -1.0
        while True:
            times = [t for t, _, _ in due] + [entry[0] for entry in self.running.values()]
            now = min(times, default=inf)
            if now > self.s.horizon_s:
                break
            for track in sorted(self.running):
                finish, i, release, start, began, to = self.running[track]
                if finish == now:
                    del self.running[track]
                    self.F[i] = to
                    name = self.names[i]
                    self.trace.append((now, track, name, release, start, began, to))
            for i in range(len(self.specs)):
                while (first := next((d for d in due if d[1] == i), None)) and first[0] == now:
                    due.remove(first)
                    if first[2] > self.edge(i):
                        self.files[i].append((now, first[2]))
            for i in range(len(self.specs)):
                if self.specs[i].sources and (
                    not self.edges[i] or self.edges[i][-1][1] < self.edge(i)
                ):
                    self.edges[i].append((now, self.edge(i)))
            if now < self.s.horizon_s:
                self.dispatch(now, laid)
        # Stable: rounds of one instant keep their order on one track.
        return sorted(self.trace, key=lambda line: line[:2])

    def all_files(self):
        due = []
        for i, name in enumerate(self.names):
            feed = self.s.feeds.get(name)
            if feed is None:
                continue
            listed = feed.arrivals
            if listed is None:
                count = int(self.s.horizon_s / feed.period_s) + 2
                listed = [(feed.phase_s + j * feed.period_s,) * 2 for j in range(count)]
            for arrival, stamp in listed:
                moved = arrival
                while hit := [to for start, to in feed.outages if start <= moved < to]:
                    moved = max(hit)
                due.append((moved, i, stamp))
        return due

    def dispatch(self, now, laid):
        while True:
            free = [r for r in range(self.s.tracks) if r not in self.running]
            waiting = sorted((i for i in range(len(self.specs)) if self.pending(i)), key=self.rank)
            if not free or not waiting:
                return
            if self.p.policy == "lookahead":
                first = self.looked_ahead(waiting, now)
                waiting = [first, *(i for i in waiting if i != first)]
            if laid is None:
                self.start(now, waiting[0], free[0])
                continue
            again = True
            while again:
                again, left = False, []
                for place, i in enumerate(waiting):
                    track = self.may_run(laid, i, waiting[place + 1 :], free)
                    if track is None:
                        left.append(i)
                    else:
                        again = True
                        free.remove(track)
                        self.start(now, i, track)
                waiting = left
            return

    def start(self, now, i, track):
        release, to, began = self.release(i), self.target(i), self.F[i]
        self.number[i] += 1
        slow = 1.0
        if self.s.slowdown is not None:
            down = self.s.slowdown
            slow = down.factor if now % (down.normal_s + down.slow_s) >= down.normal_s else 1.0
        seconds = (self.specs[i].alpha_s + self.specs[i].beta * (to - began)) * self.s.low * slow
        self.started[i] = to
        self.running[track] = (now + seconds, i, release, now, began, to)
