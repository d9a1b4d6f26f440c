"""Faults in what is said of rows that add up: appending, and states that merge."""

from __future__ import annotations

from tests.spark.mutation.fault import faults_in

APPENDS = (
    *faults_in(
        "sql/appends.py",
        (
            "DISTINCT is appended",
            'if distinct := select.args.get("distinct"):',
            'if distinct := select.args.get("sample"):',
        ),
        ("groups are appended", "if makes_groups(select):", 'if select.args.get("group"):'),
        (
            "a window's rows are appended",
            "for window in own_nodes(select, exp.Window):",
            "for window in own_nodes(select, exp.Lateral):",
        ),
        ("a join of two streams is appended", "if moving and right:", "if False:"),
        (
            "sides of an outer join are mixed up",
            '_OUTER = {"LEFT": "right", "RIGHT": "left", "FULL": "either"}',
            '_OUTER = {"LEFT": "left", "RIGHT": "right", "FULL": "either"}',
        ),
        ("a FULL JOIN with a static table is appended", ', "FULL": "either"}', "}"),
        (
            "UNION is appended as UNION ALL",
            'if not isinstance(node, exp.Union) or node.args.get("distinct"):',
            "if not isinstance(node, exp.Union):",
        ),
        ("a static branch of a union is appended", "if not self.moves(branch):", "if False:"),
        (
            "a subquery over rows that change is passed over",
            "if isinstance(part, exp.Expr) and self.moves(part):",
            "if isinstance(part, exp.Expr) and not part:",
        ),
        ("a LIMIT is appended", "if is_limited(node):", "if False:"),
    ),
)

STATES = (
    *faults_in(
        "sql/states/aggregates.py",
        (
            "counts are merged by counting",
            'return exp.Coalesce(this=_function("sum", count)',
            'return exp.Coalesce(this=_function("count", count)',
        ),
        (
            "a sum of nothing is zero",
            "lambda column: _function(name, column), weighted)",
            (
                'lambda column: _total(_function(name, column)) if name == "max" else '
                "_function(name, column), weighted)"
            ),
        ),
        (
            "DISTINCT is forgotten",
            'if name == "collect_set" or (call.distinct and name in _OF_VALUES):',
            'if name == "collect_set":',
        ),
        (
            "FILTER is dropped",
            "if condition is not None:\n        args = _filtered",
            "if condition is None and args is None:\n        args = _filtered",
        ),
        (
            "an average counts NULLs",
            '_counted("count", [value])), finish)',
            '_counted("count", [exp.Star()])), finish)',
        ),
        (
            "min_by takes the largest",
            'extreme = "max" if name == "max_by" else "min"',
            'extreme = "max"',
        ),
        (
            "the median is the third quartile",
            'exp.Literal.number("0.5")',
            'exp.Literal.number("0.75")',
        ),
        (
            "a sum that comes twice counts once",
            '_SAME_TWICE = _ITSELF - {"sum", "bit_xor"}',
            "_SAME_TWICE = _ITSELF",
        ),
    ),
    *faults_in(
        "sql/states/moments.py",
        (
            "samples are divided by n",
            'r.m2 / (r.n - 1) END",\n    "stddev_pop"',
            'r.m2 / r.n END",\n    "stddev_pop"',
        ),
        (
            "the means' distance does not count",
            "a.m2 + b.m2 + (b.mean - a.mean)",
            "a.m2 + b.m2 + 0 * (b.mean - a.mean)",
        ),
    ),
    *faults_in(
        "sql/states/linear.py",
        (
            "a static side of an outer join may be kept",
            "if kept and not static.streams and linear.streams:",
            "if False:",
        ),
        ("a stream may be joined with itself", "if left.streams & right.streams:", "if False:"),
        (
            "an outer join of streams adds up",
            ('if not is_inner(join):\n                message = f"an outer'),
            ('if False:\n                message = f"an outer'),
        ),
        ("a LIMIT below an aggregate adds up", "if is_limited(query):", "if False:"),
        (
            "DISTINCT below an aggregate adds up",
            'if select.args.get("distinct"):',
            'if select.args.get("sample"):',
        ),
        (
            "an aggregate below another adds up",
            "if makes_groups(select):\n            keys =",
            "if False:\n            keys =",
        ),
        (
            "UNION adds up as UNION ALL",
            'bag = isinstance(query, exp.Union) and not query.args.get("distinct")',
            "bag = isinstance(query, exp.Union)",
        ),
        ("late conditions below an aggregate are dropped", "if core.late:", "if False:"),
        (
            "subqueries over streams are decided in a batch",
            'if self.linearity == "each" or not self._tied(query, keys):',
            "if not keys and self._tied(query, keys):",
        ),
    ),
    *faults_in(
        "sql/states/joined_partials.py",
        ("partials are joined without their NULL groups", "exp.NullSafeEQ(", "exp.EQ("),
        (
            "HAVING is lost",
            "exp.Where(this=having.this.copy()) if having is not None else None",
            "None",
        ),
    ),
    *faults_in(
        "sql/states/cuts.py",
        (
            "UNION below DISTINCT forgets how often",
            'same = bool(query.args.get("distinct")) or (distinct and unbounded)',
            "same = True",
        ),
        (
            "a condition on a side that can be missing comes early",
            "(early if alone and not missing else late)",
            "(early if alone else late)",
        ),
        (
            "a FULL JOIN's side is never missing",
            'missing = side in {"LEFT", "FULL"} or any(',
            'missing = side == "LEFT" or any(',
        ),
        (
            "rows of a subquery with a limit are made distinct",
            "(distinct and not is_limited(select))",
            "distinct",
        ),
        (
            "conditions of WHERE are dropped from the state",
            ("        if where:\n            rows = rows.where(*where)"),
            ("        if not where:\n            rows = rows.where(*where)"),
        ),
    ),
    *faults_in(
        "sql/states/merged_block.py",
        (
            "group keys are claimed although a LIMIT drops rows",
            '("distinct", "limit", "offset", "qualify")):\n        return\n    if any(True for _',
            '("distinct",)):\n        return\n    if any(True for _',
        ),
        (
            "a part of the keys tells the groups",
            "if set(shown.values()) == set(builder.key_names):",
            "if shown:",
        ),
        (
            "subtotals tell the groups",
            "group is None or not is_plain(group) or",
            "group is None or",
        ),
    ),
    *faults_in(
        "sql/states/decompose.py",
        (
            "a state that is read twice tells its groups",
            ".find_all(exp.Table)) == 1",
            ".find_all(exp.Table)) >= 1",
        ),
        (
            "a filter of groups by a subquery is a function of the group",
            "item.find_all(exp.UDTF, exp.Query))",
            "item.find_all(exp.UDTF))",
        ),
    ),
)
