"""Spark's functions that decide how a query can be maintained, by name.

Taken from the function registry of Spark 4.2: the group ``agg_funcs`` and every class that is
an aggregate (either alone misses some), and the classes that are nondeterministic. The clock's
functions are a list of our own: to Spark they are deterministic within one query. Reading a project
needs these names and no syntax tree, so nothing here imports sqlglot.
"""

from __future__ import annotations

import re

from freshline.sql.text.tokens import Token

AGGREGATES = frozenset(
    """
    any any_value approx_count_distinct approx_percentile approx_top_k approx_top_k_accumulate
    approx_top_k_combine array_agg avg bit_and bit_or bit_xor bitmap_and_agg
    bitmap_construct_agg bitmap_or_agg bool_and bool_or collect_list collect_set corr count
    count_if count_min_sketch covar_pop covar_samp every first first_value grouping grouping_id
    histogram_numeric hll_sketch_agg hll_union_agg kll_merge_agg_bigint kll_merge_agg_double
    kll_merge_agg_float kll_sketch_agg_bigint kll_sketch_agg_double kll_sketch_agg_float
    kurtosis last last_value listagg max max_by mean measure median min min_by mode percentile
    percentile_approx percentile_cont percentile_disc regr_avgx regr_avgy regr_count
    regr_intercept regr_r2 regr_slope regr_sxx regr_sxy regr_syy schema_of_variant_agg skewness
    some std stddev stddev_pop stddev_samp string_agg sum theta_intersection_agg
    theta_sketch_agg theta_union_agg try_avg try_sum tuple_intersection_agg_double
    tuple_intersection_agg_integer tuple_sketch_agg_double tuple_sketch_agg_integer
    tuple_union_agg_double tuple_union_agg_integer var_pop var_samp variance vector_avg
    vector_sum
    """.split()  # noqa: SIM905 - as a list of literals it could not be read
)

CHANCE = frozenset(
    """
    input_file_block_length input_file_block_start input_file_name monotonically_increasing_id
    rand randn random randstr shuffle spark_partition_id uniform uuid
    """.split()  # noqa: SIM905
)

CLOCK = frozenset(
    """
    curdate current_date current_time current_timestamp localtimestamp now unix_timestamp
    """.split()  # noqa: SIM905
)
CLOCK_WORDS = frozenset({"current_date", "current_time", "current_timestamp", "localtimestamp"})
"""Those that ask the clock without brackets too, where no column has the name."""
SPECIAL_TIME = re.compile(
    r"[\s\x00-\x1f]*(now|today|tomorrow|yesterday)([^a-z].*)?\Z", re.IGNORECASE | re.DOTALL
)
"""A text that Spark takes for a day of now where it stands for a time, whatever zone is behind."""
_TIME_TYPES = ("DATE", "TIMESTAMP", "TIMESTAMP_LTZ", "TIMESTAMP_NTZ")
_TO_TIME = (*_TIME_TYPES, "TO_DATE", "TO_TIMESTAMP", "TO_TIMESTAMP_LTZ", "TO_TIMESTAMP_NTZ")


def is_call(tokens: list[Token], at: int) -> bool:
    """Whether the word at ``at`` is called as a function, not part of a column's name."""
    before = tokens[at - 1] if at else None
    behind = tokens[at + 1] if at + 1 < len(tokens) else None
    if before is not None and before.is_symbol("."):
        return False
    return tokens[at].kind == "word" and behind is not None and behind.is_symbol("(")


def volatile_call(tokens: list[Token]) -> tuple[Token, str] | None:
    """The first part that asks the clock or chance, and which of the two.

    It is a call of a function, or a text such as ``'now'`` that is made a time. ``unix_timestamp``
    asks the clock only without an argument.
    """
    for at, token in enumerate(tokens):
        name = token.text.lower()
        if token.kind == "string":
            if SPECIAL_TIME.match(token.value) and _is_made_time(tokens, at):
                return token, "clock"
        elif is_call(tokens, at):
            empty = at + 2 < len(tokens) and tokens[at + 2].is_symbol(")")
            if name in CHANCE:
                return token, "chance"
            if name in CLOCK and (empty or name in CLOCK_WORDS):
                return token, "clock"
        elif name in CLOCK_WORDS and token.kind == "word" and not _names_column(tokens, at):
            return token, "clock"
    return None


def _is_made_time(tokens: list[Token], at: int) -> bool:
    """If a text is a time: ``DATE 'x'``, ``CAST('x' AS DATE)``, ``to_date('x')``, ``'x'::DATE``."""
    before, behind = tokens[max(at - 2, 0) : at], tokens[at + 1 : at + 4]
    if before and before[-1].is_word(*_TIME_TYPES):
        return True
    if len(before) == 2 and before[1].is_symbol("("):  # noqa: PLR2004 - a word and what it opens
        if before[0].is_word(*_TO_TIME):
            return True
        if before[0].is_word("CAST", "TRY_CAST"):
            return len(behind) > 1 and behind[0].is_word("AS") and behind[1].is_word(*_TIME_TYPES)
    return "".join(each.text.upper() for each in behind).startswith(
        tuple(f"::{each}" for each in _TIME_TYPES)
    )


def _names_column(tokens: list[Token], at: int) -> bool:
    before = tokens[at - 1] if at else None
    behind = tokens[at + 1] if at + 1 < len(tokens) else None
    return (before is not None and (before.is_symbol(".") or before.is_word("AS"))) or (
        behind is not None and behind.is_symbol(".")
    )
