"""One query of Snowflake's over tables that a script declares."""

from __future__ import annotations

from pathlib import Path

from freshline.importing.items import Item
from freshline.importing.snowflake.script import read_snowflake

DECLARED = """\
create table shop.raw.t (q number(38,0), a number(10,2), r number(18,8), f float, s varchar,
  d date);
create view w (x, y) as select q, a / 4 from shop.raw.t;
"""


def one_query(folder: Path, query: str, *, declared: str = DECLARED) -> Item:
    """The item that a script makes of a query over declared tables."""
    path = folder / "one.sql"
    path.write_text(f"{declared}create dynamic table x target_lag='1 hour' warehouse=w as {query};")
    return next(each for each in read_snowflake(path).items if each.key == "x")


def on_one_line(item: Item) -> str:
    """Its query in Spark's SQL."""
    return " ".join(str(item.query).split()).replace("( ", "(").replace(" )", ")")
