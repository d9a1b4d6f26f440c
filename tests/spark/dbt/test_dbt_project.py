"""A dbt project of 26 models, made by dbt and by freshline from the same files: equal rows.

dbt (dbt-core and dbt-spark's session method, in the environment that `make tools` makes) compiles
the project and later builds its tables in full. freshline imports what was compiled, loads the
files in two rounds, so that its views are updated from changes, and verifies the checks that
dbt's tests became.
"""

from __future__ import annotations

import collections
import json
import os
import random
import shutil
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path

import deltalake
import duckdb
import pytest
import yaml

from tests.support.share import WHOLE

HERE = Path(__file__).parent
DBT = Path(__file__).parents[3] / ".cache" / "dbt" / "bin" / "python"
PATIENCE_S = 1200.0
START = datetime(2026, 3, 1, 8, tzinfo=UTC)

pytestmark = [
    pytest.mark.spark,
    pytest.mark.slow,
    pytest.mark.timeout(3600),
    pytest.mark.skipif(not DBT.is_file(), reason="dbt is not installed: make tools"),
    pytest.mark.skipif(
        not (WHOLE or "FRESHLINE_DBT" in os.environ),
        reason="FRESHLINE_DBT=1 runs dbt and freshline over a whole project: minutes",
    ),
]


class Files:
    """Writes rounds of feed files: parents first, so that references hold."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.chance = random.Random(11)
        self.round = 0
        self.orders = self.customers = self.payments = 0

    def write(self, name: str, rows: list[dict[str, object]]) -> None:
        folder = self.folder / name
        folder.mkdir(parents=True, exist_ok=True)
        text = "".join(json.dumps(row, default=str) + "\n" for row in rows)
        (folder / f"{name}-{self.round}.json").write_text(text)

    def more(self) -> None:
        """One round: customers, and orders of old and new ones; late orders too."""
        self.round += 1
        chance = self.chance
        if self.round == 1:
            kinds = ("tea", "pots", "cups")
            titles = [
                {"product_id": at, "title": f"Product {at}", "kind": kinds[at % 3]}
                for at in range(9)
            ]
            self.write("products", titles)
        names, countries = ["  Ann ", "Béla", "O'Neill", "李"], ["de", "FR", "it", "XX"]
        new = range(self.customers, self.customers + 12)
        self.customers += 12
        self.write(
            "customers",
            [
                {
                    "customer_id": at,
                    "name": names[at % 4],
                    "country": chance.choice(countries),
                    "at": START,
                }
                for at in new
            ],
        )
        orders, lines, payments = [], [], []
        for _ in range(60):
            self.orders += 1
            late = timedelta(days=-1) if chance.random() < 0.1 else timedelta()
            at = START + timedelta(days=self.round, hours=chance.randrange(40)) + late
            status = chance.choice(["Placed", "SHIPPED", "returned"])
            customer = chance.randrange(self.customers - 2)
            orders.append(
                {"order_id": self.orders, "customer_id": customer, "at": at, "status": status}
            )
            owed = Decimal(0)
            for line in range(chance.randrange(4)):
                quantity, price = chance.randrange(1, 9), Decimal(chance.randrange(99, 9999)) / 100
                owed += quantity * price
                lines.append(
                    {"order_id": self.orders, "line": line, "product_id": chance.randrange(9),
                     "quantity": quantity, "price": float(price), "at": at}
                )  # fmt: skip
            if chance.random() < 0.7:
                self.payments += 1
                amount = float(owed) if chance.random() < 0.5 else 1.5
                method = chance.choice(["card", "cash", "voucher", "cheque"])
                payments.append(
                    {"payment_id": self.payments, "order_id": self.orders, "method": method,
                     "amount": amount, "at": at}
                )  # fmt: skip
        self.write("orders", orders)
        self.write("lines", lines)
        self.write("payments", payments)


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """The dbt project compiled, imported, run over two rounds of files; then built by dbt."""
    root = tmp_path_factory.mktemp("dbt")
    project = root / "shop"
    shutil.copytree(HERE / "shop", project)
    files = Files(root / "feeds")
    files.more()

    def dbt(*commands: str) -> None:
        env = os.environ | {"FEEDS": str(root / "feeds"), "PYSPARK_PYTHON": str(DBT)}
        env |= {"DO_NOT_TRACK": "1", "DBT_SEND_ANONYMOUS_USAGE_STATS": "false"}
        env.pop("PYTHONPATH", None)
        done = subprocess.run(
            [str(DBT), str(HERE / "steps.py"), str(root / "lake"), str(project), *commands],
            cwd=root, env=env, capture_output=True, text=True, check=False, timeout=PATIENCE_S,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-3000:]

    def freshline(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "freshline", *arguments],
            cwd=root / "new" if (root / "new").exists() else root,
            capture_output=True, text=True, check=False, timeout=PATIENCE_S,
        )  # fmt: skip

    dbt("seed", "compile --full-refresh")
    imported = freshline("import", "dbt", str(project), "--into", str(root / "new"), "--json")
    assert imported.returncode == 0, imported.stderr
    settings = root / "new" / "freshline.yml"
    text = yaml.safe_load(settings.read_text())
    # The seed is a table of dbt's catalog.
    text["configuration"] = {
        "spark.sql.catalogImplementation": "hive",
        "spark.sql.warehouse.dir": str(root / "lake" / "warehouse"),
        "spark.hadoop.javax.jdo.option.ConnectionURL": (
            f"jdbc:derby:;databaseName={root / 'lake' / 'metastore'};create=true"
        ),
        "spark.sql.shuffle.partitions": "1",
    }
    text["spark"] = {"master": "local[2]"}
    text["server"] = {"port": 0}
    # They take minutes here, and tests/spark/trials tries them.
    text["maintenance"] = {"trials": False}
    settings.write_text(yaml.safe_dump(text, sort_keys=False))
    for _ in range(2):
        ran = freshline("run", "--until-idle", "--json")
        assert ran.returncode == 0, ran.stdout + ran.stderr
        if files.round == 1:
            files.more()
    verified = freshline("verify", "--json")
    dbt("run --full-refresh --exclude forecast")
    return root, json.loads(imported.stdout), verified


def rows(cursor) -> collections.Counter[tuple[tuple[str, str], ...]]:
    """Rows as a multiset, whatever the order of the columns."""
    names = [each[0] for each in cursor.description]
    return collections.Counter(
        tuple(sorted((name, str(value)) for name, value in zip(names, row, strict=True)))
        for row in cursor.fetchall()
    )


def test_every_table_of_dbt_is_made_by_freshline_row_by_row(world):
    root, imported, _ = world
    tables = {
        model["name"].split(".")[-1]: model["became"].split("`")[1]
        for model in imported["models"]
        if model["became"].startswith("materialized view")
    }
    assert len(tables) == 16
    different = {}
    for theirs, ours in tables.items():
        folder = root / "lake" / "warehouse" / "shop.db" / theirs
        with duckdb.connect() as database:
            database.execute("SET TimeZone = 'UTC'")
            made = rows(
                database.execute(
                    f"SELECT * FROM read_parquet('{folder}/**/*.parquet', hive_partitioning=true)"
                )
            )
            table = deltalake.DeltaTable(root / "new" / "warehouse" / ours).to_pyarrow_table()
            database.register("kept", table)
            kept = rows(database.execute("SELECT * FROM kept"))
        assert made, theirs
        if made != kept:
            different[theirs] = (list((made - kept).items())[:3], list((kept - made).items())[:3])
    assert different == {}


def test_what_became_of_each_model_is_told(world):
    _, imported, _ = world
    became = {model["name"]: model for model in imported["models"]}
    refused = {name: each for name, each in became.items() if each["became"] == "not taken"}
    assert {name: each["not_taken"][0] for name, each in refused.items()} == {
        "model.shop.forecast": ("it is written in python: only SQL can be maintained from changes"),
        "snapshot.shop.customers_then": (
            "a snapshot keeps what rows were, by the time when dbt looked; no query says that"
        ),
    }
    kinds = collections.Counter(each["became"].split(" `")[0] for each in became.values())
    assert kinds == {
        "materialized view": 16,
        "streaming table": 5,
        "put into the queries that read it": 10,
        "read by its name,": 1,
        "not taken": 2,
    }


def test_dbts_tests_are_checked_by_verify(world):
    _, _, verified = world
    told = json.loads(verified.stdout)["tables"]
    checks = {
        (table, each["name"]): (each["outcome"], each["severity"], each["reason"])
        for table, found in told.items()
        for each in found.get("checks", ())
    }
    assert {name: each[0] for name, each in checks.items()} == {
        ("raw_orders", "unique of order_id"): "right",
        ("raw_orders", "not_null of order_id"): "right",
        ("raw_orders", "accepted_values of status"): "wrong",  # as written by the tills
        ("lines", "relationships of order_id"): "right",
        ("shop_orders", "unique of order_id"): "right",
        ("shop_orders", "not_null of order_id"): "right",
        ("shop_orders", "accepted_values of status"): "right",
        ("shop_orders", "relationships of customer_id"): "right",
        ("shop_customers", "unique of customer_id"): "right",
        ("shop_customers", "relationships of country"): "wrong",
        ("revenue_by_day", "unique of day"): "right",
    }, checks
    assert checks["shop_customers", "relationships of country"][1:] == ("warn", "")
    assert {table for table, found in told.items() if found["wrong"]} == set()
    assert verified.returncode == 3
