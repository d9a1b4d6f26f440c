"""TPC-DS in a warehouse: seven tables that arrive in steps, the others static, views over them."""

from __future__ import annotations

import re
import shutil
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from freshline.core.errors import FreshlineError
from freshline.delta.log import last_commit
from freshline.delta.log import version as newest_version
from freshline.sql.query.records import ViewPlan
from tests.spark.conftest import Shop
from tests.spark.generated.running import difference
from tests.spark.tpcds.benchmark import FACTS, RENAMED, as_view, generate, query
from tests.spark.views.judges import Row, as_of, counted, stored
from tests.spark.views.proving import Proving, over_statics, session_in

SCALE = 0.01
STEPS = 3
KEEP_ONE_OF = 6
"""Of as many tickets one is kept: at this scale a fact table has a few thousand rows."""

BOTH_FAIL = "both fail"
_FOR_FEW_ROWS = {
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.autoBroadcastJoinThreshold": "-1",
}
"""Of the judge, which compiles nothing and asks for one job a query."""


class TpcDs:
    """The warehouse: tables by name, views by the name of their query.

    Args:
        spark: Any session.
        folder: For data, tables and views; one that an earlier process filled is gone on with.
        text_of: A query by its name.
    """

    def __init__(
        self, spark: SparkSession, folder: Path, text_of: Callable[[str], str] = query
    ) -> None:
        self._text_of = text_of
        self.proving = Proving(Shop(folder, session_in(spark, "UTC")))
        self.spark = self.proving.shop.session
        self.judge = self.spark.newSession()
        for name, value in _FOR_FEW_ROWS.items():
            self.judge.conf.set(name, value)
        self.data = folder / "data"
        if not self.data.exists():
            generate(self.data, SCALE)
        shop = self.proving.shop
        tables = sorted(path.stem for path in self.data.glob("*.parquet"))
        self.statics = [name for name in tables if name not in FACTS and name != "dbgen_version"]
        self._shown: set[str] = set()
        self._empty: dict[str, DataFrame] = {}
        for name in FACTS:
            frame = self.judge.read.parquet(str(self.data / f"{name}.parquet"))
            self._empty[name] = frame.limit(0)
            ddl = ", ".join(f"{each} {kind}" for each, kind in frame.dtypes)
            shop.feed(f"{name}_feed", "parquet", ddl)
            shop.table(name, f"SELECT * FROM STREAM {name}_feed")
        self.texts: dict[str, str] = {}
        self.plans: Mapping[str, ViewPlan] = {}

    def add(self, names: Iterable[str]) -> float:
        """Queries as views, analysed; how many seconds the analysis took."""
        for name in names:
            for each, frame in self._empty.items():
                frame.createOrReplaceTempView(each)
            self._show_statics(self._text_of(name))
            self.texts[name] = as_view(self._text_of(name), self.judge)
            self.proving.view(name, over_statics(self.texts[name], self.statics))
        began_s = time.monotonic()
        self.plans = self.proving.plan()
        return time.monotonic() - began_s

    def _show_statics(self, text: str) -> None:
        """The static tables that a query names are there, and the judge knows them.

        One of them has two million rows at every scale.
        """
        words = set(re.findall(r"\w+", text.lower()))
        for name in words & set(self.statics) - self._shown:
            path = self.proving.shop.root / "static" / name
            if not path.exists():
                rows = pq.read_table(self.data / f"{name}.parquet")
                rows = rows.rename_columns([RENAMED.get(each, each) for each in rows.column_names])
                self.proving.shop.delta(f"static/{name}", rows)
            self.judge.sql(f"SELECT * FROM delta.`{path}`").createOrReplaceTempView(name)
            self._shown.add(name)

    def read(self) -> set[str]:
        """The fact tables that some view reads."""
        tables = map(self.proving.shop.project.table, self.proving.views)
        return {parent for table in tables for parent in table.parents}

    def take_away(self, name: str) -> None:
        """A view is none of the project any more, and its rows and states are gone."""
        shop = self.proving.shop
        shutil.rmtree(shop.path(name), ignore_errors=True)
        for state in Path(shop.project.own_path).glob(f"state/{name}"):
            shutil.rmtree(state)
        shop.tables = [table for table in shop.tables if table.name != name]
        shop.plans = {}
        shop.restart()

    def arrive(self, step: int, names: Collection[str] = FACTS) -> None:
        """A file to each of these fact tables: every third ticket, less those that are left out."""
        for name, key in FACTS.items():
            if name not in names:
                continue
            loaded = newest_version(self.proving.shop.path(name))
            if loaded is not None and loaded >= step:
                continue  # by an earlier process
            self.proving.shop.numbers[name] = step
            rows = pq.read_table(self.data / f"{name}.parquet")
            of = pc.subtract(rows[key], pc.multiply(pc.divide(rows[key], STEPS * KEEP_ONE_OF),
                                                    STEPS * KEEP_ONE_OF))  # fmt: skip
            # Returns of a step's sales come with it, and some with the one behind it.
            late = 1 if "returns" in name and step else 0
            which = pa.array([step, STEPS + step - late])
            self.proving.arrive(name, rows.filter(pc.is_in(of, which)))

    def updated(self, name: str, step: int | None = None) -> tuple[str, str, str]:
        """Updates a view.

        Args:
            name: The view.
            step: Over its parents as they were after that step; None: as they are.

        Returns:
            Its strategy, the code, and what is wrong; or :data:`BOTH_FAIL` with Spark's refusal.
        """
        shop = self.proving.shop
        parents = {
            each: self.proving.version(each) if step is None else step
            for each in shop.project.table(name).parents
        }
        try:
            result = shop.executor.run(shop.request(name, parents=parents))
        except FreshlineError as error:
            try:
                self.expected(name, parents)
            except PySparkException as refusal:
                return BOTH_FAIL, "", str(refusal.getCondition())
            return "error", error.code, str(error)
        commit = last_commit(shop.path(name))
        assert commit is not None
        pins = {each: int(commit.metadata["parents"][each]) for each in parents}
        assert pins == parents
        found = stored(shop.path(name), commit.version)
        return result.strategy, result.code, difference(found, self.expected(name, pins))

    def update_all(
        self, names: Iterable[str], step: int, told: dict[str, list[str]]
    ) -> dict[tuple[str, int, str], str]:
        """Updates these views.

        Args:
            names: Of the views.
            step: What the result calls it.
            told: Strategies by view; those of this step are added.

        Returns:
            What is wrong, by view, step and strategy, where the query itself does not fail.
        """
        wrong = {}
        for name in names:
            found, _, difference = self.updated(name)
            told.setdefault(name, []).append(found)
            if difference and found != BOTH_FAIL:
                wrong[name, step, found] = difference
        return wrong

    def expected(self, name: str, pins: Mapping[str, int]) -> Counter[Row]:
        """The query's rows over its parents at these versions."""
        for each, version in pins.items():
            path = self.proving.shop.path(each)
            as_of(self.judge, path, version).createOrReplaceTempView(each)
        return counted(self.judge.sql(self.texts[name]).toArrow())
