"""Faults in what is said of functions that choose among rows that tie, by either reading."""

from __future__ import annotations

from tests.spark.mutation.fault import faults_in

TIES = (
    *faults_in(
        "sql/buckets/ties.py",
        ("ntile chooses nothing", "(exp.RowNumber, exp.Ntile)", "(exp.RowNumber,)"),
        ("lead is no neighbour", "(exp.Lag, exp.Lead)", "(exp.Lag,)"),
        (
            "rows that tie have one number",
            "(exp.Rank, exp.DenseRank, exp.PercentRank, exp.CumeDist)",
            "(exp.Rank, exp.DenseRank, exp.PercentRank, exp.RowNumber)",
        ),
        ("min_by chooses nothing", "(*_EXTREMES, exp.Mode, exp", "(exp.ArgMax, exp.Mode, exp"),
        ("mode chooses nothing", "(*_EXTREMES, exp.Mode, exp", "(*_EXTREMES, exp"),
        (
            "the most frequent values are never equally frequent",
            "exp.GroupConcat, exp.ApproxTopK)",
            "exp.GroupConcat)",
        ),
        (
            "a list has one order",
            "return set().union(*map(_columns, values)) <= _plain(orders)",
            "return True",
        ),
        (
            "a choice among all rows is none",
            "if not relation.follows(time, shared):",
            "if shared and not relation.follows(time, shared):",
        ),
        (
            "a window sees a choice only where it was made",
            "(near & relation.following(shared), what)",
            "(relation.following(shared), what)",
        ),
        (
            "groups choose where nothing ties",
            "if _over(node) is None and not _is_decided(node):",
            "if _over(node) is None and _is_decided(node):",
        ),
        (
            "a limit within a subquery chooses nothing",
            "return not is_limited(node)",
            "return True",
        ),
        (
            "neighbours of any column share the order",
            "if isinstance(function, _PLACES) or _is_same(",
            "if relation or _is_same(",
        ),
        (
            "frames of rows are whole",
            "counts_rows(frame) and not is_whole(frame)",
            "counts_rows(frame) and is_whole(frame)",
        ),
        (
            "a frame of rows sees all rows for max_by",
            (
                "if isinstance(function, _CHOOSING) and not _is_decided(function):\n"
                "        return partition"
            ),
            (
                "if isinstance(function, _CHOOSING):\n"
                "        return None if _is_decided(function) else partition"
            ),
        ),
        (
            "rows are unique by a part of their columns",
            "texts >= relation.unique",
            "bool(texts & relation.unique)",
        ),
        (
            "groups are unique by a part of their keys",
            "texts >= {_text(key) for key in group_keys(select)}",
            "bool(texts & {_text(key) for key in group_keys(select)})",
        ),
        (
            "subtotals are unique by their keys",
            "return not has_subtotals(select) and texts",
            "return texts",
        ),
        (
            "rows are unique in several sliding windows",
            "<= shown.keys() and not _slides(select):",
            "<= shown.keys():",
        ),
        (
            "what is made of a column is that column",
            "whole = key.unnest()",
            "whole = key.find(exp.Column) or key",
        ),
    ),
    *faults_in(
        "sql/buckets/relation.py",
        (
            "times that are near are one time",
            "self.differences.between(seen, other) == (0, 0)",
            "self.differences.between(seen, other) is not None",
        ),
    ),
    *faults_in(
        "sql/buckets/times.py",
        (
            "a sliding window follows from its time",
            "if lengths[1:2] not in ([], [size_us]):",
            "if not lengths:",
        ),
    ),
    *faults_in(
        "sql/buckets/joins.py",
        (
            "a subquery's choice is one for times that are near",
            "if any(matched.between(time, each) == (0, 0)",
            "if any(matched.between(time, each) is not None",
        ),
    ),
    *faults_in(
        "sql/buckets/projection.py",
        (
            "what is chosen has every time that is shown",
            "if relation.follows(time, shared)}",
            "if time}",
        ),
        (
            "the second branch of a union chooses nothing",
            "result.choices += _choices(right,",
            "result.choices += [] and _choices(right,",
        ),
    ),
    *faults_in(
        "sql/buckets/walk.py",
        (
            "a group has all that its rows chose",
            "kept = {time for time in own if rows.follows(time, shared)}",
            "kept = set(own)",
        ),
    ),
)

SECOND = (
    *faults_in(
        "sql/readings/deciding.py",
        ("NTile is not known", '{"RowNumber", "NTile"}', '{"RowNumber"}'),
        ("Lead is not known", '{"Lag", "Lead"}', '{"Lag"}'),
        (
            "Spark's rows are unique by a part of their columns",
            "unique <= following(links, both, unique)",
            "unique & following(links, both, unique)",
        ),
        (
            "Spark's neighbours share the order",
            "return function.kind, both if alike else by",
            "return function.kind, both",
        ),
        (
            "Spark's frames of rows are frames of ranges",
            'frame.text("frameType") != "RangeFrame" and',
            'frame.text("frameType") == "RangeFrame" and',
        ),
        (
            "Spark's MaxBy is decided",
            "return wanted is None or wanted in following(links, keys, [wanted])",
            "return True",
        ),
        ("every aggregate is decided", "return function.kind in _IN_ANY_ORDER", "return True"),
        (
            "fields of a struct decide nothing",
            "[function.children[1], *fields_of(function.children[1])]",
            "[function.children[1]]",
        ),
    ),
    *faults_in(
        "sql/readings/choices.py",
        (
            "a window does not see which rows were chosen",
            "if each.seen is None or each.seen & looked_at:",
            "if each.seen and each.seen & looked_at:",
        ),
        (
            "a window sees a choice of Spark's only where it was made",
            "Choice(each.what, frozenset(mine & near), seen)",
            "Choice(each.what, frozenset(mine), seen)",
        ),
        (
            "a filter does not ask for what was chosen",
            'return [_asked(each, plan.tree("condition")) for each in self._below(plan)]',
            "return self._below(plan)",
        ),
        (
            "a row without a match has the other side's times",
            "replace(each, shared=shown(matched, each.shared, sides[0]))",
            "replace(each, shared=frozenset(following(matched, each.shared)))",
        ),
        (
            "EXISTS sees no choice",
            "if subquery.exists and choice.seen is not None:",
            "if subquery.exists:",
        ),
        (
            "columns that show a choice do not go on",
            "made = {each.number for each in columns if _numbers([each]) & choice.seen}",
            "made = {each.number for each in columns if each.number in choice.seen}",
        ),
        (
            "a column that nobody looks at is looked at",
            "if each.seen != frozenset()))",
            "if each.what))",
        ),
        (
            "a limit of Spark's chooses nothing",
            "if mentioned(plan, self._changing):",
            "if not mentioned(plan, self._changing):",
        ),
    ),
    *faults_in(
        "sql/readings/relations.py",
        ("what is near follows", "if span == SAME]", "if span.bounded]"),
        (
            "a function follows from one of its arguments",
            "all(part in found for part in each.of)",
            "any(part in found for part in each.of)",
        ),
    ),
    *faults_in(
        "sql/readings/subqueries.py",
        (
            "a subquery's choice is one for all rows around",
            'if "AttributeReference" not in kinds:',
            'if "AttributeReference" in kinds and "Literal" in kinds:',
        ),
    ),
)
