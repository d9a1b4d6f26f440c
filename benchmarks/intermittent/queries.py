"""The queries that take part, for batches and for streams.

TPC-H's texts are those that the tests check. Structured Streaming takes a query over one stream
as it stands, in complete mode. Two streams joined and then aggregated it takes in append mode
alone: with a watermark, a bound between the two times, and a window that is in the grouping; so
did the paper (section 7.2). The order and the limit are then left to who reads the result. A
stream in EXISTS it refuses; as a semi-join it takes it.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from freshline.sql.text.reads import reads_of, rewritten

_TEXTS = Path(__file__).parents[2] / "tests" / "data" / "tpch"
STREAMS = ("orders", "lineitem")
ARRIVED = {"orders": "o_arrived", "lineitem": "l_arrived"}
"""The column that says when a row came."""

JOINED = {
    "q03": """
        SELECT l_orderkey, sum(l_extendedprice * (1 - l_discount)) AS revenue, o_orderdate,
               o_shippriority
        FROM customer, orders, lineitem
        WHERE c_mktsegment = 'BUILDING' AND c_custkey = o_custkey AND l_orderkey = o_orderkey
          AND o_orderdate < DATE '1995-03-15' AND l_shipdate > DATE '1995-03-15'
          AND l_arrived BETWEEN o_arrived - {bound} AND o_arrived + {bound}
        GROUP BY window(l_arrived, '{window}'), l_orderkey, o_orderdate, o_shippriority""",
    "q04": """
        SELECT o_orderpriority, count(*) AS order_count
        FROM orders LEFT SEMI JOIN lineitem
          ON l_orderkey = o_orderkey AND l_commitdate < l_receiptdate
          AND l_arrived BETWEEN o_arrived - {bound} AND o_arrived + {bound}
        WHERE o_orderdate >= DATE '1993-07-01' AND o_orderdate < DATE '1993-10-01'
        GROUP BY window(o_arrived, '{window}'), o_orderpriority""",
    "q09": """
        SELECT nation, o_year, sum(amount) AS sum_profit
        FROM (
            SELECT n_name AS nation, extract(YEAR FROM o_orderdate) AS o_year,
                   l_extendedprice * (1 - l_discount) - ps_supplycost * l_quantity AS amount,
                   l_arrived
            FROM part, supplier, lineitem, partsupp, orders, nation
            WHERE s_suppkey = l_suppkey AND ps_suppkey = l_suppkey AND ps_partkey = l_partkey
              AND p_partkey = l_partkey AND o_orderkey = l_orderkey
              AND s_nationkey = n_nationkey AND p_name LIKE '%green%'
              AND l_arrived BETWEEN o_arrived - {bound} AND o_arrived + {bound}) AS profit
        GROUP BY window(l_arrived, '{window}'), nation, o_year""",
    "q10": """
        SELECT c_custkey, c_name, sum(l_extendedprice * (1 - l_discount)) AS revenue, c_acctbal,
               n_name, c_address, c_phone, c_comment
        FROM customer, orders, lineitem, nation
        WHERE c_custkey = o_custkey AND l_orderkey = o_orderkey
          AND o_orderdate >= DATE '1993-10-01' AND o_orderdate < DATE '1994-01-01'
          AND l_returnflag = 'R' AND c_nationkey = n_nationkey
          AND l_arrived BETWEEN o_arrived - {bound} AND o_arrived + {bound}
        GROUP BY window(l_arrived, '{window}'), c_custkey, c_name, c_acctbal, c_phone, n_name,
                 c_address, c_comment""",
    "q12": """
        SELECT l_shipmode,
               sum(CASE WHEN o_orderpriority IN ('1-URGENT', '2-HIGH') THEN 1 ELSE 0 END)
                   AS high_line_count,
               sum(CASE WHEN o_orderpriority NOT IN ('1-URGENT', '2-HIGH') THEN 1 ELSE 0 END)
                   AS low_line_count
        FROM orders, lineitem
        WHERE o_orderkey = l_orderkey AND l_shipmode IN ('MAIL', 'SHIP')
          AND l_commitdate < l_receiptdate AND l_shipdate < l_commitdate
          AND l_receiptdate >= DATE '1994-01-01' AND l_receiptdate < DATE '1995-01-01'
          AND l_arrived BETWEEN o_arrived - {bound} AND o_arrived + {bound}
        GROUP BY window(l_arrived, '{window}'), l_shipmode""",
}
"""Queries that join the streams, as a stream takes them."""

_LAST_CLAUSE = {
    "q03": "ORDER BY revenue DESC, o_orderdate LIMIT 10",
    "q10": "ORDER BY revenue DESC LIMIT 20",
}
"""What of them the stream leaves to the reader and changes the rows."""


def text(name: str) -> str:
    """A query as TPC-H or the paper has it."""
    return (_TEXTS / f"{name}.sql").read_text()


def over(query: str, statics: Mapping[str, Path]) -> str:
    """The query with static tables, Delta's, named by their paths."""
    return rewritten(query, {name: f"delta.`{path}`" for name, path in statics.items()})


def streams_of(name: str) -> tuple[str, ...]:
    """Which streams a query reads."""
    read = {each.name for each in reads_of(text(name))}
    return tuple(stream for stream in STREAMS if stream in read)


def of_stored(name: str, table: str) -> str:
    """What a reader asks of a stream's table, DuckDB's words."""
    return f"FROM {table} {_LAST_CLAUSE.get(name, '')}"
