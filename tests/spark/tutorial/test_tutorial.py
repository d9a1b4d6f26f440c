"""The tutorial does what it shows, typed into a shell from its first command to its last."""

from __future__ import annotations

import re

import pytest

from tests.spark.tutorial.commands import PAGE, carried_out, typed

pytestmark = [
    pytest.mark.spark, pytest.mark.slow, pytest.mark.proof, pytest.mark.timeout(1500),
]  # fmt: skip

TABLES = ("orders", "best_products", "sales_by_minute", "sales_by_hour")


def test_the_tutorial_does_what_it_shows(tmp_path):
    commands = typed(PAGE.read_text(encoding="utf-8"))
    came = carried_out([each.command for each in commands], tmp_path)
    told = dict(zip((each.command for each in commands), came, strict=True))
    assert [(name, each.printed) for name, each in told.items() if each.status] == []
    run = told["freshline run --until-idle"].printed
    assert [re.search(rf"^.* {name} .*, full$", run, re.MULTILINE) is None for name in TABLES] == [
        True, False, False, False,
    ]  # fmt: skip
    assert " bucket-merge" in told["grep sales_by_minute run.log"].printed
    assert "Chosen with index" in told["freshline story best_products --last 2"].printed
    status = told["freshline status"].printed
    states = re.findall(rf"^({'|'.join(TABLES)}) +(\w+) ", status, re.MULTILINE)
    assert dict(states) == {
        "orders": "late", "best_products": "fresh", "sales_by_minute": "late",
        "sales_by_hour": "fresh",
    }  # fmt: skip
    assert "feed orders_feed: silent, nothing since" in status
    assert told["freshline verify sales_by_minute best_products"].printed.endswith(
        "best_products: 1 version right\nsales_by_minute: 1 version right\n"
    )
