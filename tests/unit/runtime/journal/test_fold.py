"""What a base table has loaded, folded, so that its commits may go: known whatever dies when."""

from __future__ import annotations

import itertools
import json
import shutil
from pathlib import Path

import pytest
from deltalake import DeltaTable
from hypothesis import given, settings
from hypothesis import strategies as st

from freshline.core.errors import PlatformError
from freshline.delta import log
from freshline.delta.loaded import fold, folded, is_covered
from freshline.failpoints import armed
from freshline.runtime.journal.paths import journal_path
from freshline.runtime.journal.recovery import recover
from freshline.runtime.journal.store import Journal
from freshline.runtime.journal.writer import Ledger
from freshline.runtime.options import RunOptions
from tests.support.shop import made_project, made_shop

TABLES = {"orders": ()}


class Table:
    """A table's log, written by hand, and what it holds."""

    def __init__(self, root: Path) -> None:
        self.project = made_project(root, TABLES)
        self.log = Path(self.project.table_path("orders")) / "_delta_log"
        self.log.mkdir(parents=True)
        self.version = -1
        self.names: set[str] = set()
        self._made = itertools.count(1_700_000_000_000)
        self._stands: list[set[str]] = []

    def commit(self, names: list[str], kind: str) -> None:
        self.version += 1
        info = {
            "freshline": 1, "table": "orders", "update": self.version + 1, "strategy": "append",
            "from": "2026-01-01T00:00:00Z", "to": "2026-01-01T00:00:00Z", "parents": {}, "rows": 0,
            "definition": "", "files": names, "id": "this one",
        }  # fmt: skip
        if kind == "full":
            info["full"] = True
            self.names.clear()
        if kind == "delta":  # all of a Delta table, which may show the rows of the files
            info |= {"full": True, "source": {"id": "t", "version": 1, "mark": "m"}}
        made_ms = next(self._made)
        told = {"commitInfo": {"timestamp": made_ms, "userMetadata": json.dumps(info)}}
        if kind == "foreign":
            told = {"commitInfo": {"timestamp": made_ms, "operation": "OPTIMIZE"}}
        else:
            self.names |= set(names)
        self._stands.append(set(self.names))
        (self.log / f"{self.version:020d}.json").write_text(json.dumps(told))

    def clean_up(self, until: int) -> None:
        """Remove commits before a version; that one stays, as retention.py sees to."""
        for commit in self.log.glob("*.json"):
            if int(commit.stem) < until:
                commit.unlink()

    def put_back(self, until: int) -> None:
        """What a copy of the table has that was made at a version; our own files stay."""
        for commit in self.log.glob("*.json"):
            if int(commit.stem) > until:
                commit.unlink()
        del self._stands[until + 1 :]
        self.version, self.names = until, set(self._stands[until])

    def rebuilt(self, states: str = "='loaded'") -> set[str]:
        """What a start knows that finds no journal: files in a state, or in some."""
        path = journal_path(self.project)
        shutil.rmtree(path.parent / "scratch", ignore_errors=True)
        journal = Journal(path.parent / "scratch" / "journal.db", create=True)
        recover(self.project, journal, Ledger(journal))
        journal.flush()
        rows = journal.rows(f"SELECT name FROM files WHERE state{states}")
        journal.close()
        return {row["name"] for row in rows}


_NAMES = st.lists(st.integers(0, 12).map(lambda n: f"{n}.csv"), max_size=3)
_STEPS = st.lists(
    st.one_of(
        st.tuples(
            st.sampled_from(["append", "append", "append", "full", "delta", "foreign"]), _NAMES
        ),
        st.tuples(
            st.sampled_from(["fold", "die before", "die draft", "die after", "clean", "put back"]),
            st.just([]),
        ),
    ),
    max_size=25,
)
_AT = {
    "die before": "fold.before=eio",
    "die draft": "fold.draft=eio",
    "die after": "fold.after=eio",
}


@settings(max_examples=30)
@given(_STEPS)
def test_whatever_is_folded_and_cleaned_up_what_was_loaded_is_known(tmp_path_factory, steps):
    """Against the set of names; a fold that dies anywhere changes nothing of what is known."""
    table = Table(tmp_path_factory.mktemp("t"))
    table.commit(["first.csv"], "append")
    may_go = -1
    for kind, names in steps:
        if kind == "clean":
            table.clean_up(may_go)
        elif kind == "put back":
            # A copy has the commit of the fold that was the newest one then.
            table.put_back(max(may_go, table.version - 2, 0))
        elif kind in ("append", "full", "delta", "foreign"):
            table.commit(names, kind)
        elif kind == "fold":
            until = fold(table.project, "orders")
            assert until is not None
            may_go = max(may_go, until)
        else:
            try:
                with armed(_AT[kind]):
                    fold(table.project, "orders")
            except (PlatformError, OSError):
                pass
        if kind in ("clean", "die after"):
            assert table.rebuilt() == table.names
    until = fold(table.project, "orders")
    table.clean_up(until or 0)
    found = folded(table.project, "orders")
    assert found is not None
    assert set(found.names) == table.names
    assert table.rebuilt() == table.names


def test_of_folds_two_are_kept_and_the_older_serves_a_table_that_was_put_back(tmp_path):
    table = Table(tmp_path)
    for number in range(6):
        table.commit([f"{number}.csv"], "append")
        fold(table.project, "orders")
    folder = Path(table.project.own_path) / "loaded" / "orders"
    assert len(list(folder.iterdir())) == 2
    (table.log / f"{5:020d}.json").unlink()
    found = folded(table.project, "orders")
    assert found is not None
    assert (found.version, len(found.names)) == (4, 5)


def test_a_fold_of_a_history_that_the_table_was_put_back_from_says_nothing(tmp_path):
    """The same versions and updates come again, and load other files."""
    table = Table(tmp_path)
    for number in range(3):
        table.commit([f"{number}.csv"], "append")
    table.commit(["gone.csv"], "append")
    fold(table.project, "orders")
    table.put_back(2)
    assert folded(table.project, "orders") is None
    table.commit(["other.csv"], "append")
    assert folded(table.project, "orders") is None
    assert fold(table.project, "orders") == 3
    table.clean_up(3)
    assert table.rebuilt() == {"0.csv", "1.csv", "2.csv", "other.csv"}


def test_a_fold_below_those_of_another_history_is_kept(tmp_path):
    table = Table(tmp_path)
    for number in range(6):
        table.commit([f"{number}.csv"], "append")
        if number > 3:
            fold(table.project, "orders")
    table.put_back(2)
    table.commit(["other.csv"], "append")
    assert fold(table.project, "orders") == 3
    table.clean_up(3)
    assert table.rebuilt() == {"0.csv", "1.csv", "2.csv", "other.csv"}
    for number in range(4, 9):
        table.commit([f"again-{number}.csv"], "append")
        fold(table.project, "orders")
    assert len(list((Path(table.project.own_path) / "loaded" / "orders").iterdir())) == 2
    assert table.rebuilt() == table.names


def test_a_fold_whose_commit_is_gone_is_not_believed(tmp_path):
    table = Table(tmp_path)
    for number in range(3):
        table.commit([f"{number}.csv"], "append")
    fold(table.project, "orders")
    table.commit(["3.csv"], "append")
    table.clean_up(3)
    assert fold(table.project, "orders") is None
    with pytest.raises(PlatformError) as refused:
        table.rebuilt()
    assert refused.value.code == "loaded-unknown"


def test_a_fold_of_another_table_in_its_place_says_nothing(tmp_path):
    table = Table(tmp_path)
    table.commit(["a.csv"], "append")
    fold(table.project, "orders")
    text = (table.log / f"{0:020d}.json").read_text().replace("this one", "another one")
    (table.log / f"{0:020d}.json").write_text(text)
    assert folded(table.project, "orders") is None


def test_a_damaged_fold_is_an_error(tmp_path):
    table = Table(tmp_path)
    table.commit([f"{n}.csv" for n in range(50)], "append")
    fold(table.project, "orders")
    (file,) = (Path(table.project.own_path) / "loaded" / "orders").iterdir()
    data = bytearray(file.read_bytes())
    data[40] ^= 0xFF
    file.write_bytes(bytes(data))
    with pytest.raises(PlatformError, match="what was loaded cannot be read"):
        folded(table.project, "orders")


def test_commits_that_went_unfolded_are_told_and_not_guessed(tmp_path):
    table = Table(tmp_path)
    for number in range(3):
        table.commit([f"{number}.csv"], "append")
    table.clean_up(2)
    assert fold(table.project, "orders") is None
    with pytest.raises(PlatformError) as refused:
        table.rebuilt()
    assert refused.value.code == "loaded-unknown"


def test_a_journal_that_is_lost_after_a_year_loads_nothing_twice(tmp_path):
    shop = made_shop(tmp_path, {"orders": (), "total": ("orders",)})
    shop.executor.forgets = True
    path = shop.project.table_path("orders")
    for minute in range(1, 6):
        shop.file("orders", minute, [minute])
        assert shop.run_until_idle() == 0
        fold(shop.project, "orders")
        shop.executor._forget_log(path)
        shutil.rmtree(journal_path(shop.project).parent / "journal.db", ignore_errors=True)
        for part in journal_path(shop.project).parent.glob("journal.db*"):
            part.unlink()
    assert not is_covered(shop.project, "orders", -1)
    shop.file("orders", 9, [9])
    assert shop.run_until_idle() == 0
    assert shop.executor.numbers("orders") == [1, 2, 3, 4, 5, 9]
    assert shop.executor.numbers("total") == [1, 2, 3, 4, 5, 9]


def test_a_file_that_a_reload_left_out_is_told_again_after_the_journal_was_lost(tmp_path):
    table = Table(tmp_path)
    table.commit(["1.csv", "2.csv"], "append")
    table.commit(["1.csv"], "full")
    assert table.rebuilt(" IS NOT NULL") == {"1.csv"}, "nothing known keeps it from being loaded"


def test_files_stay_loaded_where_a_delta_table_was_read_in_between(tmp_path):
    table = Table(tmp_path)
    table.commit(["1.csv", "2.csv"], "append")
    version = f"{7:020d}-0a1b2c3d4e5f"
    table.commit([version], "delta")
    table.commit([version[:19] + "8" + version[20:]], "delta")
    known = table.rebuilt()
    until = fold(table.project, "orders")
    assert until is not None
    table.clean_up(until)
    assert {"1.csv", "2.csv"} < known
    assert table.rebuilt() == known - {version}, "of versions the newest alone matters"


def test_a_reload_needs_to_know_nothing(tmp_path):
    shop = made_shop(tmp_path, TABLES)
    for minute in (1, 2, 3):
        shop.file("orders", minute, [minute])
        assert shop.run_until_idle() == 0
    shop.executor._forget_log(shop.project.table_path("orders"))
    for part in journal_path(shop.project).parent.glob("journal.db*"):
        part.unlink()
    with pytest.raises(PlatformError, match="commits of table orders"):
        shop.run_until_idle()
    options = RunOptions(until_idle=True, refresh=("orders",), rebuilt=("orders",))
    assert shop.warehouse(options).run() == 0
    assert shop.executor.numbers("orders") == [1, 2, 3]


def test_after_a_reload_what_was_loaded_is_known_again(tmp_path):
    """Also where commits before it are gone, so it can be folded, and the journal be lost."""
    shop = made_shop(tmp_path, TABLES)
    for minute in (1, 2):
        shop.file("orders", minute, [minute])
        assert shop.run_until_idle() == 0
    shop.executor._forget_log(shop.project.table_path("orders"))
    options = RunOptions(until_idle=True, refresh=("orders",), rebuilt=("orders",))
    assert shop.warehouse(options).run() == 0
    for cleaned in (False, True):
        if cleaned:
            assert fold(shop.project, "orders") is not None
            shop.executor._forget_log(shop.project.table_path("orders"))
        for part in journal_path(shop.project).parent.glob("journal.db*"):
            part.unlink()
        shop.file("orders", 3 + cleaned, [3 + cleaned])
        assert shop.run_until_idle() == 0
        assert shop.executor.numbers("orders") == [1, 2, 3, 4][: 3 + cleaned]


@pytest.mark.parametrize("journal", ["of the copy", "lost"])
@pytest.mark.parametrize("folds", [True, False])
@pytest.mark.parametrize("checkpoint", [True, False])
def test_a_copy_that_is_laid_over_a_table_hides_nothing(
    tmp_path, monkeypatch, journal, folds, checkpoint
):
    """Old commits are there again, and between them and the newest some are not.

    So may be Delta's note of an older checkpoint.
    """
    shop = made_shop(tmp_path, TABLES)
    for minute in (1, 2):
        shop.file("orders", minute, [minute])
        assert shop.run_until_idle() == 0
    if checkpoint:
        DeltaTable(shop.project.table_path("orders")).create_checkpoint()
    shutil.copytree(shop.project.storage, tmp_path / "copy")
    for minute in (3, 4, 5):
        shop.file("orders", minute, [minute])
        assert shop.run_until_idle() == 0
    if folds:
        assert fold(shop.project, "orders") == 4
    shop.executor._forget_log(shop.project.table_path("orders"))
    shutil.copytree(tmp_path / "copy", shop.project.storage, dirs_exist_ok=True)
    monkeypatch.setattr(log, "_reached", {})  # another process starts
    path = shop.project.table_path("orders")
    assert log.version(path) == DeltaTable(path).version() == 4
    if journal == "lost":
        for part in journal_path(shop.project).parent.glob("journal.db*"):
            part.unlink()
    assert is_covered(shop.project, "orders", 3)
    assert not is_covered(shop.project, "orders", 1)
    if folds:
        assert shop.run_until_idle() == 0
    else:
        with pytest.raises(PlatformError) as refused:
            shop.run_until_idle()
        assert refused.value.code == "loaded-unknown"
    assert shop.executor.numbers("orders") == [1, 2, 3, 4, 5]
