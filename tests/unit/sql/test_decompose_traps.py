"""Queries that lie in wait: what merges must equal the query at once, the rest says why not."""

from __future__ import annotations

from datetime import date
from decimal import Decimal

import pytest
import sqlglot
from sqlglot import exp

from freshline.sql.query.records import Decomposition, Reason, Source
from freshline.sql.states.decompose import decompose
from tests.support.share import share
from tests.unit.sql.merging import Merging

SALE = Source(
    "sale",
    {
        "id": "bigint", "shop": "string", "day": "date", "amount": "decimal(12,2)",
        "rate": "decimal(7,5)", "weight": "double", "pieces": "int", "sum": "int",
        "flag": "boolean",
    },
    batch_key=("id",),
)  # fmt: skip
PART = Source(
    "part", {"id": "bigint", "kind": "string", "pieces": "int", "price": "decimal(9,3)"},
    batch_key=("id",),
)  # fmt: skip
SHOP = Source("shop", {"shop": "string", "city": "string", "size": "int"}, static=True)
BATCHES = 4  # the third is empty


def rows_of_shops() -> dict[str, list[tuple]]:
    sales, parts = [], []
    for at in range(60):
        batch = (0, 1, 3)[at % 3]
        sales.append(
            (
                at,
                (None, "a", "b", "c", "zz")[at % 5],
                None if at % 11 == 0 else date(2026, 1, 1 + at % 4),
                None if at % 7 == 0 else Decimal(at * 37 % 101) / 4 - 10,
                Decimal(at % 13) / 100000 + Decimal("0.33333"),
                None if at % 6 == 0 else at * 0.1 - 2,
                None if at % 4 == 0 else at % 9,
                at % 3,
                None if at % 8 == 0 else at % 5 < 3,
                batch,
            )
        )
        parts += [
            (at, (None, "x", "y")[(at + each) % 3], each, Decimal(at * each) / 8, batch)
            for each in range(at % 4)
        ]
    shops = [("a", "Ulm", 1), ("b", "Ulm", 2), ("c", None, 3), ("d", "Bonn", 4), (None, "x", 5)]
    return {"sale": sales, "part": parts, "shop": shops}


@pytest.fixture(scope="module")
def shops():
    merging = Merging([SALE, PART, SHOP], BATCHES)
    merging.load(rows_of_shops())
    return merging


@pytest.fixture(scope="module")
def nothing():
    """The same tables before a row of a stream has come."""
    merging = Merging([SALE, PART, SHOP], BATCHES)
    merging.load({"sale": [], "part": [], "shop": rows_of_shops()["shop"]})
    return merging


MERGES = {
    # groups
    "null_group": "SELECT shop, sum(amount) FROM sale GROUP BY shop",
    "null_in_one_of_two_keys": "SELECT shop, day, count(*) FROM sale GROUP BY shop, day",
    "group_by_expression": "SELECT upper(shop) AS u, max(amount) FROM sale GROUP BY upper(shop)",
    "group_by_alias": "SELECT upper(shop) AS u, min(day) FROM sale GROUP BY u",
    "group_by_number": "SELECT shop, count(*) FROM sale GROUP BY 1",
    "group_by_all": "SELECT shop, day, sum(pieces) FROM sale GROUP BY ALL",
    "key_not_shown": "SELECT count(*) FROM sale GROUP BY shop",
    "key_twice": "SELECT shop, shop AS again, count(*) FROM sale GROUP BY shop",
    "expression_of_key": "SELECT concat(shop, '!') AS s, count(*) FROM sale GROUP BY shop",
    "keys_without_aggregate": "SELECT shop FROM sale GROUP BY shop",
    "constant_group": "SELECT 'all' AS g, count(*) FROM sale GROUP BY 'all'",
    "case_group": "SELECT CASE WHEN pieces > 4 THEN 'many' ELSE 'few' END AS c, sum(pieces) "
    "FROM sale GROUP BY CASE WHEN pieces > 4 THEN 'many' ELSE 'few' END",
    # counts and sums
    "count_star_and_column": "SELECT count(*), count(amount), count(1) FROM sale",
    "count_two_columns": "SELECT shop, count(DISTINCT day, pieces) FROM sale GROUP BY shop",
    "sum_of_nulls_only": "SELECT shop, sum(CASE WHEN FALSE THEN pieces END) FROM sale GROUP BY 1",
    "global_sum": "SELECT sum(pieces), avg(pieces), max(shop) FROM sale",
    "filter": "SELECT shop, sum(amount) FILTER (WHERE pieces > 3), count(*) FILTER (WHERE flag) "
    "FROM sale GROUP BY shop",
    "count_if": "SELECT shop, count_if(pieces > 3) FROM sale GROUP BY shop",
    "distinct_filter": "SELECT count(DISTINCT shop) FILTER (WHERE pieces > 3) FROM sale",
    "booleans": "SELECT shop, bool_and(flag), bool_or(flag), every(flag), some(flag), any(flag) "
    "FROM sale GROUP BY shop",
    "bits": "SELECT bit_and(pieces), bit_or(pieces), bit_xor(pieces) FROM sale",
    "max_by": "SELECT shop, max_by(id, id), min_by(amount, id) FROM sale GROUP BY shop",
    "max_by_filter": "SELECT max_by(shop, id) FILTER (WHERE pieces < 3) FROM sale",
    # averages, variances
    "average": "SELECT shop, avg(amount), avg(weight), avg(pieces), mean(rate) FROM sale "
    "GROUP BY 1",
    "variances": "SELECT shop, variance(weight), var_pop(weight), stddev(pieces), std(weight), "
    "stddev_pop(amount), var_samp(pieces) FROM sale GROUP BY shop",
    "variance_of_one_row": "SELECT id, var_samp(pieces), var_pop(pieces) FROM sale GROUP BY id",
    "variance_far_from_zero": "SELECT stddev(weight + 1000000.0) FROM sale WHERE pieces > 2",
    # decimals
    "decimal_scales": "SELECT shop, sum(amount * rate), sum(rate), sum(amount) FROM sale "
    "GROUP BY 1",
    "decimal_ratio": "SELECT shop, 100 * sum(amount * rate) / sum(rate) FROM sale GROUP BY shop",
    "decimal_of_sums": "SELECT sum(amount) + sum(rate) - sum(pieces) FROM sale",
    "sum_of_average": "SELECT sum(a) FROM (SELECT shop, avg(amount) AS a FROM sale GROUP BY shop)",
    # DISTINCT
    "distinct": "SELECT DISTINCT shop, day FROM sale",
    "distinct_expression": "SELECT DISTINCT pieces % 3 AS m FROM sale WHERE flag",
    "distinct_limited": "SELECT DISTINCT shop FROM sale ORDER BY shop DESC LIMIT 2",
    "distinct_ordered": "SELECT DISTINCT shop FROM sale ORDER BY shop",
    "count_distinct": "SELECT shop, count(DISTINCT day) FROM sale GROUP BY shop",
    "two_distincts": "SELECT shop, count(DISTINCT day), sum(DISTINCT pieces), count(*), "
    "sum(amount) FROM sale GROUP BY shop",
    "three_distincts": "SELECT count(DISTINCT day), count(DISTINCT shop), avg(DISTINCT pieces) "
    "FROM sale",
    "distincts_and_having": "SELECT shop, count(DISTINCT day) AS d FROM sale GROUP BY shop "
    "HAVING count(DISTINCT pieces) > 3 ORDER BY shop",
    "distinct_key": "SELECT shop, count(DISTINCT shop), count(DISTINCT id) FROM sale GROUP BY shop",
    "distinct_above_groups": "SELECT DISTINCT count(*) FROM sale GROUP BY shop",
    "union_distinct": "SELECT shop FROM sale UNION SELECT kind FROM part",
    "except": "SELECT shop FROM shop EXCEPT SELECT shop FROM sale",
    "intersect": "SELECT shop FROM sale INTERSECT SELECT shop FROM shop",
    # HAVING, ORDER BY, LIMIT
    "having": "SELECT shop, count(*) FROM sale GROUP BY shop HAVING sum(pieces) > 34",
    "having_alias": "SELECT shop, count(*) AS n FROM sale GROUP BY shop HAVING n > 10",
    "having_subquery": "SELECT shop, sum(pieces) FROM sale GROUP BY shop "
    "HAVING sum(pieces) > (SELECT avg(pieces) * 10 FROM sale)",
    "order_limit": "SELECT shop, count(*) AS n FROM sale GROUP BY shop ORDER BY shop LIMIT 2",
    "order_by_aggregate": "SELECT shop FROM sale GROUP BY shop ORDER BY sum(id) DESC LIMIT 3",
    "order_by_unnamed": "SELECT shop, count(*) FROM sale GROUP BY shop ORDER BY 2, 1",
    # ROLLUP and the like
    "rollup": "SELECT shop, day, sum(amount), count(*) FROM sale GROUP BY ROLLUP(shop, day)",
    "cube": "SELECT shop, flag, avg(pieces) FROM sale GROUP BY CUBE(shop, flag)",
    "grouping_sets": "SELECT shop, day, count(*) FROM sale "
    "GROUP BY GROUPING SETS ((shop), (day), ())",
    "grouping": "SELECT shop, grouping(shop) AS g, sum(pieces) FROM sale GROUP BY ROLLUP(shop)",
    "rollup_distinct": "SELECT shop, count(DISTINCT day), count(DISTINCT pieces), sum(pieces) "
    "FROM sale GROUP BY ROLLUP(shop)",
    "rollup_having": "SELECT shop, count(*) AS n FROM sale GROUP BY ROLLUP(shop) HAVING n > 12",
    "rollup_key_summed": "SELECT pieces, sum(pieces) FROM sale GROUP BY ROLLUP(pieces)",
    # expressions of aggregates
    "expression": "SELECT shop, sum(amount) / count(*) + 1 AS e FROM sale GROUP BY shop",
    "coalesced": "SELECT shop, coalesce(sum(amount), 0) FROM sale GROUP BY shop",
    "case_of_aggregates": "SELECT CASE WHEN sum(pieces) > 20 THEN max(shop) ELSE 'few' END "
    "FROM sale GROUP BY shop",
    "same_aggregate_twice": "SELECT sum(pieces), sum(pieces) + 1, -sum(pieces) FROM sale",
    "window_over_aggregate": "SELECT shop, sum(pieces), rank() OVER (ORDER BY sum(pieces) DESC) "
    "FROM sale GROUP BY shop",
    "sum_of_sum": "SELECT shop, day, sum(sum(pieces)) OVER (PARTITION BY shop) FROM sale "
    "GROUP BY shop, day",
    "named_window": "SELECT shop, rank() OVER w FROM sale GROUP BY shop "
    "WINDOW w AS (ORDER BY sum(id), shop)",
    # nested
    "nested": "SELECT max(n) FROM (SELECT shop, count(*) AS n FROM sale GROUP BY shop)",
    "nested_filter": "SELECT shop, n * 2 AS m FROM (SELECT shop, sum(pieces) AS n FROM sale "
    "GROUP BY shop) WHERE n > 34",
    "nested_thrice": "SELECT avg(m) FROM (SELECT city, max(n) AS m FROM (SELECT shop, "
    "count(*) AS n FROM sale GROUP BY shop) s JOIN shop USING (shop) GROUP BY city)",
    "with": "WITH s AS (SELECT shop, sum(pieces) AS p FROM sale GROUP BY shop) "
    "SELECT a.shop, b.p FROM s a JOIN s b ON a.shop = b.shop",
    "with_shadow": "WITH shop AS (SELECT shop, count(*) AS n FROM sale GROUP BY shop) "
    "SELECT n FROM shop",
    "scalar_share": "SELECT shop, sum(pieces) / (SELECT sum(pieces) FROM sale) FROM sale "
    "GROUP BY 1",
    # the same parent twice
    "self_join": "SELECT count(*), sum(a.pieces * b.sum) FROM sale a JOIN sale b ON a.id = b.id",
    "self_union": "SELECT count(*) FROM (SELECT shop FROM sale UNION ALL SELECT shop FROM sale)",
    "union_of_streams": "SELECT k, count(*) FROM (SELECT shop AS k FROM sale UNION ALL "
    "SELECT kind FROM part) GROUP BY k",
    "union_of_aggregates": "SELECT 's' AS t, count(*) FROM sale UNION ALL "
    "SELECT 'p', count(*) FROM part",
    "late_with_itself": "SELECT count(*) FROM sale WHERE pieces > (SELECT avg(pieces) FROM sale)",
    "late_correlated": "SELECT shop, count(*) FROM sale s WHERE pieces > "
    "(SELECT avg(pieces) FROM sale t WHERE t.day = s.day) GROUP BY shop",
    "late_distinct": "SELECT count(DISTINCT day), count(DISTINCT pieces) FROM sale "
    "WHERE pieces < (SELECT max(pieces) FROM sale)",
    "late_without_columns": "SELECT count(*), sum(pieces) FROM sale "
    "WHERE (SELECT count(*) FROM part) > 1000",
    "in_stream": "SELECT count(*) FROM sale WHERE shop IN (SELECT kind FROM part) OR pieces = 3",
    "not_in_static": "SELECT count(*) FROM sale WHERE shop NOT IN (SELECT city FROM shop "
    "WHERE city IS NOT NULL)",
    "static_in_stream": "SELECT city FROM shop WHERE shop IN (SELECT shop FROM sale)",
    "static_not_exists": "SELECT shop FROM shop WHERE NOT EXISTS "
    "(SELECT 1 FROM sale WHERE sale.shop = shop.shop AND pieces > 3)",
    "exists_alone": "SELECT city FROM shop WHERE EXISTS (SELECT * FROM sale WHERE pieces > 100)",
    # joins
    "join_static": "SELECT city, sum(amount) FROM sale JOIN shop USING (shop) GROUP BY city",
    "left_join_static": "SELECT city, count(*) FROM sale LEFT JOIN shop "
    "ON sale.shop = shop.shop GROUP BY city",
    "join_on_key": "SELECT kind, sum(s.pieces * p.price) FROM sale s, part p WHERE s.id = p.id "
    "GROUP BY kind",
    "left_join_on_key": "SELECT shop, count(p.id), count(*) FROM sale s LEFT JOIN part p "
    "ON s.id = p.id AND p.kind = 'x' GROUP BY shop",
    "full_join_on_key": "SELECT count(*), count(s.id), count(p.id) FROM "
    "(SELECT * FROM sale WHERE pieces > 3) s FULL JOIN (SELECT * FROM part WHERE kind = 'x') p "
    "ON s.id = p.id",
    "exists_on_key": "SELECT shop, count(*) FROM sale WHERE EXISTS "
    "(SELECT 1 FROM part WHERE part.id = sale.id AND kind = 'y') GROUP BY shop",
    "semi_join": "SELECT count(*) FROM sale LEFT SEMI JOIN part ON sale.id = part.id",
    "anti_join": "SELECT count(*) FROM sale LEFT ANTI JOIN part ON sale.id = part.id",
    "group_by_batch_key_below": "SELECT n, count(*) FROM (SELECT id, count(*) AS n FROM part "
    "GROUP BY id) GROUP BY n",
    "window_by_batch_key": "SELECT sum(r) FROM (SELECT rank() OVER (PARTITION BY id "
    "ORDER BY pieces) AS r FROM part)",
    "static_left_join_stream": "SELECT shop.shop, count(sale.id), sum(amount), count(*) FROM shop "
    "LEFT JOIN sale ON shop.shop = sale.shop AND pieces > 2 GROUP BY shop.shop",
    "split_coalesce": "SELECT shop.shop, sum(coalesce(sale.pieces, 100)) FROM shop "
    "LEFT JOIN sale ON shop.shop = sale.shop GROUP BY shop.shop",
    "split_where": "SELECT city, count(*), avg(size) FROM shop LEFT JOIN sale "
    "ON shop.shop = sale.shop WHERE sale.day IS NULL OR sale.day > DATE '2026-01-02' GROUP BY city",
    "split_weights": "SELECT sum(size), count(size), avg(size), sum(size * sale.pieces), max(city) "
    "FROM shop LEFT JOIN sale ON shop.shop = sale.shop",
    "split_weighted_floats": "SELECT sum(CAST(size AS FLOAT) / CAST(10 AS FLOAT)) FROM shop "
    "LEFT JOIN sale ON shop.shop = sale.shop",
    "split_distinct": "SELECT DISTINCT city, day FROM shop LEFT JOIN sale ON shop.shop = sale.shop",
    "right_join": "SELECT shop.shop, count(sale.id) FROM sale RIGHT JOIN shop "
    "ON shop.shop = sale.shop GROUP BY shop.shop",
    "full_join_static": "SELECT count(*), count(sale.id), count(city) FROM sale FULL JOIN shop "
    "ON shop.shop = sale.shop",
    "stream_with_its_aggregate": "SELECT s.shop, count(*), sum(s.amount), max(a.top) FROM sale s "
    "JOIN (SELECT shop, max(pieces) AS top FROM sale GROUP BY shop) a "
    "ON s.shop = a.shop AND s.pieces < a.top GROUP BY s.shop",
    "aggregates_joined": "SELECT x.shop, x.n, y.p FROM (SELECT shop, count(*) AS n FROM sale "
    "GROUP BY shop) x FULL JOIN (SELECT kind, count(*) AS p FROM part GROUP BY kind) y "
    "ON x.shop = y.kind",
    "constant_join": "SELECT count(*), min(size) FROM sale CROSS JOIN shop",
    "raw_rows_with_an_aggregate": "SELECT s.shop, sum(s.pieces * a.n) FROM sale s "
    "JOIN (SELECT kind, count(*) AS n FROM part GROUP BY kind) a ON s.shop = a.kind OR a.n > 9 "
    "GROUP BY s.shop",
    # what looks at other groups
    "compared_with_the_average": "WITH c AS (SELECT shop, sum(id) AS n FROM sale GROUP BY shop) "
    "SELECT shop, n FROM c WHERE n > (SELECT avg(n) FROM c)",
    "without_a_larger_one": "WITH c AS (SELECT shop, sum(id) AS n FROM sale GROUP BY shop) "
    "SELECT shop, n FROM c LEFT ANTI JOIN c AS d ON c.n < d.n",
    "top_three_in_parentheses": "(SELECT shop, count(*) AS n FROM sale GROUP BY shop) "
    "ORDER BY n DESC, shop LIMIT 3",
    "having_without_groups_below": "SELECT sum(x) FROM (SELECT 1 AS x FROM sale "
    "HAVING max(pieces) > 7) AS q",
    "any_as_an_aggregate": "SELECT shop, any(pieces > 7) AS a FROM sale GROUP BY ALL",
    # joined by name
    "dimension_behind_a_full_join": "SELECT shop, count(*), max(size) FROM (SELECT shop FROM sale) "
    "a FULL JOIN (SELECT city AS shop FROM shop) b USING (shop) LEFT JOIN shop c USING (shop) "
    "GROUP BY shop",
    # names
    "column_called_sum": "SELECT sum, sum(sum) FROM sale GROUP BY sum",
    "column_called_as_the_state": "SELECT shop AS s0, sum(pieces) AS k0 FROM sale GROUP BY shop",
    "table_called_as_the_column": "SELECT shop.shop, count(*) FROM shop JOIN sale "
    "ON sale.shop = shop.shop GROUP BY shop.shop",
    "table_called_as_a_partial": "SELECT partial_1.shop, count(*) FROM sale AS partial_1 "
    "WHERE pieces < (SELECT max(pieces) FROM sale) GROUP BY partial_1.shop",
    "odd_names": "SELECT shop AS `a b`, count(*) AS `count(1)` FROM sale GROUP BY shop",
    "limit_of_one_row": "SELECT sum(pieces) FROM sale LIMIT 100",
    "limit_of_one_row_of_two": "SELECT * FROM (SELECT sum(pieces) AS a FROM sale) AS p, "
    "(SELECT count(*) AS b FROM part) AS q LIMIT 3",
    "left_join_whose_matches_alone_stay": "SELECT sale.shop, count(*), max(part.id) FROM sale "
    "LEFT JOIN part ON sale.pieces = part.pieces WHERE part.id > 1 GROUP BY sale.shop",
    "star_below": "SELECT count(*) FROM (SELECT * FROM sale) AS q",
    "ranked_by_what_an_output_column_hides": "SELECT x.city, count(*), sum(id) FROM sale JOIN "
    "(SELECT shop, city, -size AS size, row_number() OVER (PARTITION BY city ORDER BY size) AS at "
    "FROM shop QUALIFY at = 1) AS x ON x.shop = sale.shop GROUP BY x.city",
    # what a subquery counts, in the words of the query around it
    "count_of_a_subquery_in_having": "SELECT shop FROM sale GROUP BY shop "
    "HAVING count(*) > (SELECT count(*) + 6 FROM shop)",
    "count_of_a_subquery_in_select": "SELECT shop, count(*) - (SELECT count(*) FROM shop "
    "WHERE shop.shop = sale.shop) AS a, (SELECT sum(1) FROM shop) AS b, sum(1) AS c "
    "FROM sale GROUP BY shop",
    "counts_of_subqueries_of_two_distincts": "SELECT count(DISTINCT shop) AS a, "
    "count(DISTINCT day) AS b, count(*) AS c, (SELECT count(*) FROM shop) AS d, "
    "EXISTS (SELECT 1 FROM shop HAVING count(*) > 9) AS e, "
    "(SELECT max(count(*)) OVER () FROM shop) AS f FROM sale",
    "ranked_by_a_key_that_is_shown_otherwise": "SELECT -pieces AS k0, count(*) FROM sale "
    "GROUP BY pieces QUALIFY rank() OVER (ORDER BY pieces) < 3",
}


@pytest.mark.parametrize("name", MERGES)
def test_merged_equals_at_once(shops, name):
    shops.check(MERGES[name])
    assert shops.at_once(MERGES[name]) or name in {"late_without_columns", "exists_alone"}


@pytest.mark.slow
@pytest.mark.parametrize("name", MERGES)
def test_merged_equals_at_once_before_any_row_has_come(nothing, name):
    nothing.check(MERGES[name])


KEPT = {
    "outer_join_across_batches": "SELECT sale.shop, count(*), count(part.id), sum(part.pieces), "
    "sum(sale.pieces) FROM sale LEFT JOIN part ON sale.pieces = part.pieces GROUP BY sale.shop",
    "outer_join_the_other_way": "SELECT part.kind, count(*), sum(amount), max(day) FROM sale "
    "RIGHT JOIN part ON sale.pieces = part.pieces AND sale.shop > 'a' GROUP BY part.kind",
    "rows_without_a_partner": "SELECT count(*), sum(amount) FROM sale LEFT JOIN part "
    "ON sale.pieces = part.pieces WHERE part.id IS NULL",
    "every_row_of_both": "SELECT shop, kind, count(*) FROM sale FULL JOIN part "
    "ON sale.pieces = part.pieces AND part.id > 1 GROUP BY shop, kind",
    "pairs_of_one_stream": "SELECT a.shop, count(*), sum(b.amount) FROM sale a JOIN sale b "
    "ON a.shop = b.shop AND a.id < b.id GROUP BY a.shop",
    "three_of_one_stream": "SELECT count(*) FROM sale a, sale b, sale c "
    "WHERE a.shop = b.shop AND b.shop = c.shop AND a.pieces <= b.pieces",
    "pairs_below_in": "SELECT count(DISTINCT id) FROM sale WHERE shop IN (SELECT a.shop FROM sale a"
    ", sale b WHERE a.shop = b.shop AND a.pieces <> b.pieces)",
    "conditions_over_all_below_a_union": "SELECT sum(v) FROM (SELECT pieces AS v FROM sale WHERE "
    "shop IN (SELECT shop FROM sale GROUP BY shop HAVING count(*) > 2) UNION ALL SELECT pieces "
    "FROM part WHERE kind NOT IN (SELECT shop FROM sale WHERE shop IS NOT NULL)) AS q",
    "constants_below_a_union": "SELECT what, count(*) FROM (SELECT 'sold' AS what, 1 AS one, shop "
    "FROM sale WHERE pieces > (SELECT avg(pieces) FROM sale) UNION ALL SELECT 'part', id, kind "
    "FROM part) AS q GROUP BY what",
    "words_of_sql_as_names": "SELECT `select`, count(*), sum(`group`) FROM (SELECT shop AS `select`"
    ", pieces AS `left` FROM sale) a LEFT JOIN (SELECT pieces AS `order by`, id AS `group` "
    "FROM part) b ON a.`left` = b.`order by` GROUP BY `select`",
    "rows_of_one_side_twice": "SELECT a.kind, count(*) FROM (SELECT kind, pieces FROM part) a "
    "LEFT JOIN sale b ON b.pieces = a.pieces LEFT JOIN sale c ON c.pieces = a.pieces "
    "GROUP BY a.kind",
}
"""Only with a state that holds rows of a stream."""


@pytest.mark.parametrize("name", KEPT)
def test_kept_rows_merged_equal_at_once(shops, monkeypatch, name):
    refused = shops.cut(KEPT[name])
    assert isinstance(refused, Reason)
    assert refused.code in {"JOIN_ACROSS_BATCHES", "KEEPS_ROWS"}
    monkeypatch.setattr(shops, "keeps_rows", True)
    shops.check(KEPT[name])
    assert shops.at_once(KEPT[name])


@pytest.mark.parametrize("name", KEPT)
def test_kept_rows_merged_equal_at_once_before_any_row_has_come(nothing, monkeypatch, name):
    monkeypatch.setattr(nothing, "keeps_rows", True)
    nothing.check(KEPT[name])


@pytest.mark.slow
def test_rows_that_are_kept_thousands_of_times_all_come_back(monkeypatch):
    merging = Merging([SALE, PART, SHOP], BATCHES, keeps_rows=True)
    counts = (1, 999, 1000, 1001, 2000, 2001)
    rows = [(n, f"p{n}", 0, None) for n in counts for _ in range(n)]
    merging.load(
        {
            "sale": [(n, "a", None, None, None, None, n, None, None, 0) for n in counts],
            "part": [(at, *row[1:2], row[0], None, at % BATCHES) for at, row in enumerate(rows)],
            "shop": [],
        }
    )
    query = "SELECT kind, count(*) AS n FROM sale FULL JOIN part ON part.pieces = sale.pieces + 1 "
    merging.check(query + "GROUP BY kind")
    found = dict(merging.at_once(query + "GROUP BY kind"))
    assert found == {f"p{n}": n for n in counts} | {None: 3}


NOT_KEPT = {
    "SELECT * FROM sale": "KEEPS_ROWS",
    "SELECT s.*, p.kind FROM sale s LEFT JOIN part p ON s.pieces = p.pieces": "KEEPS_ROWS",
    "SELECT sum(r) FROM (SELECT rank() OVER (PARTITION BY shop ORDER BY id) AS r FROM sale)":
        "WINDOW",
    "SELECT count(*) FROM (SELECT * FROM sale ORDER BY id LIMIT 10)": "KEEPS_ROWS",
    "SELECT count(*) FROM sale a, sale b": "JOIN_ACROSS_BATCHES",
    # 0.0 and -0.0 are one group and two values.
    "SELECT max(a.weight + b.weight) FROM sale a LEFT JOIN sale b ON a.pieces = b.pieces":
        "JOIN_ACROSS_BATCHES",
}  # fmt: skip


@pytest.mark.parametrize("query", NOT_KEPT)
def test_what_no_state_may_hold_is_refused(shops, monkeypatch, query):
    monkeypatch.setattr(shops, "keeps_rows", True)
    found = shops.cut(query)
    assert isinstance(found, Reason), found
    assert found.code == NOT_KEPT[query]


REFUSED = {
    "SELECT * FROM sale": "KEEPS_ROWS",
    "SELECT s.* FROM sale s JOIN part p ON s.id = p.id WHERE p.kind = 'x'": "KEEPS_ROWS",
    "SELECT shop FROM sale UNION ALL SELECT kind FROM part": "KEEPS_ROWS",
    "SELECT id, rank() OVER (PARTITION BY shop ORDER BY id) FROM sale": "WINDOW",
    "SELECT sum(r) FROM (SELECT rank() OVER (PARTITION BY shop ORDER BY id) AS r FROM sale)":
        "WINDOW",
    "SELECT shop, count(*) FROM sale GROUP BY shop LIMIT 3": "LIMIT_UNORDERED",
    "SELECT count(*) FROM (SELECT * FROM sale ORDER BY id LIMIT 10)": "KEEPS_ROWS",
    "SELECT shop, count(*) FROM sale GROUP BY shop "
    "HAVING EXISTS (SELECT 1 FROM shop WHERE size < count(sale.shop))": "KEEPS_ROWS",
    "SELECT shop.size FROM shop LEFT JOIN sale ON shop.shop = sale.shop GROUP BY shop.size "
    "HAVING EXISTS (SELECT 1 FROM shop s WHERE s.size < sum(shop.size))": "KEEPS_ROWS",
    "SELECT mode(shop) FROM sale": "HOLISTIC",
    "SELECT approx_count_distinct(shop) FROM sale": "APPROXIMATE",
    "SELECT percentile_approx(pieces, 0.5) FROM sale": "APPROXIMATE",
    "SELECT hll_sketch_agg(pieces) FROM sale": "APPROXIMATE",
    "SELECT corr(weight, pieces) FROM sale": "AGGREGATE",
    "SELECT try_sum(pieces) FROM sale": "AGGREGATE",
    "SELECT first(shop) FROM sale": "ORDER_DEPENDENT",
    "SELECT any_value(shop) FROM sale": "ORDER_DEPENDENT",
    "SELECT collect_list(shop) FROM sale": "ORDER_DEPENDENT",
    "SELECT my_own(shop), count(*) FROM sale GROUP BY 1": "UNKNOWN_FUNCTION",
    "SELECT count(*) FROM sale WHERE day = current_date()": "CLOCK",
    "SELECT sum(rand()) FROM sale": "VOLATILE",
    "SELECT session_window(cast(day AS timestamp), '1 day'), count(*) FROM sale GROUP BY 1":
        "SESSION",
    "SELECT count(*) FROM shop LEFT JOIN sale ON shop.shop = sale.shop LEFT JOIN part "
    "ON sale.id = part.id": "STATIC_OUTER",
    "SELECT count(*) FROM sale LEFT JOIN part ON sale.shop = part.kind": "JOIN_ACROSS_BATCHES",
    "SELECT count(*) FROM sale a JOIN sale b ON a.shop = b.shop": "JOIN_ACROSS_BATCHES",
    "SELECT stddev(size) FROM shop LEFT JOIN sale ON shop.shop = sale.shop": "AGGREGATE",
    "SELECT count(*) FROM shop WHERE shop IN (SELECT shop FROM sale ORDER BY shop OFFSET 2)":
        "KEEPS_ROWS",
    "SELECT count(*) FROM shop WHERE EXISTS (SELECT 1 FROM sale WHERE sale.shop = shop.shop "
    "ORDER BY id OFFSET 2)": "KEEPS_ROWS",
    "SELECT count(*) FROM ((SELECT id FROM sale) ORDER BY id LIMIT 10)": "KEEPS_ROWS",
    "SELECT count(*) FROM shop": "NO_STREAM",
    "SELECT (SELECT pieces FROM sale WHERE id = 3) FROM shop": "KEEPS_ROWS",
    "SELECT count(*) FROM nowhere": "UNKNOWN_TABLE",
    # sqlglot writes the place of the constant for its name
    "SELECT max(id) AS m, 3 AS n FROM sale GROUP BY pieces % n": "SYNTAX",
    "SELECT 'x' AS t, count(*) FROM sale GROUP BY concat(shop, T)": "SYNTAX",
    "SELECT count(*), -2 AS a, a AS b FROM sale GROUP BY pieces + b": "SYNTAX",
    "SELECT shop, 7 AS n, count(*) FROM sale GROUP BY ROLLUP (shop, n)": "SYNTAX",
}  # fmt: skip


@pytest.mark.parametrize("query", REFUSED)
def test_what_has_no_merge_is_refused_with_its_code(query):
    found = decompose_with_any_type(query)
    assert isinstance(found, Reason), found
    assert found.code == REFUSED[query], found
    assert found.message


@pytest.mark.parametrize(
    ("shown", "keys"),
    [
        ("3 AS n, shop", "shop, n"),
        ("3 AS n, pieces % 3 AS m", "pieces % 3"),
        ("3 AS id", "sale.id % 2"),
    ],
)
def test_constants_that_no_key_computes_with_are_no_doubt(shown, keys):
    query = f"SELECT {shown}, count(*) AS c FROM sale GROUP BY {keys}"
    assert isinstance(decompose_with_any_type(query), Decomposition)


def test_fields_of_a_struct_have_to_be_named():
    query = "SELECT s.*, count(*) AS n FROM held GROUP BY s"
    source = Source("held", {"s": "struct<a:int,b:int>"})

    def typer(text):
        tree = sqlglot.parse_one(text)
        assert isinstance(tree, exp.Query)
        return [
            (name, "int") for name in (["a", "b", "n"] if text == query else tree.named_selects)
        ]

    found = decompose(query, [source], typer)
    assert isinstance(found, Reason), found
    assert (found.code, found.message) == ("SYNTAX", "the fields of a struct stand as *; name them")


def decompose_with_any_type(query):
    """For queries that DuckDB itself would not type."""
    return decompose(query, [SALE, PART, SHOP], all_of("double"))


def all_of(type_):
    """A typer to which every column has the same type."""

    def typer(text):
        tree = sqlglot.parse_one(text, dialect="spark")
        assert isinstance(tree, exp.Query)
        return [(name or "c", type_) for name in tree.named_selects]

    return typer


@pytest.mark.parametrize(
    "query",
    [
        "SELECT shop, count(*) AS n FROM sale GROUP BY shop",
        "SELECT day, max(shop) AS m FROM sale GROUP BY day",
        "SELECT count(DISTINCT shop) AS n FROM sale",
        "SELECT DISTINCT shop FROM sale",
        "SELECT count(*) AS n FROM sale JOIN shop ON sale.shop = shop.shop",
    ],
)
@pytest.mark.parametrize(
    "type_",
    ["string collate UTF8_LCASE", "struct<a:string collate de_CI>", "interval day to second",
     "array<interval year>", "map<string,void>"],
)  # fmt: skip
def test_a_state_has_no_type_that_delta_cannot_store(query, type_):
    found = decompose(query, [SALE, SHOP], all_of(type_))
    assert isinstance(found, Reason)
    assert found.code == "STATE_TYPE"


@pytest.mark.parametrize(
    ("type_", "merges"),
    [("decimal(38,22)", True), ("decimal(16,6)", True), ("decimal(38,34)", False),
     ("decimal(38,4)", False)],
)  # fmt: skip
def test_an_average_merges_where_no_digit_is_lost(type_, merges):
    found = decompose("SELECT avg(rate) AS a FROM sale", [SALE], all_of(type_))
    assert (found.code if isinstance(found, Reason) else None) == (None if merges else "AGGREGATE")


@pytest.mark.parametrize(
    ("type_", "merges"),
    [("decimal(35,3)", True), ("decimal(36,3)", False), ("decimal(35,0)", True),
     ("decimal(38,0)", False), ("double", True)],
)  # fmt: skip
def test_rows_that_stand_for_several_are_summed_where_no_digit_is_lost(type_, merges):
    query = (
        "SELECT a.kind, sum(a.v) AS s FROM sale s JOIN (SELECT kind, max(price) AS v FROM part "
        "GROUP BY kind) a ON s.shop = a.kind GROUP BY a.kind"
    )

    found = decompose(query, [SALE, PART], all_of(type_))
    assert (found.code if isinstance(found, Reason) else None) == (None if merges else "AGGREGATE")


EDGES = (1, 3, 4, 25, 26, 28, 29, 34, 35, 38)
"""Numbers of digits where something changes: their scale, the answer, where a type is full."""


@pytest.mark.parametrize("digits", share(range(1, 39), part=38, always=EDGES))
def test_an_average_with_weights_merges_where_the_sum_with_them_does(digits):
    """Its type has 4 digits more than the values have, and the sum's 10, up to 38."""
    scale = min(digits, 3)
    query = (
        "SELECT a.kind, {}(a.v) AS s FROM sale s JOIN (SELECT kind, max(price) AS v FROM part "
        "GROUP BY kind) a ON s.shop = a.kind GROUP BY a.kind"
    )
    found = [
        decompose(query.format(name), [SALE, PART], all_of(f"decimal({min(wide, 38)},{behind})"))
        for name, wide, behind in (("sum", digits + 10, scale), ("avg", digits + 4, scale + 4))
    ]
    assert [isinstance(each, Reason) for each in found] == [digits > 25] * 2


@pytest.mark.parametrize("sets", ["()", "(), ()", "(), (), ()"])
def test_sets_without_a_key_are_made_of_rows_alone(shops, sets):
    """To Spark there is no set where there is no row; a state of all rows would be one."""
    cut = shops.check(f"SELECT count(*) AS n FROM sale GROUP BY GROUPING SETS ({sets})")
    assert [partial.keys for partial in cut.partials] == [("k0",)]


def test_each_distinct_argument_has_a_partial_of_its_own(shops):
    cut = shops.check(MERGES["two_distincts"])
    assert [len(partial.keys) for partial in cut.partials] == [2, 2]


def test_inner_joined_streams_without_a_batch_key_merge_each_in_turn(shops):
    cut = shops.check(
        "SELECT kind, count(*), sum(amount * price) FROM sale JOIN part ON sale.shop = 'a' AND "
        "sale.pieces = part.pieces GROUP BY kind"
    )
    assert cut.linearity == "each"
    assert cut.group_columns == {"kind": "k0"}


@pytest.mark.parametrize(
    ("name", "groups"),
    [
        ("null_group", {"shop": "k0"}),
        ("having", {"shop": "k0"}),
        ("distinct", None),
        ("nested_filter", {"shop": "k0"}),
        ("order_by_unnamed", {"shop": "k0"}),
        ("order_limit", None),
        ("window_over_aggregate", None),
        ("count_distinct", None),
        ("rollup", None),
        ("key_not_shown", None),
        ("expression_of_key", None),
        ("having_subquery", None),
        ("late_correlated", None),
        ("nested", None),
        ("global_sum", None),
        ("static_left_join_stream", None),
        ("compared_with_the_average", None),
        ("without_a_larger_one", None),
        ("top_three_in_parentheses", None),
        ("any_as_an_aggregate", {"shop": "k0"}),
    ],
)
def test_groups_are_named_only_where_each_row_is_a_function_of_one(shops, name, groups):
    assert shops.check(MERGES[name]).group_columns == groups
