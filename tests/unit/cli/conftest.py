"""A project on disk, a command line over it, and a warehouse that needs no Spark."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from freshline.cli.main import app_for
from freshline.project.load import load_project
from freshline.runtime.journal.paths import journal_path
from freshline.runtime.journal.store import Journal
from tests.support.shop import Shop

SETTINGS = """\
name: shop
storage: warehouse
maintenance: {trials: false}  # what this executor computes is trusted
libraries:
  - glob: {include: tables/**/*.sql}
server: {port: 0}  # any free one: other tests serve, too
feeds:
  orders_feed:
    kind: files
    path: feed/orders
    format: csv
    schema: "n BIGINT"
    timestamp: {pattern: "-(\\\\d{8}T\\\\d{6})", format: "%Y%m%dT%H%M%S"}
    period: 1 second
"""

TABLES = """\
CREATE STREAMING TABLE orders
  AS SELECT n FROM STREAM orders_feed;

CREATE MATERIALIZED VIEW big
  TBLPROPERTIES ('freshline.priority' = '5', 'freshline.target_lag' = '10 minutes')
  AS SELECT n FROM orders;

CREATE MATERIALIZED VIEW small AS SELECT n FROM big;
"""


@pytest.fixture
def shop(tmp_path: Path) -> Shop:
    """A project of three tables, as its files say, with an executor that needs no Spark."""
    (tmp_path / "freshline.yml").write_text(SETTINGS)
    (tmp_path / "tables").mkdir()
    (tmp_path / "tables" / "shop.sql").write_text(TABLES)
    (tmp_path / "feed" / "orders").mkdir(parents=True)
    return Shop(load_project(tmp_path, tmp_path))


@pytest.fixture
def freshline(shop: Shop) -> Callable[..., Result]:
    """Runs a command of ``freshline`` on the shop in this process."""

    def command(*arguments: str) -> Result:
        line = [*arguments, "--project", str(shop.root)]
        return CliRunner().invoke(app_for(line), line, catch_exceptions=False)

    return command


@pytest.fixture
def answer(freshline: Callable[..., Result]) -> Callable[..., dict]:
    """The same with --json: the object on standard output, after an exit with 0."""

    def command(*arguments: str) -> dict:
        done = freshline(*arguments, "--json")
        assert done.exit_code == 0, done.stderr
        found: dict = json.loads(done.stdout)
        return found

    return command


def as_if_measured(shop: Shop) -> None:
    """What the tables' updates cost is the same on every machine, however busy it is."""
    journal = Journal(journal_path(shop.project), create=False)
    try:
        journal.write("UPDATE tables SET alpha_s=0.02, beta=0.0")
        journal.flush()
    finally:
        journal.close()


def write_measured(
    journal: Journal, names: Iterable[str], updates: int, *, alpha_s: float, beta: float
) -> None:
    """What updates of these tables cost so far, each with a period of a second."""
    for name in names:
        journal.write(
            "INSERT INTO tables (name, kind, updates, alpha_s, beta, period_s)"
            " VALUES (?, 'base', ?, ?, ?, 1.0)",
            (name, updates, alpha_s, beta),
        )
