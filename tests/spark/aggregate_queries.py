"""Aggregates, groupings and forms of queries that only Spark can tell whether they are cut rightly.

Over TPC-H's orders and lineitem; each is cut into partials and a final.
"""

from __future__ import annotations

AGGREGATES = {
    "percentiles": "SELECT l_shipmode, median(l_quantity), percentile(l_quantity, 0.9), "
    "percentile(l_tax, array(0.1, 0.5)) FROM lineitem GROUP BY l_shipmode",
    "median_beside_sum": "SELECT median(o_totalprice), sum(o_totalprice), count(*) FROM orders",
    "variances": "SELECT l_shipmode, variance(l_quantity), stddev(l_extendedprice), "
    "var_pop(l_tax), stddev_pop(l_linenumber), std(l_linenumber) FROM lineitem "
    "GROUP BY ROLLUP(l_shipmode)",
    "variance_of_nothing": "SELECT var_samp(o_totalprice) FROM orders WHERE o_orderkey < 0",
    "collect_set": "SELECT l_returnflag, collect_set(l_shipmode), count(DISTINCT l_linenumber) "
    "FROM lineitem GROUP BY l_returnflag",
    "max_by": "SELECT o_orderpriority, max_by(o_orderkey, o_totalprice), min_by(o_comment, "
    "o_orderkey), max_by(struct(o_orderkey, o_orderdate), o_orderkey) FROM orders GROUP BY 1",
    "every": "SELECT every(l_tax > 0), some(l_tax > 0.07), any(l_tax > 1), bit_xor(l_linenumber), "
    "count_if(l_tax > 0.05) FROM lineitem",
    "wide_average": "SELECT avg(CAST(l_extendedprice AS DECIMAL(38, 10))), "
    "avg(CAST(l_quantity AS DECIMAL(20, 15)) / 7), avg(l_linenumber) FROM lineitem",
    "wide_ratio": "SELECT l_shipmode, 100 * sum(l_extendedprice * l_tax) / sum(l_extendedprice) "
    "FROM lineitem GROUP BY l_shipmode",
    "window": "SELECT window(CAST(o_orderdate AS TIMESTAMP), '30 days', '10 days') AS w, count(*), "
    "sum(o_totalprice) FROM orders GROUP BY window(CAST(o_orderdate AS TIMESTAMP), '30 days', "
    "'10 days')",
    "window_start": "SELECT window.start, count(*) FROM orders "
    "GROUP BY window(CAST(o_orderdate AS TIMESTAMP), '90 days')",
    "named_window": "SELECT o_orderstatus, rank() OVER w AS r FROM orders GROUP BY o_orderstatus "
    "WINDOW w AS (ORDER BY sum(o_totalprice))",
    "correlated_count": "SELECT c_custkey, (SELECT count(*) FROM orders "
    "WHERE o_custkey = c_custkey) AS n FROM customer",
    "several_levels": "SELECT max(n), min(s) FROM (SELECT o_custkey, count(*) AS n, "
    "sum(o_totalprice) AS s FROM orders GROUP BY o_custkey HAVING count(*) > 1)",
    "names": "SELECT count(*), sum(o_totalprice) + 1, max(O_OrderKey) FROM orders",
    "order_by_place": "SELECT o_orderpriority, count(*) FROM orders GROUP BY 1 ORDER BY 2 DESC, 1",
    "empty_sets": "SELECT sum(o_totalprice), count(*) FROM orders WHERE o_orderkey < 0 "
    "GROUP BY GROUPING SETS ((), ())",
    "grand_total": "SELECT sum(o_totalprice), count(*) FROM orders WHERE o_orderkey < 0 "
    "GROUP BY GROUPING SETS (())",
    "empty_groups": "SELECT o_orderpriority, avg(o_totalprice) FROM orders WHERE o_orderkey < 0 "
    "GROUP BY o_orderpriority",
    "grouping_sets": "SELECT o_orderpriority, o_orderstatus, grouping_id(), avg(o_totalprice) "
    "FROM orders GROUP BY CUBE(o_orderpriority, o_orderstatus)",
    "two_distincts": "SELECT o_orderstatus, count(DISTINCT o_custkey), count(DISTINCT o_clerk), "
    "avg(o_totalprice) FROM orders GROUP BY o_orderstatus",
    "map_values": "SELECT explode(array(l_shipmode, l_returnflag)) AS e, count(*) FROM lineitem "
    "GROUP BY l_shipmode, l_returnflag",
    "lateral_view": "SELECT word, count(*) FROM orders LATERAL VIEW "
    "explode(split(o_orderpriority, '-')) words AS word GROUP BY word",
    "doubles": "SELECT l_shipmode, avg(CAST(l_tax AS DOUBLE)), sum(CAST(l_tax AS FLOAT)) "
    "FROM lineitem GROUP BY l_shipmode",
}
