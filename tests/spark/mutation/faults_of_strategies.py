"""Faults in how updates are carried out."""

from __future__ import annotations

from tests.spark.mutation.fault import faults_in

STRATEGIES = (
    *faults_in(
        "spark/views/timesets.py",
        (
            "touched buckets end early",
            "((lo - reads.hi_us, hi - reads.lo_us) for",
            "((lo - reads.hi_us, hi) for",
        ),
        (
            "touched buckets begin late",
            "((lo - reads.hi_us, hi - reads.lo_us) for",
            "((lo, hi - reads.lo_us) for",
        ),
        (
            "rows are read by the bucket's own time",
            "((lo + reads.lo_us, hi + reads.hi_us) for",
            "((lo, hi) for",
        ),
        (
            "the last microsecond is left out",
            "{name} <= {literal(hi, kind)}",
            "{name} < {literal(hi, kind)}",
        ),
        (
            "rows without a time are forgotten",
            "        null=touched.null,\n",
            "        null=False,\n",
        ),
        (
            "buckets without a time keep their old rows",
            'return f"({chosen} OR {name} IS NULL)" if chosen else f"{name} IS NULL"',
            'return f"({chosen})" if chosen else "false"',
        ),
        (
            "a date is shown without its zone",
            "shown = [(lo + lo_us, hi + hi_us) for",
            "shown = [(lo, hi) for",
        ),
        ("gaps between intervals are lost", "max(merged[-1][1], hi))", "merged[-1][1])"),
    ),
    *faults_in(
        "spark/views/bucket.py",
        (
            "a parent's deleted rows are not looked at",
            "times = parent.changes.all(parent.schema).selectExpr",
            "times = parent.frame.selectExpr",
        ),
        (
            "an hour's last time is its first",
            'F.max("time_us").alias("last")',
            'F.min("time_us").alias("last")',
        ),
        (
            "all rows of a parent are new ones",
            "touched = covered(kind, touched, zone)",
            "touched = touched",
        ),
        (
            "only the last parent's buckets count",
            "[parent.name.lower()]\n        touched = touched.either(changed_by(at, reads))",
            "[parent.name.lower()]\n        touched = changed_by(at, reads)",
        ),
        (
            "only the last parent's buckets count where the log tells the times",
            "touched = touched.either(changed_by(at, reads))\n    return touched, unknown",
            "touched = changed_by(at, reads)\n    return touched, unknown",
        ),
    ),
    *faults_in(
        "spark/views/partials.py",
        ("both sides of a join are new at once", "if other < number else", "if other <= -1 else"),
        ("new rows meet new rows twice", "else parent.before()\n", "else parent.frame\n"),
    ),
    *faults_in(
        "spark/views/meeting.py",
        ("the last key is not met", "{_written(last, kind)}", "{_written(last - 1, kind)}"),
    ),
    *faults_in(
        "spark/views/merge.py",
        (
            "a state that is not there is taken for empty",
            "    if named is None:\n        return _build(increment, plan)\n    with",
            "    if named is None:\n        return StagedUpdate(None)\n    with",
        ),
    ),
    *faults_in(
        "spark/views/groups.py",
        (
            "a NULL key is no group",
            "{quoted_column(name)} <=> {_written(value, kind)}",
            "{quoted_column(name)} = {_written(value, kind)}",
        ),
        (
            "the group of NULL is forgotten",
            '        terms.append(f"{name} IS NULL")\n    return " OR "',
            '        terms.append("false")\n    return " OR "',
        ),
        (
            "seconds stand for microseconds",
            'return f"unix_micros({name})"',
            'return f"unix_seconds({name}) * 1000000"',
        ),
    ),
    *faults_in(
        "spark/views/group.py",
        (
            "groups of deleted rows are forgotten",
            "partial, Parent.changed)) as changed",
            "partial, lambda parent: parent.frame)) as changed",
        ),
    ),
    *faults_in(
        "sql/strategy.py",
        (
            "deleted rows are appended",
            "if not isinstance(plan.appends, Reason) and not rewrote and not final:",
            "if not isinstance(plan.appends, Reason) and not final:",
        ),
        (
            "deleted rows are merged",
            "        if not rewrote:\n            ways.append(_BUCKET_MERGE",
            "        if True:\n            ways.append(_BUCKET_MERGE",
        ),
    ),
)
