"""TPC-H as the tests see it: its tables as sources, its queries' texts, its data."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

from freshline.sql.query.records import Source

QUERIES = Path(__file__).parents[1] / "data" / "tpch"
WITHOUT_STREAM = ("q02", "q11", "q16")
_COLUMNS = {
    "orders": """o_orderkey:bigint o_custkey:bigint o_orderstatus:string
        o_totalprice:decimal(15,2) o_orderdate:date o_orderpriority:string o_clerk:string
        o_shippriority:int o_comment:string""",
    "lineitem": """l_orderkey:bigint l_partkey:bigint l_suppkey:bigint l_linenumber:int
        l_quantity:decimal(15,2) l_extendedprice:decimal(15,2) l_discount:decimal(15,2)
        l_tax:decimal(15,2) l_returnflag:string l_linestatus:string l_shipdate:date
        l_commitdate:date l_receiptdate:date l_shipinstruct:string l_shipmode:string
        l_comment:string""",
    "customer": """c_custkey:bigint c_name:string c_address:string c_nationkey:bigint
        c_phone:string c_acctbal:decimal(15,2) c_mktsegment:string c_comment:string""",
    "part": """p_partkey:bigint p_name:string p_mfgr:string p_brand:string p_type:string
        p_size:int p_container:string p_retailprice:decimal(15,2) p_comment:string""",
    "supplier": """s_suppkey:bigint s_name:string s_address:string s_nationkey:bigint
        s_phone:string s_acctbal:decimal(15,2) s_comment:string""",
    "partsupp": """ps_partkey:bigint ps_suppkey:bigint ps_availqty:int
        ps_supplycost:decimal(15,2) ps_comment:string""",
    "nation": "n_nationkey:bigint n_name:string n_regionkey:bigint n_comment:string",
    "region": "r_regionkey:bigint r_name:string r_comment:string",
}
_KEYS = {"orders": ("o_orderkey",), "lineitem": ("l_orderkey",)}


def tpch_sources(*, batch_keys: bool) -> list[Source]:
    """Orders and lineitem as streams, the other tables static."""
    return [
        Source(
            name,
            dict(column.split(":") for column in columns.split()),
            static=name not in _KEYS,
            batch_key=_KEYS.get(name, ()) if batch_keys else (),
        )
        for name, columns in _COLUMNS.items()
    ]


def tpch_query(name: str) -> str:
    """The text of q01 to q22 and cq1 to cq4."""
    return (QUERIES / f"{name}.sql").read_text()


def tpch_names() -> list[str]:
    """All queries that read a stream."""
    return sorted({path.stem for path in QUERIES.glob("*.sql")} - set(WITHOUT_STREAM))


def generate(folder: Path, scale: float) -> None:
    """Writes the tables as Parquet, ``NAME.parquet`` each."""
    here = Path(sys.executable).parent / "tpchgen-cli"
    command = str(here) if here.exists() else shutil.which("tpchgen-cli")
    assert command is not None, "tpchgen-cli is one of the development dependencies"
    arguments = ["parquet", "--scale-factor", str(scale), "--output-dir", str(folder)]
    subprocess.run([command, *arguments], check=True, capture_output=True)
