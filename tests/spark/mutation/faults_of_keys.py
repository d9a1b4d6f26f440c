"""Faults in what is said of keys, and in how the keys of changed rows are computed again."""

from __future__ import annotations

from dataclasses import replace

from tests.spark.mutation.fault import faults_in
from tests.spark.mutation.faults_of_times import BUCKETS

_OF_THE_WALK = (
    "a LIMIT is passed over",
    "a NOT EXISTS is read as EXISTS",
    "a row without a match does not depend on the other side",
    "a subquery in WHERE is not looked at",
    "a union takes the times of its first branch alone",
    "after <=> a time is never NULL",
    "any time of a source counts as its event time",
    "coalesce is its first argument",
    "ranges are cut where they should be joined",
    "reads of a window are cut instead of joined",
    "RIGHT JOIN is not turned round",
    "ROLLUP's keys count as keys of every row",
    "sides of an OR count as if both held",
    "the side that can be missing keeps its NULL rule",
    "times of the missing side are never NULL",
    "unequal is read as equal",
    "what a match says holds without one",
)
"""Keys are followed by the walk that follows times: its faults are asked of keys alone, too."""

KEYS = (
    *faults_in(
        "sql/buckets/keys.py",
        (
            "any column that goes through is a key",
            (
                "if key is not None and _depend_on(output, key, walk.columns):\n"
                "                    held"
            ),
            "if key is not None:\n                    held",
        ),
        (
            "one source's rows of the key are enough",
            "all(rows.reads_at(key, source) == (0, 0)",
            "any(rows.reads_at(key, source) == (0, 0)",
        ),
        (
            "rows of smaller keys do not count",
            "rows.reads_at(key, source) == (0, 0)",
            "rows.reads_at(key, source)[1] == 0",
        ),
        (
            "rows of greater keys do not count",
            "rows.reads_at(key, source) == (0, 0)",
            "rows.reads_at(key, source)[0] == 0",
        ),
        (
            "a NULL of a row without a partner is a key",
            "        and rows.is_null_ok(key)\n",
            "",
        ),
        (
            "what is chosen for several keys is one key's",
            "        and split_choice(rows, key) is None\n",
            "",
        ),
        (
            "columns of two sources are mixed up",
            "zip(self._moving, by_source, strict=True)",
            "zip(reversed(self._moving), by_source, strict=True)",
        ),
        (
            "types of both sides are not compared",
            "of_type.setdefault(kind.strip().lower(), set())",
            'of_type.setdefault("int", set())',
        ),
        (
            "a column of any type is equal to a key",
            '"key" if (source.name, column.lower()) in known else None',
            '"key"',
        ),
        ("a DOUBLE is a key", '("string", "boolean",', '("string", "double",'),
    ),
    *faults_in(
        "sql/buckets/times.py",
        (
            "what is computed from a key is a key",
            "if self._are_keys:\n            return",
            "if self._are_keys and isinstance(node, exp.Coalesce):\n            return",
        ),
        (
            "COALESCE has the rows of its first key alone",
            "source: hull(relation.reads_at(one, source), relation.reads_at(other, source))",
            "source: relation.reads_at(one, source)",
        ),
        (
            "COALESCE is never NULL beside a missing side",
            "if _is_there(relation, sides, (one, other)):",
            "if name:",
        ),
    ),
    *faults_in(
        "sql/buckets/walk.py",
        (
            "NOT IN is read as IN",
            "isinstance(holder, exp.In)\n            and id(holder) in kept\n",
            "isinstance(holder, exp.In)\n            and holder.parent\n",
        ),
    ),
    *faults_in(
        "sql/query/normal.py",
        (
            "an ANTI join is read as a SEMI join",
            'if kind_of(join) == "ANTI":',
            'if kind_of(join) == "OUTER":',
        ),
    ),
    *faults_in(
        "sql/buckets/window_frames.py",
        (
            "whatever a window is partitioned by is the key",
            "for member in times.fields(key).values():\n            yield",
            (
                "for member in times.fields(key).values() or times.relation.own_times():\n"
                "            yield"
            ),
        ),
        (
            "a frame without bounds over keys holds one key",
            "    if frame is not None:\n        yield time, (",
            (
                "    if frame is None:\n        frame = 0, 0\n    if frame is not None:\n"
                "        yield time, ("
            ),
        ),
    ),
    *(
        replace(fault, name=f"of keys: {fault.name}")
        for fault in BUCKETS
        if fault.name in _OF_THE_WALK
    ),
)
"""Only queries that have keys, or seem to, are asked of them."""

UPDATES_OF_KEYS = (
    *faults_in(
        "spark/views/key.py",
        (
            "keys of rows that are gone are forgotten",
            "return parent.changed().selectExpr(*names)",
            "return parent.frame.selectExpr(*names)",
        ),
        (
            "only the first parent's changed keys are taken",
            "held(reduce(DataFrame.unionAll, changed)) as",
            "held(reduce(lambda first, _: first, changed)) as",
        ),
        (
            "only the last parent's changed keys are taken",
            "held(reduce(DataFrame.unionAll, changed)) as",
            "held(reduce(lambda _, last: last, changed)) as",
        ),
        (
            "nothing is done unless every parent changed",
            "if not any(parent.changes.some",
            "if not all(parent.changes.some",
        ),
        (
            "the other rows of a changed key are read as they were",
            "else of_parent.of(rows))",
            "else of_parent.of(parent.before()))",
        ),
        (
            "only new rows of the changed keys are read",
            "else of_parent.of(rows))",
            "else of_parent.of(parent.changed()))",
        ),
        (
            "rows of the keys are read from one parent alone",
            "rows if of_parent is None else of_parent.of(rows)",
            "rows if of_parent is None else in_parents[0].of(rows)",
        ),
        (
            "columns of a key change places",
            "for at, name in enumerate(columns))",
            "for at, name in enumerate(reversed(columns)))",
        ),
        (
            "types of a view and its parents are not compared",
            "if [parent.kind(column) for column in columns] != types:",
            "if len(columns) != len(types):",
        ),
    ),
    *faults_in(
        "spark/views/groups.py",
        (
            "a key of several columns is compared with =",
            "{quoted_column(name)} <=> {_written(value, kind)}",
            "{quoted_column(name)} = {_written(value, kind)}",
        ),
        (
            "the key NULL is forgotten",
            '        terms.append(f"{name} IS NULL")\n    return " OR "',
            '        terms.append("false")\n    return " OR "',
        ),
        (
            "a value beside NULL is not looked for",
            "_written(value, kind) for (value,) in rows if value is not None",
            "_written(value, kind) for (value,) in rows[1:] if value is not None",
        ),
    ),
    *faults_in(
        "spark/views/changes.py",
        (
            "deleted rows are no changes",
            "jvm.selected(self._feed(), [",
            "jvm.selected(self._feed().where(\"_change_type <> 'delete'\"), [",
        ),
        (
            "rows before an update are no changes",
            "jvm.selected(self._feed(), [",
            "jvm.selected(self._feed().where(\"_change_type <> 'update_preimage'\"), [",
        ),
        (
            "rows after an update are no changes",
            "jvm.selected(self._feed(), [",
            "jvm.selected(self._feed().where(\"_change_type <> 'update_postimage'\"), [",
        ),
    ),
)
"""Faults in how updates are carried out; views that only this way keeps up are tried."""

PATHS_OF_KEYS = (
    *faults_in(
        "spark/views/groups.py",
        ("of many keys the last one is not named", ".limit(MOST_NAMED + 1)", ".limit(MOST_NAMED)"),
        (
            "keys of several columns are named by their first values",
            "list(dict.fromkeys((value,) for value in column))",
            "[(value,) for value in column[:MOST_COMPARED]]",
        ),
        (
            "no key between the first and the last is NULL",
            'either = [f"{name} IS NULL"] if nulls else []',
            "either: list[str] = []",
        ),
        (
            "the last of many keys is left out",
            'between = f"BETWEEN {_written(first, kind)} AND {_written(last, kind)}"',
            'between = f">= {_written(first, kind)} AND {name} < {_written(last, kind)}"',
        ),
        (
            "a text that Python reads otherwise is named",
            r"""return isinstance(value, str) and "\ufffd" in value""",
            "return isinstance(value, float)",
        ),
    ),
    *faults_in(
        "spark/commits/selection.py",
        (
            "many keys are joined without NULL",
            "rows[quoted(column)].eqNullSafe(self.keys[key])",
            "(rows[quoted(column)] == self.keys[key])",
        ),
    ),
)
"""Faults where keys are too many to be compared, which a trial's few rows never are."""
