"""The pages that are written from the code say what the code says."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import fields as fields_of

import pytest

from freshline.core.assembly import PolicySettings
from freshline.sim import reports
from freshline.sim.scenario import file, queue_scenario
from scripts.json_page import fields
from scripts.json_texts import RECORDS, TEXTS
from scripts.write_reference import REFERENCE, ROOT, pages


@pytest.mark.parametrize("path", pages(), ids=lambda path: str(path)[-24:])
def test_pages_written_from_the_code_are_up_to_date(path):
    text = pages()[path]()
    written = path.read_text(encoding="utf-8")
    assert written == text, f"run `make reference`: {path.relative_to(ROOT)} is of other code"


@pytest.mark.parametrize(
    ("page", "keys"),
    [
        (
            "updates",
            {*file._KEYS, *file._TABLE_KEYS, *(each.name for each in fields_of(PolicySettings))}
            - {"backfill_share"},
        ),
        (
            "reports",
            {*reports.PLAN_KEYS, *reports.RUN_KEYS, *reports.REPORT_KEYS, *reports.POLICY_KEYS},
        ),
        ("queues", {*queue_scenario._KEYS}),
    ],
)
def test_every_key_of_a_scenario_is_on_its_page(page, keys):
    text = (REFERENCE / f"scenario-{page}.md").read_text(encoding="utf-8")
    in_yaml = "\n".join(re.findall(r"```yaml\n(.*?)```", text, re.DOTALL))
    assert {key for key in keys if not re.search(rf"\b{key}:", in_yaml)} == set()


def test_no_two_metrics_have_one_name():
    names = re.findall(r"^\| `(\w+)", (REFERENCE / "metrics.md").read_text(), re.MULTILINE)
    assert len(names) > 50
    assert [name for name, count in Counter(names).items() if count > 1] == []


def test_no_field_of_json_is_described_that_nothing_prints():
    written: dict[str, set[str]] = {}
    for records in RECORDS.values():
        for module, name, _ in records:
            written.setdefault(name, set()).update(fields(module, name))
    assert {name: set(texts) - written[name] for name, texts in TEXTS.items()} == {
        name: set() for name in TEXTS
    }


def test_fields_inside_of_lists_and_of_dictionaries_are_found():
    found = fields("render.story", "chapter_record")
    assert {"number", "passed_over", "passed_over[].table", "meanwhile[].overlap_s"} <= set(found)
    assert "last_update.number" in fields("render.status", "table_record")


def test_every_code_of_the_analysis_in_a_test_of_plans_is_explained():
    page = (REFERENCE / "reasons.md").read_text(encoding="utf-8")
    views = (ROOT / "docs" / "views.md").read_text(encoding="utf-8")
    told = set(re.findall(r"^\| `([A-Z_]+)`", page, re.MULTILINE))
    used = set(re.findall(r"\| ([A-Z_]{4,}): ", views))
    assert used
    assert used - told == set()
