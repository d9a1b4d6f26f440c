"""From a project's queries to plans, and updates by the plans that analysis made."""

from __future__ import annotations

import random
from collections import Counter
from itertools import combinations

import pyarrow as pa
import pytest
from py4j.clientserver import JavaClient
from py4j.protocol import MEMORY_COMMAND_NAME
from pyspark.sql import SparkSession
from pyspark.sql.types import StructType
from sqlglot import exp
from sqlglot.dialects.spark import Spark

from freshline.spark.analysis import analyse
from freshline.spark.engine import jvm
from freshline.spark.views.asked import Remembered
from freshline.spark.views.plans import plan_of
from freshline.sql.query.records import Buckets, Decomposition, Reason, ViewPlan
from freshline.sql.strategy import strategy
from freshline.sql.text.builtin import ELSEWHERE
from tests.spark.arrivals import Arrivals
from tests.spark.conftest import Shop

pytestmark = pytest.mark.spark

VIEWS = {
    "hourly": "SELECT date_trunc('HOUR', at) AS hour, count(*) AS n, sum(cents) AS cents"
    " FROM events GROUP BY 1",
    "daily": "SELECT date_trunc('DAY', hour) AS day, sum(n) AS n FROM hourly GROUP BY 1",
    "days": "SELECT CAST(at AS DATE) AS day, max(cents) AS most, min(person) AS who"
    " FROM events GROUP BY 1",
    "near": "SELECT e.id, v.id AS visit, e.at FROM events e JOIN visits v"
    " ON v.at > e.at - INTERVAL 10 MINUTES AND v.at <= e.at",
    "filtered": "SELECT id, at, cents * 2 AS twice FROM events WHERE cents > 300",
    "people": "SELECT person, count(cents) AS n, avg(cents) AS mean, stddev(cents) AS deviation"
    " FROM events GROUP BY person",
    "pairs": "SELECT e.person, count(*) AS n FROM events e JOIN visits v ON e.person = v.person"
    " GROUP BY e.person",
    "regions": "SELECT r.region, count(*) AS n, sum(e.cents) AS cents FROM events e"
    " JOIN delta.`stat.ic/region` r ON e.person = r.person GROUP BY r.region",
    "newest": "SELECT person, id, cents FROM events"
    " QUALIFY row_number() OVER (PARTITION BY person ORDER BY at DESC, id DESC) = 1",
    "spread": "SELECT percentile_approx(cents, 0.5) AS half FROM events",
}
EXPECTED = {
    "hourly": "bucket-recompute",
    "daily": "bucket-recompute",
    "days": "bucket-recompute",
    "near": "bucket-recompute",
    "filtered": "append",
    "people": "group-merge",
    "pairs": "group-merge",
    "regions": "group-merge",
    "newest": "key-recompute",
    "spread": "full",
}


def declare(shop: Shop) -> None:
    """A project of views of all kinds, without a row yet."""
    for name in ("events", "visits"):
        shop.feed(f"{name}_feed", "csv", "id BIGINT, at TIMESTAMP, person STRING, cents BIGINT")
        shop.table(name, f"SELECT * FROM STREAM {name}_feed", time_column="at")
    rows = pa.table({"person": ["ann", "bob", "o'hara"], "region": ["n", "s", "n"]})
    shop.delta("stat.ic/region", rows)
    for name, query in VIEWS.items():
        shop.table(name, query, refresh="incremental")


@pytest.fixture
def arrivals(shop) -> Arrivals:
    declare(shop)
    return Arrivals(shop, random.Random(9))


def test_spark_analyses_each_text_once_for_all_checks_of_a_view(shop, arrivals, monkeypatch):
    project = shop.project
    events = analyse(project, shop.session).schemas["events"]
    texts = []
    real = jvm.query

    def noted(session, text):
        texts.append(text)
        return real(session, text)

    monkeypatch.setattr(jvm, "query", noted)
    monkeypatch.delattr(SparkSession, "sql")  # nobody asks in another way
    for view in ("people", "hourly"):
        texts.clear()
        plan = plan_of(shop.session, project, project.table(view), {"events": events})
        assert isinstance(plan.merge, Decomposition)
        assert {plan.merge.final, plan.merge.partials[0].query} <= set(texts)
        assert Counter(texts).most_common(1)[0][1] == 1


def test_a_query_sees_the_tables_that_were_shown_for_it_and_no_others(spark):
    asked = Remembered(spark.newSession())
    narrow = StructType().add("id", "long", False)
    wide = StructType().add("id", "long").add("At", "timestamp")
    for _ in range(2):  # the second time they are put back
        asked.show("One", narrow)
        asked.show("two", wide)
        one, two = (asked.sql(f"SELECT id FROM {name}") for name in ("one", "TWO"))
        assert asked.sql("SELECT id FROM one") is one
        assert one.schema.fields[0].nullable
        # Of tables without rows, too, Spark's optimiser must not think that they are the same.
        asked.show("three", wide)
        plans = [
            jvm.java_frame(each).queryExecution().optimizedPlan()
            for each in (one, two, asked.sql("SELECT id FROM three"))
        ]
        assert not any(mine.sameResult(other) for mine, other in combinations(plans, 2))
        asked.show("one", wide)  # it is another table now
        assert len(asked.sql("SELECT * FROM one").columns) == 2
        assert asked.sql("SELECT id FROM one") is not one
        asked.view("seen", asked.sql("SELECT At FROM two"))
        assert asked.sql("SELECT * FROM seen").columns == ["At"]
        asked.forget()
        for name in ("one", "two", "three", "seen"):
            with pytest.raises(Exception, match="TABLE_OR_VIEW_NOT_FOUND"):
                asked.sql(f"SELECT 1 FROM {name}")


MOST_ANALYSES, MOST_MESSAGES = 8, 80
"""Of Spark, for a view that merges into itself over one table; without what py4j lets go of."""


def test_a_view_more_costs_few_analyses_and_messages(shop, monkeypatch):
    """As many views again cost as much again: nothing is asked for each pair of tables."""
    shop.feed("events_feed", "csv", "id BIGINT, at TIMESTAMP, person STRING, cents BIGINT")
    shop.table("events", "SELECT * FROM STREAM events_feed")
    texts, messages = [], []
    query, send = jvm.query, JavaClient.send_command

    def asked(session, text):
        texts.append(text)
        return query(session, text)

    def sent(self, command, *more, **named):
        if not command.startswith(MEMORY_COMMAND_NAME):
            messages.append(command)
        return send(self, command, *more, **named)

    monkeypatch.setattr(jvm, "query", asked)
    monkeypatch.setattr(JavaClient, "send_command", sent)

    def counted(views: int) -> tuple[int, int]:
        for number in range(len(shop.tables) - 1, views):
            shop.table(
                f"people_{number}",
                f"SELECT person, count(*) AS n, sum(cents) + {number} AS total FROM events"
                " GROUP BY person",
            )
        texts.clear()
        messages.clear()
        found = analyse(shop.project, shop.session)
        assert [each.render() for each in found.errors] == []
        assert len(found.plans) == views
        return len(texts), len(messages)

    counted(1)  # names of classes are asked for once in a process
    few, many = counted(2), counted(6)
    analyses, said = ((more - less) / 4 for more, less in zip(many, few, strict=True))
    assert analyses <= MOST_ANALYSES
    assert said <= MOST_MESSAGES


def test_every_view_has_a_plan_before_there_is_a_row(shop, arrivals):
    found = shop.executor.analyse()
    assert [each.render() for each in found.errors] == []
    told = {
        name: strategy(shop.project.table(name), plan).name for name, plan in found.plans.items()
    }
    assert told == EXPECTED
    hourly: ViewPlan = found.plans["hourly"]
    assert isinstance(hourly.buckets, Buckets)
    assert hourly.buckets.reads["events"].column == "at"
    assert isinstance(found.plans["regions"].merge, Decomposition)


@pytest.mark.proof
@pytest.mark.timeout(1200)
def test_views_follow_their_plans_and_equal_their_queries(arrivals):
    told: dict[str, set[str]] = {name: set() for name in VIEWS}
    for hour in range(2):  # the first builds them
        arrivals.come("events", arrivals.rows(20 * hour, 25))
        arrivals.come("visits", arrivals.rows(20 * hour, 20))
        for name in VIEWS:
            strategy_name = arrivals.update(name).strategy
            if hour:
                told[name].add(strategy_name)
    assert told == {name: {way} for name, way in EXPECTED.items()}
    arrivals.go("events", "id % 4 = 0")
    by_rewriting = {name: arrivals.update(name).strategy for name in VIEWS}
    buckets = {name for name, way in by_rewriting.items() if way == "bucket-recompute"}
    assert buckets == {"hourly", "daily", "days", "near", "filtered"}


def test_what_a_query_does_not_allow_is_refused_where_it_must_be(shop, arrivals):
    shop.tables = [table for table in shop.tables if table.name in ("events", "visits")]
    shop.table("strict", VIEWS["spread"], refresh="incremental_strict")
    shop.table("early", VIEWS["hourly"], refresh="incremental_strict")
    shop.table("final", VIEWS["people"], emit="final")
    # What merges over a base table cannot over a view that replaces its buckets.
    shop.table("over", "SELECT count(*) AS n FROM early", refresh="incremental_strict")
    shop.table("above", "SELECT count(*) AS n FROM events", refresh="incremental_strict")
    errors = shop.executor.analyse().errors
    assert [(error.code, error.where.file) for error in errors] == [
        ("not-incremental", "tables/strict.sql"),
        ("no-buckets", "tables/final.sql"),
        ("not-incremental", "tables/over.sql"),
    ]
    assert errors[2].rule == "parent-rewrote"
    assert errors[0].what.startswith(
        "view strict has 'freshline.refresh' = 'incremental_strict', but can only be computed in"
        " full: "
    )


def test_a_function_of_the_catalog_is_not_trusted_whatever_it_is_called(shop, arrivals, spark):
    """sqlglot takes STRPOS for a function that it knows, and Spark has none of this name."""
    people = "CREATE FUNCTION default.strpos(a STRING, b STRING) RETURNS INT RETURN length(a)"
    shop.table("at", "SELECT id, strpos(person, 'o') AS o FROM events", refresh="incremental")
    shop.table("named", "SELECT id, `STRPOS`(person, 'o') AS o FROM events", refresh="incremental")
    spark.sql(people)
    try:
        plans = analyse(shop.project, shop.session).plans
    finally:
        spark.sql("DROP FUNCTION default.strpos")
    for name in ("at", "named"):
        assert getattr(plans[name].appends, "code", None) == "UNKNOWN_FUNCTION"
    assert plans["filtered"].appends == "joint"


# Spark's grammar reads these itself, or refuses them; the others name hints.
WORDS = {
    "apply", "broadcast", "broadcastjoin", "insert", "localtime", "mapjoin", "match", "merge",
    "mergejoin", "shuffle_hash", "shuffle_replicate_nl", "shufflemerge", "timestamp_ltz",
    "timestamp_ntz", "timestampadd", "timestampdiff", "try_cast",
}  # fmt: skip


def test_functions_of_elsewhere_are_all_that_sqlglot_knows_and_spark_has_not(spark):
    parser = Spark.Parser
    known = {*exp.FUNCTION_BY_NAME, *parser.FUNCTIONS, *parser.FUNCTION_PARSERS}
    known |= set(parser.NO_PAREN_FUNCTION_PARSERS)
    sparks = {row.function for row in spark.sql("SHOW SYSTEM FUNCTIONS").collect()}
    assert {name.lower() for name in known} - sparks - WORDS == ELSEWHERE


def test_a_letter_that_spark_tells_apart_from_its_lower_case_is_in_no_key(shop):
    """To Python the lower case of this I is two letters, which Spark does not take for the one."""
    shop.feed("orders_feed", "parquet", "`İl` STRING, at BIGINT, n BIGINT")
    shop.table("orders", "SELECT * FROM STREAM orders_feed")
    rank = "row_number() OVER (PARTITION BY `İl` ORDER BY at DESC)"
    newest = f"SELECT `İl`, n FROM orders QUALIFY {rank} = 1"
    shop.table("newest", newest, refresh="incremental")
    for number in range(1, 4):
        rows = pa.table({"İl": ["Ankara"], "at": [number], "n": [number]})
        told = shop.derive("newest", orders=shop.come("orders", rows))
        assert told.strategy == "full"
        assert shop.rows("newest") == [{"İl": "Ankara", "n": number}]
    plan = shop.plan().plans["newest"]
    assert isinstance(plan.keys, Reason)
    assert plan.keys.code == "DOTTED_I"
