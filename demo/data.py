"""TPC-H's data: two tables cut into feed files by order date, the others as Delta tables."""

from __future__ import annotations

import subprocess

import deltalake
import duckdb

from demo.places import DemoError, Places, installed

STATIC_TABLES = ("customer", "supplier", "part", "partsupp", "nation", "region")


def generate(places: Places, scale: float) -> None:
    """Write TPC-H at ``scale`` (1.0 is about a gigabyte) as one parquet file a table.

    Raises:
        DemoError: The generator failed.
    """
    tables = ",".join(("orders", "lineitem", *STATIC_TABLES))
    command = [installed("tpchgen-cli"), "parquet", "--scale-factor", str(scale)]
    command += ["--output-dir", str(places.source), f"--tables={tables}", "--quiet"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise DemoError(f"tpchgen-cli failed: {done.stderr.strip()}")


def write_static_tables(places: Places) -> None:
    """Write the tables that nobody changes, with delta-rs: Spark has no part in them."""
    with duckdb.connect() as db:
        for name in STATIC_TABLES:
            rows = db.read_parquet(str(places.source / f"{name}.parquet")).to_arrow_table()
            deltalake.write_deltalake(str(places.static / name), rows)


def cut(places: Places, slices: int, *, history: float = 0.0) -> dict[str, int]:
    """Cut orders and their lineitems into ``slices`` files each, by order date.

    Slice n holds the orders of the n-th stretch of TPC-H's 2406 days, and lineitem's file of
    that slice their items: a file's rows belong together, as a shop's would.

    Args:
        places: Where they are.
        slices: How many.
        history: Share of the days that the first one holds; zero: as many as the others.

    Returns:
        Rows in all files together, by table.
    """
    places.staged.mkdir()
    with duckdb.connect() as db:
        db.execute("SET threads = 1")  # a thread would write a file of its own
        for name in ("orders", "lineitem"):
            db.read_parquet(str(places.source / f"{name}.parquet")).create_view(name)
        db.execute(
            f"""
            CREATE TABLE cut AS
            WITH days AS (SELECT min(o_orderdate) AS first, max(o_orderdate) AS last FROM orders)
            SELECT o_orderkey, greatest(
                       CAST(floor({slices} * (passed - {history}) / (1.0 - {history})) AS INT),
                       0) AS slice
            FROM (SELECT o_orderkey, (o_orderdate - first) / (last - first + 1.0) AS passed
                  FROM orders, days)"""
        )
        rows = {}
        for name, key, form in (
            ("orders", "o_orderkey", "csv, HEADER"),
            ("lineitem", "l_orderkey", "parquet"),
        ):
            db.execute(
                f"COPY (SELECT t.*, slice FROM {name} t JOIN cut ON t.{key} = cut.o_orderkey)"
                f" TO '{places.staged / name}' (FORMAT {form}, PARTITION_BY (slice))"
            )
            rows[name] = db.table(name).count("*").fetchall()[0][0]
    return rows
