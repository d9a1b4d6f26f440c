"""Up to where a view with final emission is complete, by its parents' commits."""

from __future__ import annotations

from deltalake import DeltaTable

from freshline.spark.views.emission import emission
from freshline.sql.query.records import Buckets, Reads, Reason, ViewPlan
from tests.support.shop import made_shop

NO = Reason("NO", "in a test")
PLAN = ViewPlan(NO, Buckets("at", {"orders": Reads("at", 0, 0)}), NO)


def test_what_others_made_of_a_parent_is_as_fresh_as_our_commit_before_it(tmp_path):
    shop = made_shop(tmp_path, {"orders": (), "sales": ("orders",)})
    shop.file("orders", 1, [1, 2])
    shop.run_until_idle()
    view, orders = shop.project.table("sales"), DeltaTable(shop.project.table_path("orders"))
    ours = emission(shop.project, view, {"orders": orders.version()}, PLAN, 0)
    orders.delete("n = 1")
    assert emission(shop.project, view, {"orders": orders.version()}, PLAN, 0) == ours
