"""What the soak does to a warehouse: each fault begins, lasts, and is over."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import time
from collections.abc import Callable

from tests.soak.running import Run
from tests.soak.shop import BASES, Place
from tests.support.small_disk import fill

_POINTS = (
    "journal.before_commit", "journal.after_commit", "files.before_journal", "files.after_journal",
    "base.before_data", "base.after_data", "base.before_commit", "base.after_commit",
    "update.before_journal", "update.after_journal", "journal.before_start",
    "journal.after_start", "recovery.before_table", "recovery.after_table", "fold.before",
    "fold.draft", "fold.after", "vacuum.before", "vacuum.after",
)  # fmt: skip
_HOUR_S = 3600.0


class Faults:
    """The faults of one soak, chosen by its seed.

    Args:
        shop: To be hurt.
        run: Its process.
        chance: The seed's.
        whole_disk: The storage is a file system of its own, which may be filled.
        spark: There is a JVM to be hurt.
    """

    def __init__(
        self, shop: Place, run: Run, chance: random.Random, *, whole_disk: bool, spark: bool
    ) -> None:
        self._shop = shop
        self._run = run
        self._chance = chance
        self._ahead_s = 0.0
        self.all: dict[str, Callable[[], None]] = {
            "kill": self._kill, "death at a failpoint": self._die, "a stop": self._stop,
            "the process hangs": self._hang,
            "everything is slow": self._slow,
            "a listing fails": self._fail_listing,
            "the clock jumps": self._jump,
            "a view is put back by others": self._restore_view,
            "rows of a view are deleted by others": self._delete_rows,
            "a base table is put back by others": self._restore_base,
            "the journal is deleted": self._delete_journal,
            "the journal is damaged": self._damage_journal,
        }  # fmt: skip
        if spark:
            self.all["Spark's process is killed"] = self._kill_java
            self.all["Spark's process hangs"] = self._hang_java
        if whole_disk:
            self.all["the disk is full"] = self._fill_disk

    def order(self) -> list[str]:
        """All of them once, in an order of chance."""
        return self._chance.sample(list(self.all), len(self.all))

    def _kill(self) -> None:
        self._run.end(signal.SIGKILL)
        self._run.start()

    def _die(self) -> None:
        point = self._chance.choice(_POINTS)
        self._run.end(signal.SIGTERM)
        self._run.start(f"{point}:{self._chance.randint(1, 3)}")

    def _stop(self) -> None:
        self._run.end(signal.SIGTERM)
        self._run.start()

    def _kill_java(self) -> None:
        self._run.signal_java(signal.SIGKILL)

    def _hang_java(self) -> None:
        # Longer than two minutes, it is noticed; that is one time in four.
        for_s = self._chance.choice([4.0, 10.0, 20.0, 150.0])
        hung = self._run.java()
        self._run.signal_java(signal.SIGSTOP)
        time.sleep(for_s)
        for each in hung:
            with contextlib.suppress(ProcessLookupError):
                os.kill(each, signal.SIGCONT)

    def _hang(self) -> None:
        self._run.signal(signal.SIGSTOP)
        time.sleep(self._chance.choice([2.0, 8.0, 20.0]))  # the lease lapses after 15
        self._run.signal(signal.SIGCONT)

    def _slow(self) -> None:
        """Nine tenths of the time neither process runs, as on storage that answers slowly."""
        for _ in range(30):
            hung = self._run.java()
            self._run.signal(signal.SIGSTOP)
            self._run.signal_java(signal.SIGSTOP)
            time.sleep(0.45)
            self._run.signal(signal.SIGCONT)
            for each in hung:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(each, signal.SIGCONT)
            time.sleep(0.05)

    def _fail_listing(self) -> None:
        """A link to itself, whatever the user may read, and a name that is no text."""
        folder = self._shop.root / "feed" / "orders"
        folder.mkdir(parents=True, exist_ok=True)
        loop, name = folder / "loop", folder / os.fsdecode(b"\xff\xfe.csv")
        loop.symlink_to(loop)
        name.write_text("0,0,0\n")
        time.sleep(self._chance.uniform(3.0, 12.0))
        loop.unlink()
        name.unlink()

    def _jump(self) -> None:
        self._ahead_s += self._chance.choice([2 * _HOUR_S, 26 * _HOUR_S, -_HOUR_S])
        self._run.set_clock(self._ahead_s)

    def _restore_view(self) -> None:
        self._others(self._chance.choice(self._shop.views), restore=True)

    def _delete_rows(self) -> None:
        self._others(self._chance.choice(self._shop.views), restore=False)

    def _restore_base(self) -> None:
        if self._others(BASES[0], restore=True):
            self._load_again()

    def choose(self) -> None:
        """As an operator who looks at the status; a choice may have gone with the journal."""
        if self._run.is_refused(BASES[0]):
            self._load_again()

    def _load_again(self) -> None:
        """What somebody chooses for a table that others changed: all files again."""
        for _ in range(20):
            if self._run.ask("refresh", BASES[0], "--full") == 0:
                return
            self._run.revive()
            time.sleep(2.0)

    def _others(self, name: str, *, restore: bool) -> bool:
        """Change a table as another program would; whether it did."""
        for _ in range(5):
            with contextlib.suppress(Exception):  # it is busy, or not there yet
                table = self._shop.table(name)
                if restore:
                    table.restore(max(0, table.version() - self._chance.randint(1, 3)))
                else:
                    table.delete(self._shop.some_rows)
                return True
        return False

    def _delete_journal(self) -> None:
        self._run.end(signal.SIGKILL)
        for part in (self._shop.storage / "_freshline").glob("journal.db*"):
            part.unlink()
        self._run.start()

    def _damage_journal(self) -> None:
        self._run.end(signal.SIGTERM)
        path = self._shop.storage / "_freshline" / "journal.db"
        if path.exists():
            data = bytearray(path.read_bytes())
            for _ in range(200):
                data[self._chance.randrange(len(data))] ^= 1 << self._chance.randrange(8)
            path.write_bytes(bytes(data))
        self._run.start()

    def _fill_disk(self) -> None:
        filler = fill(self._shop.storage.parent / "filler")
        time.sleep(self._chance.uniform(5.0, 15.0))
        filler.unlink()
