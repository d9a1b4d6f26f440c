"""What in a plan can differ over the same rows: the clock, chance, and order."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from freshline.sql.readings.plans import output
from freshline.sql.readings.trees import Tree

_WORDS = {
    "asks the clock": (
        "CurrentTimestamp", "CurrentDate", "CurrentTime", "Now", "LocalTimestamp",
        "CurrentBatchTimestamp", "CurDateExpressionBuilder",
    ),
    "asks the session or the files": (
        "CurrentUser", "CurrentDatabase", "CurrentCatalog", "InputFileName", "InputFileBlockStart",
        "InputFileBlockLength", "SparkPartitionID", "MonotonicallyIncreasingID",
    ),
    "is chance": (
        "Rand", "Randn", "RandStr", "Uniform", "Uuid", "Shuffle", "CallMethodViaReflection",
        "TryReflect",
    ),
    "is a function that Spark does not know": (
        "PythonUDF", "ScalaUDF", "ScalaUDAF", "ScalaAggregator", "HiveSimpleUDF", "HiveGenericUDF",
        "HiveUDAFFunction", "PythonUDAF",
    ),
    "depends on the order of rows": ("First", "Last", "AnyValue", "CollectList", "ListAgg",
                                     "NthValue"),
}  # fmt: skip
_UNCERTAIN = {name: f"{name} {what}" for what, names in _WORDS.items() for name in names}
_UNREPEATABLE = frozenset(
    name
    for what in ("asks the clock", "asks the session or the files", "is chance")
    for name in _WORDS[what]
)
_CASTS = {"Cast": "", "ParseToTimestamp": "timestamp", "ParseToDate": "date"}
"""Makers of times, and of which type they are; a cast says it itself."""
_MOMENTS = ("timestamp", "timestamp_ntz")
_ANY, _NUMBER = "\N{HORIZONTAL ELLIPSIS}", "#"
"""In the beginning of a text: what is not known, and a number or at most two characters."""
_TIME_OF_DAY = re.compile(rf"T[\d{_NUMBER}{_ANY}]|[\d{_NUMBER}]{{1,3}}:|\d{{1,2}}{_ANY}:")
"""The beginning of a text without a date: before the first colon there is an hour at most."""
_SPECIAL = re.compile(r"(now|today|tomorrow|yesterday)([^a-z].*)?\Z", re.IGNORECASE | re.DOTALL)
_DIGIT = re.compile(r"\d")
_BLANKS = "".join(map(chr, range(33)))
_ENOUGH = 12
"""So many characters show whether a text begins with a date; yesterday has nine."""
_MANY = 1000
"""Beginnings of one text; of more nothing is said but that there may be a time of day."""
_TIME = "00:00"
_NO_TEXTS = frozenset(
    """
    boolean byte date double float integer interval long short timestamp timestamp_ntz void
    """.split()  # noqa: SIM905
)
"""Types as the JSON of a plan has them."""
_NUMBERS = frozenset(
    """
    Add Hour HoursOfTime Minute ParseToDate ParseToTimestamp Remainder Subtract
    """.split()  # noqa: SIM905
)
"""Functions that make no text: a number, or a time."""
_SHORT = {"StringLPad": 1, "StringRPad": 1, "Substring": 2}
"""By function of a text: which operand is the length of what it gives."""
_ALL, _FIRST, _BEHIND, _VALUES = slice(None), slice(1), slice(1, None), slice(1, None, 2)
_CHOSEN = {
    **dict.fromkeys(
        ("AggregateExpression", "Alias", "ArrayMax", "ArrayMin", "Cast", "Coalesce", "CollectList",
         "CollectSet", "CreateArray", "Explode", "Greatest", "Inline", "KnownNotNull",
         "KnownNullable", "Lag", "Lead", "Least", "Max", "Min", "PosExplode"), _ALL,
    ),
    **dict.fromkeys(
        ("AnyValue", "ElementAt", "First", "GetArrayItem", "GetMapValue", "GetStructField", "Last",
         "Lower", "MaxBy", "MinBy", "Mode", "NthValue", "NullIf", "StringTrim", "StringTrimLeft",
         "StringTrimRight", "WindowExpression"), _FIRST,
    ),
    **dict.fromkeys(("Elt", "If", "MapFromArrays", "Stack"), _BEHIND),
    **dict.fromkeys(("CreateMap", "CreateNamedStruct"), _VALUES),
}  # fmt: skip
"""By function: the operands of which one is its value, or an element of it."""
_OF_ROWS = frozenset({"AttributeReference", "NamedLambdaVariable", "OuterReference"})
_BY_CHANCE = frozenset({"Sample", "Deduplicate"})
_NEVER_MORE = ("Inner", "Cross", "LeftOuter", "RightOuter")
"""Joins that give one row at most where both sides have one at most."""
_SETS = frozenset({"CollectSet"})
_LIMITS = frozenset({"GlobalLimit", "LocalLimit", "Offset", "Tail"})
_SORTING = frozenset({"SortArray", "Size", "ArraySize"})
_UNORDERED = _SORTING | {"ArrayContains", "ArrayMax", "ArrayMin"}
"""Functions of an array for which the order of its elements does not matter."""
_BY_THEIR_ORDER = (
    "If(And(IsNull(0th), IsNull(1th)), 0, If(IsNull(0th), 1, If(IsNull(1th), -1,"
    " If(LessThan(0th, 1th), -1, If(GreaterThan(0th, 1th), 1, 0)))))"
)
"""The comparison of an array_sort that the user gives none."""


def uncertain(plan: Tree) -> str | None:
    """What keeps the plan's result from being a function of its rows, in words; None: nothing."""
    return _in_plan(plan, ordered=False) or _of_today(plan)


def unrepeatable(plan: Tree) -> str | None:
    """What gives another result at another time or to another user, in words; None: nothing.

    What merely may choose, by the order of rows say, does not count.
    """
    asking = (node.kind for node in _nodes(plan) if node.kind in _UNREPEATABLE)
    found = next(asking, None)
    return _of_today(plan) if found is None else _UNCERTAIN[found]


def _in_plan(plan: Tree, *, ordered: bool) -> str | None:
    if plan.kind in _LIMITS and not ordered:
        below = plan.children[0]
        while below.kind in (*_LIMITS, "Project"):
            below = below.children[0]
        if below.kind != "Sort" and not _has_one_row(below):
            return "LIMIT or OFFSET takes rows in no order"
    if plan.kind in _BY_CHANCE:
        return f"{plan.kind} takes rows by chance"
    for expression in plan.expressions():
        what = _in_expression(expression, top=True)
        if what is not None:
            return what
    for child in plan.children if plan.kind != "View" else ():
        what = _in_plan(child, ordered=plan.kind in _LIMITS)
        if what is not None:
            return what
    return None


def _has_one_row(plan: Tree) -> bool:
    """Whether a plan has one row at most: of an aggregate over everything."""
    if plan.kind == "Aggregate":
        return not plan.trees("groupingExpressions")
    if plan.kind in ("Project", "Filter", *_LIMITS) or (
        plan.kind == "Join" and plan.text("joinType") in _NEVER_MORE
    ):
        return all(_has_one_row(child) for child in plan.children)
    return False


def _in_expression(tree: Tree, *, top: bool, sorts: bool = False) -> str | None:
    """``top``: the value is shown as it is, so that its order does not matter.

    ``sorts``: what uses a list sorts or counts it.
    """
    name = tree.kind
    if name in _UNCERTAIN and not (sorts and name == "CollectList") and not _is_ordered(tree):
        return _UNCERTAIN[name]
    if name in _SETS and not top:
        return f"{name} gives its elements in any order, and is not shown as it is"
    plan = below = tree.tree("plan")
    while name == "Exists" and below is not None and below.kind in _LIMITS:
        below = below.children[0]  # whichever rows are taken, it is as many of them
    inner = None if below is None else _in_plan(below, ordered=False)
    if inner is not None:
        return inner
    sorting = name in _SORTING or (name == "ArraySort" and _has_no_comparison(tree))
    shown = (top and name in ("Alias", "AggregateExpression")) or sorting or name in _UNORDERED
    passes = sorting or (sorts and name == "AggregateExpression")
    for child in (*tree.children, *(each for each in tree.expressions() if each is not plan)):
        what = _in_expression(child, top=shown, sorts=passes)
        if what is not None:
            return what
    return None


def _has_no_comparison(tree: Tree) -> bool:
    """Whether an ``array_sort`` puts elements in their own order: Spark then gives it a lambda."""
    *_, comparison = tree.children
    if comparison.kind != "LambdaFunction":
        return False
    made, *parameters = comparison.children
    return _compared(made, [each.number for each in parameters]) == _BY_THEIR_ORDER


def _compared(tree: Tree, parameters: Sequence[int]) -> str:
    """A comparison as text, its parameters by their places."""
    if tree.kind == "Literal":
        return tree.text("value")
    if tree.kind == "NamedLambdaVariable" and tree.number in parameters:
        return f"{parameters.index(tree.number)}th"
    return f"{tree.kind}({', '.join(_compared(each, parameters) for each in tree.children)})"


def _is_ordered(tree: Tree) -> bool:
    """Whether a list has an order of its own; :mod:`.choices` says what may tie in it."""
    return tree.kind == "ListAgg" and any(each.kind == "SortOrder" for each in tree.children)


class _Texts:
    """How the texts that a plan casts to times can begin, as far as literals decide it.

    Spark completes a text such as ``08:00`` by the date of today, also where the text is chosen by
    CASE, put together, or comes from a column of a subquery. What a text of a stored column says
    is not known, and is the column's own.

    Args:
        plan: All of the plan.
    """

    def __init__(self, plan: Tree) -> None:
        self._made: dict[int, list[Tree]] = {}
        self._known: dict[int, frozenset[str]] = {}
        for node in _nodes(plan):
            if node.kind == "Alias":
                self._add(node, node.children[0])
            elif node.kind == "Union":
                for columns in zip(*map(output, node.children), strict=False):
                    for other in columns[1:]:
                        self._add(columns[0], other)
            elif node.kind == "Generate" and (generator := node.tree("generator")) is not None:
                for column in node.trees("generatorOutput"):
                    self._add(column, generator)
            elif node.kind == "LocalRelation":
                for column, texts in zip(output(node), node.fields["data"], strict=True):
                    for text in [_TIME] if texts is None else texts:
                        made = {"dataType": "string", "value": text}
                        self._add(column, Tree("Literal", (), made))

    def of(self, tree: Tree) -> frozenset[str]:
        """The beginnings of all texts that an expression can make; of what is none, a number."""
        kind, type_ = tree.kind, tree.text("dataType")
        held = tree.tree("e") if kind == "OuterReference" else None
        if held is not None:
            return self.of(held)
        if type_ in _NO_TEXTS or type_.startswith("decimal") or kind in _NUMBERS:
            return frozenset({_NUMBER})
        if kind == "Literal":
            value = tree.fields.get("value")
            return frozenset() if value is None else frozenset({str(value)[:_ENOUGH]})
        if kind == "AttributeReference":
            return self._of_column(tree.number)
        return self._of_call(tree)

    def _of_call(self, tree: Tree) -> frozenset[str]:
        kind, children = tree.kind, tree.children
        if kind in _SHORT and _is_short(children[_SHORT[kind]]):
            return frozenset({_NUMBER})
        if kind in ("FormatString", "DateFormatClass") and _formatted(tree):
            return frozenset({_formatted(tree)})
        if kind == "Concat":
            return _joined(map(self.of, children))
        if kind == "ConcatWs":
            return _joined(self._with_separator(children[0], each) for each in children[1:])
        chosen = self._chosen(tree)
        if chosen is not None:
            return frozenset(text for each in chosen for text in self.of(each))
        return self._unknown(tree)

    def _add(self, column: Tree, made_of: Tree) -> None:
        self._made.setdefault(column.number, []).append(made_of)

    def _of_column(self, number: int) -> frozenset[str]:
        if number not in self._known:
            self._known[number] = frozenset({_ANY})
            made = self._made.get(number)
            if made is not None:
                self._known[number] = frozenset(text for each in made for text in self.of(each))
        return self._known[number]

    def _with_separator(self, separator: Tree, tree: Tree) -> frozenset[str]:
        """An operand of concat_ws, which is left out where it is NULL."""
        nothing = () if tree.kind == "Literal" else ("",)
        return _joined([self.of(tree), self.of(separator)]).union(nothing)

    def _chosen(self, tree: Tree) -> tuple[Tree, ...] | None:
        """The expressions of which one is the value; None: it is made in another way."""
        children = tree.children
        below = tree.tree("plan")
        if below is not None:
            return output(below)[:1] if tree.kind == "ScalarSubquery" else None
        replacement = tree.fields.get("replacement")
        if isinstance(replacement, int) and replacement < len(children):
            return (children[replacement],)
        if tree.kind == "CaseWhen":
            return (*children[1::2], *children[len(children) // 2 * 2 :])
        return children[_CHOSEN[tree.kind]] if tree.kind in _CHOSEN else None

    def _unknown(self, tree: Tree) -> frozenset[str]:
        """Of a function that is not known here; made of literals alone it may be any of them."""
        parts = list(tree.walk())
        of_rows = any(each.kind in _OF_ROWS or "plan" in each.fields for each in parts)
        texts = (
            each.text("value")
            for each in parts
            if each.kind == "Literal" and each.text("dataType").startswith("string")
        )
        return frozenset({_ANY if of_rows or not any(map(_DIGIT.search, texts)) else _TIME})


def _joined(parts: Iterable[frozenset[str]]) -> frozenset[str]:
    """The beginnings of what is put together."""
    begun = {""}
    for part in parts:
        begun = {
            one if len(one) >= _ENOUGH else (one + more).lstrip(_BLANKS)[:_ENOUGH]
            for one in begun
            for more in part
        }
        if len(begun) > _MANY:
            return frozenset({_TIME})
    return frozenset(begun)


def _is_short(length: Tree) -> bool:
    """Whether a text of at most this length is no date: at most the two digits of an hour."""
    return length.kind == "Literal" and length.text("value") in ("1", "2")


def _formatted(tree: Tree) -> str:
    """What format_string and date_format write, with marks for what is put in; "": not known."""
    pattern = tree.children[tree.kind == "DateFormatClass"]
    if pattern.kind != "Literal":
        return ""
    text = pattern.text("value")
    if tree.kind == "DateFormatClass":
        return re.sub(r"[A-Za-z']+", _NUMBER, text)[:_ENOUGH]
    return re.sub(r"%[^A-Za-z%]*([a-zA-Z])", _put_in, text)[:_ENOUGH]


def _put_in(found: re.Match[str]) -> str:
    return _NUMBER if found[1] == "d" else _ANY


def _nodes(tree: Tree) -> Iterator[Tree]:
    """A plan's operators and expressions, and those of its subqueries, down to the tables."""
    yield tree
    if tree.kind != "View":
        for each in (*tree.children, *tree.expressions()):
            yield from _nodes(each)


def _of_today(plan: Tree) -> str | None:
    """That a plan makes a time of a text that Spark completes by the date of today, in words."""
    texts: _Texts | None = None
    for node in _nodes(plan):
        if node.kind not in _CASTS or len(node.children) > 1:  # with a format it is one of 1970
            continue
        target = node.text("dataType") if node.kind == "Cast" else _CASTS[node.kind]
        if target not in (*_MOMENTS, "date"):
            continue
        texts = texts or _Texts(plan)
        for text in texts.of(node.children[0]):
            plain = text.lstrip(_BLANKS)
            if _SPECIAL.match(plain) or (target != "date" and _TIME_OF_DAY.match(plain)):
                return "a time without a date asks the clock"
    return None
