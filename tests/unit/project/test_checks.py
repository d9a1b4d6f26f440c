"""``checks:`` of freshline.yml."""

from __future__ import annotations

from pathlib import Path

from freshline.core.errors import Place
from freshline.project.load import collect
from freshline.project.model import DataCheck

TOP = """\
name: shop
storage: warehouse
libraries: [{glob: {include: "*.sql"}}]
feeds: {f: {kind: files, path: f, format: csv, schema: "id INT, s STRING"}}
checks:
"""


def read(tmp_path: Path, checks: str):
    (tmp_path / "freshline.yml").write_text(TOP + checks)
    (tmp_path / "t.sql").write_text(
        "CREATE STREAMING TABLE orders AS SELECT * FROM STREAM f;\n"
        "CREATE MATERIALIZED VIEW kinds AS SELECT DISTINCT s FROM orders;\n"
    )
    project, errors = collect(tmp_path, tmp_path)
    return None if project is None else project.checks, [error.render() for error in errors]


def test_the_four_kinds(tmp_path):
    checks, errors = read(
        tmp_path,
        "  ORDERS:\n"
        "    - unique: id\n"
        "    - {unique: [id, s], name: pairs, severity: warn}\n"
        "    - {not_null: s, where: id > 3}\n"
        "    - {accepted_values: s, values: [a, 1]}\n"
        "    - {relationships: s, to: Kinds, field: s}\n"
        "    - {relationships: s, to: lake.words, field: s}\n",
    )
    at = [Place("freshline.yml", line) for line in range(7, 13)]
    assert errors == []
    assert checks == {
        "orders": (
            DataCheck("unique of id", "unique", at[0], ("id",)),
            DataCheck("pairs", "unique", at[1], ("id", "s"), warns=True),
            DataCheck("not_null of s", "not_null", at[2], ("s",), where="id > 3"),
            DataCheck("accepted_values of s", "accepted_values", at[3], ("s",), values=("a", 1)),
            DataCheck("relationships of s", "relationships", at[4], ("s",), to="kinds", field="s"),
            DataCheck(
                "relationships of s", "relationships", at[5], ("s",), to="lake.words", field="s"
            ),
        )
    }


def test_what_is_wrong_is_told_with_its_line(tmp_path):
    checks, errors = read(
        tmp_path,
        "  order: [{unique: id}]\n"
        "  kinds: {unique: s}\n"
        "  orders:\n"
        "    - {unique: id, not_null: id}\n"
        "    - {wher: id}\n"
        "    - {not_null: [id, s]}\n"
        "    - {not_null: id, values: [1]}\n"
        "    - {accepted_values: s}\n"
        "    - {accepted_values: s, values: {a: b}}\n"
        "    - {relationships: s, to: kind, field: s, severity: bad}\n",
    )
    assert checks is None
    assert [error.split(";")[0] for error in errors] == [
        "[unknown-table] freshline.yml:6: checks names the unknown table 'order'",
        "[bad-value] freshline.yml:7: the checks of kinds are no list",
        "[bad-check] freshline.yml:9: check 1 of orders has unique, not_null",
        "[unknown-key] freshline.yml:10: check 2 of orders has the unknown key 'wher'",
        "[bad-check] freshline.yml:10: check 2 of orders has no kind",
        "[bad-value] freshline.yml:11: not_null of check 3 of orders names no column",
        "[bad-check] freshline.yml:12: check 4 of orders has values, and is not_null",
        "[missing-key] freshline.yml:13: check 5 of orders has no values",
        "[bad-value] freshline.yml:14: values of check 6 of orders is no list of texts or numbers",
        "[unknown-table] freshline.yml:15: check 7 of orders refers to the unknown table 'kind'",
        "[bad-value] freshline.yml:15: severity of check 7 of orders is 'bad'",
    ]


def test_two_lists_for_one_table_are_refused(tmp_path):
    """The first one would be dropped: names are compared without case."""
    checks, errors = read(tmp_path, "  orders: [{unique: id}]\n  ORDERS: [{not_null: s}]\n")
    assert checks is None
    (error,) = errors
    assert error == (
        "[duplicate-name] freshline.yml:7: checks of orders and ORDERS are of the same table; names"
        " are compared without case. Put the checks of a table into one list."
    )


def test_a_value_that_yaml_reads_as_another_one_is_refused(tmp_path):
    """Most people mean texts by ``no`` and ``010``; YAML reads FALSE and 8."""
    checks, errors = read(
        tmp_path,
        "  orders:\n"
        "    - {accepted_values: s, values: [de, no,\n"
        "        010]}\n"
        "    - {accepted_values: s, values: [yes, no]}\n"
        "    - {accepted_values: s, values: [12:30, 0, 0.5, -3]}\n"
        "    - {accepted_values: s, values: [1, true]}\n",
    )
    assert checks is None
    rule = "true and false stand in a list of their own, and a number begins with no 0"
    assert errors == [
        f"[bad-value] freshline.yml:{line}: values of check {at} of orders has {word}, which YAML"
        f" reads as {value}; {rule}. Write '{word}' where it is a text."
        for line, at, word, value in [
            (7, 1, "no", "false"),
            (8, 1, "010", "8"),
            (9, 2, "yes", "true"),
            (9, 2, "no", "false"),
            (10, 3, "12:30", "750"),
            (11, 4, "true", "true"),
        ]
    ]


def test_values_in_quotes_and_lists_of_true_and_false_are_what_they_are(tmp_path):
    checks, errors = read(
        tmp_path,
        "  orders:\n"
        "    - {accepted_values: s, values: [de, 'no', '010']}\n"
        "    - {accepted_values: id > 1, values: [true, False]}\n",
    )
    assert errors == []
    assert checks is not None
    assert [each.values for each in checks["orders"]] == [("de", "no", "010"), (True, False)]
