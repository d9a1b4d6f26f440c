"""Spark calls a function while its decorator runs; here it is called later, with the same names."""

from __future__ import annotations

import sys

import pytest

from freshline.core.errors import UserError
from freshline.spark.pipelines.programs import register_programs

pytestmark = pytest.mark.spark

HEAD = """\
import functools
from pyspark import pipelines as dp
from pyspark.sql import functions as F


@dp.materialized_view
def src():
    return spark.range(10)


"""
LOOPS = """\
for n in (1, 2):
    @dp.materialized_view(name=f"plain_{n}")
    def f():
        return spark.read.table("src").where(F.col("id") == n)


def within():
    for n in (1, 2):
        @dp.materialized_view(name=f"within_{n}")
        def f():
            return spark.read.table("src").where(F.col("id") == n)


within()


def helper():
    return spark.read.table("src").where(f"id = {n}")


for n in (1, 2):
    @dp.materialized_view(name=f"helper_{n}")
    def f():
        return helper()


for n in (1, 2):
    @F.udf("boolean")
    def is_it(value):
        return value == n

    @dp.materialized_view(name=f"udf_{n}")
    def f():
        return spark.read.table("src").where(is_it("id"))


def wrapped(function):
    @functools.wraps(function)
    def inner():
        return function().where("id > 0")
    return inner


for n in (1, 2):
    @dp.materialized_view(name=f"wrapped_{n}")
    @wrapped
    def f():
        return spark.read.table("src").where(F.col("id") == n)


def rows(n):
    return spark.read.table("src").where(f"id = {n}")


for n in (1, 2):
    dp.materialized_view(name=f"partial_{n}")(functools.partial(rows, n))


chosen = {"ids": []}
for n in (1, 2):
    chosen["ids"] += [n]

    @dp.materialized_view(name=f"listed_{n}")
    def f():
        return spark.read.table("src").where(F.col("id") == chosen["ids"][-1])


for n in (1, 2):
    @dp.materialized_view(name=f"later_{n}")
    def f():
        return by_a_helper_below(n)


def by_a_helper_below(n):
    return rows(n)


n = 7
"""


def test_each_function_has_the_values_of_its_turn(pipeline, spark):
    found = pipeline(HEAD + LOOPS)
    assert found.errors == []
    project = found.project
    names = [table.name for table in project.tables if table.name != "src"]
    assert len(names) == 16
    for name in names:
        own = spark.newSession()
        own.range(10).createOrReplaceTempView("src")
        register_programs(own, project, project.table(name))
        assert (name, [row.id for row in own.table(name).collect()]) == (name, [int(name[-1])])


AGAIN = """\
count, parts, frames, conf = 0, [], {}, None


@functools.lru_cache
def base(name):
    return spark.read.table(name)


def load(name):
    if name not in frames:
        frames[name] = spark.read.table(name)
    return frames[name]


def limit():
    global conf
    if conf is None:
        conf = {"limit": 3}
    return conf["limit"]


def listed(one, seen=[]):
    seen.append(one)
    return list(seen)


@dp.materialized_view
def counted():
    global count
    count += 1
    return src_to(count)


def src_to(n):
    return spark.read.table("src").where(F.col("id") < n)


@dp.materialized_view
def parted():
    parts.append(spark.read.table("src").where("id = 0"))
    assert spark.range(3).count() == 3  # an attribute that is called like a name
    return parts[-1].union(parts[0]).limit(len(parts))


@dp.materialized_view
def cached():
    return base("src").where("id = 0")


@dp.materialized_view
def cached_too():
    return base("src").join(base("src").where("id = 0"), "id")


@dp.materialized_view
def loaded():
    return load("src").where("id = 0")


@dp.materialized_view
def loaded_too():
    return load("src").join(load("src").where("id = 0"), "id")


@dp.materialized_view
def limited():
    return spark.read.table("src").where(F.col("id") < limit() - 2)


@dp.materialized_view
def limited_too():
    return spark.read.table("src").where(F.col("id") == limit() - 3)


@dp.materialized_view
def by_default():
    return spark.read.table("src").where("id = 0").select(*listed("id"))
"""


def test_each_call_begins_with_the_names_of_the_registration(pipeline, spark):
    """A cache that one call fills would give the next one the rows of another session."""
    found = pipeline(HEAD + AGAIN)
    assert [error.render() for error in found.errors] == []
    project = found.project
    for name in [table.name for table in project.tables if table.name != "src"] * 2:
        own = spark.newSession()
        own.range(10).createOrReplaceTempView("src")
        register_programs(own, project, project.table(name))
        rows = [tuple(row) for row in own.table(name).collect()]
        assert (name, rows) == (name, [(0,)])


IMPORTED = """\
few = spark.createDataFrame([(0, "a"), (3, "b")], "id BIGINT, name STRING")


@dp.materialized_view
def of_few():
    return few.where("id = 0")


@dp.materialized_view
def joined():
    return few.join(spark.read.table("src"), "id")
"""


def test_a_frame_that_is_made_while_the_file_is_imported_can_be_a_table(pipeline, spark):
    found = pipeline(HEAD + IMPORTED)
    assert found.errors == []
    own = spark.newSession()
    own.range(1).createOrReplaceTempView("src")
    for name in ("of_few", "joined"):
        register_programs(own, found.project, found.project.table(name))
        assert (name, [tuple(row) for row in own.table(name).collect()]) == (name, [(0, "a")])


SHARED = """\
names = []


@dp.materialized_view
def first():
    names.append("first")
    return spark.read.table("src")


@dp.materialized_view
def second():
    return spark.read.table("src").where(F.lit(len(names)) > 0)
"""


def test_a_function_that_changes_what_another_sees_is_refused(pipeline):
    (error,) = pipeline(HEAD + SHARED).errors
    assert (error.code, str(error.where)) == ("changes-names", "t/a.py:14")
    assert error.what == "the function of first changes names, which that of second sees"


FILLED = """\
schemas, seen, conf = {}, set(), None


def read(name, kind):
    if kind == "json" and name not in schemas:
        schemas[name] = spark.read.table(name).schema
    seen.add(name)
    return spark.read.table(name)


def limit():
    global conf
    if conf is None:
        conf = 3
    return conf


@dp.materialized_view
def first():
    return read("src", "json").limit(limit())


@dp.materialized_view
def second():
    rows = read("src", "table")
    return rows if seen else rows.limit(limit())
"""


def test_what_was_only_filled_is_a_cache(pipeline):
    """Also where the later function does not fill it, since it had no need of it."""
    found = pipeline(HEAD + FILLED).project
    told = [each for each in found.warnings if "second can read" in each]
    assert [each.split(" fills: ")[0] for each in told] == [
        f"t/a.py:{line}: second can read {name}, which the function of first"
        for name, line in (("conf", 33), ("schemas", 33))
    ]


CHANGED = {
    "global": """\
n = 0


@dp.materialized_view
def first():
    global n
    n += 1
    return spark.read.table("src")


@dp.materialized_view
def second():
    return spark.read.table("src").where(F.lit(n) > 0)
""",
    "module": """\
import helpers


@dp.materialized_view
def first():
    helpers.n += 1
    return spark.read.table("src")


@dp.materialized_view
def second():
    return spark.read.table("src").where(F.lit(helpers.n) > 0)
""",
    "nonlocal": """\
def both():
    n = 0

    @dp.materialized_view
    def first():
        nonlocal n
        n += 1
        return spark.read.table("src")

    @dp.materialized_view
    def second():
        return spark.read.table("src").where(F.lit(n) > 0)


both()
""",
}


@pytest.mark.parametrize("text", CHANGED.values(), ids=CHANGED)
def test_a_value_that_a_function_replaces_for_another_is_refused(
    pipeline, tmp_path, monkeypatch, text
):
    (tmp_path / "helpers.py").write_text("n = 0\n")
    monkeypatch.syspath_prepend(tmp_path)
    (error,) = pipeline(HEAD + text).errors
    assert error.code == "changes-names"
    assert error.what == "the function of first changes n, which that of second sees"
    sys.modules.pop("helpers", None)


WITHIN = """\
def made():
    n = 0

    def more():
        nonlocal n
        n += 1

    @dp.materialized_view
    def counted():
        more()
        more()
        return spark.range(n).where("id > 0")


made()
"""


def test_functions_of_one_call_share_their_variables(pipeline, spark):
    found = pipeline(HEAD + WITHIN)
    assert found.errors == []
    for _ in range(2):
        own = spark.newSession()
        register_programs(own, found.project, found.project.table("counted"))
        assert [row.id for row in own.table("counted").collect()] == [1]


KEPT = """\
class Lake:
    frame = None

    def load(self):
        if self.frame is None:
            self.frame = MADE
        return USED


lake = Lake()


@dp.materialized_view
def first():
    return lake.load()


@dp.materialized_view
def second():
    return lake.load().where("id > 0")
"""


@pytest.mark.parametrize(
    ("made", "used"),
    [
        ('spark.read.table("src")', "self.frame"),
        ('spark.sql("SELECT * FROM src")', "self.frame"),
        ('spark.range(1).where("id = (SELECT max(id) FROM src)")', "self.frame"),
        ('spark.read.table("src").groupBy("id")', "self.frame.count()"),
    ],
    ids=["table", "sql", "subquery", "groups"],
)
def test_a_frame_that_another_call_made_is_refused(pipeline, made, used):
    errors = pipeline(HEAD + KEPT.replace("MADE", made).replace("USED", used)).errors
    assert [error.code for error in errors] == ["other-call"] * 2
    assert errors[0].what.startswith("a DataFrame that reads datasets is used, and another call")


def test_a_frame_that_one_function_alone_keeps_is_refused_before_its_first_update(pipeline):
    text = KEPT.replace("MADE", 'spark.read.table("src")').replace("USED", "self.frame")
    (error,) = pipeline(HEAD + text[: text.rindex("@dp.")]).errors
    assert error.code == "other-call"


@pytest.mark.parametrize(
    "made",
    ['spark.createDataFrame([(0,)], "id BIGINT")', "spark.sql(\"SELECT 0L AS id, 'src' AS s\")"],
)
def test_a_frame_that_reads_no_dataset_may_be_kept(pipeline, spark, made):
    """Also where the call that made it read one."""
    text = KEPT.replace("MADE", made).replace(
        "USED", 'self.frame.join(spark.read.table("src"), "id")'
    )
    found = pipeline(HEAD + text)
    assert found.errors == []
    for name in ("first", "second") * 2:
        own = spark.newSession()
        own.range(2).createOrReplaceTempView("src")
        register_programs(own, found.project, found.project.table(name))
        ids = [row.id for row in own.table(name).collect()]
        assert (name, ids) == (name, [0] if name == "first" else [])


@pytest.mark.parametrize("made", [False, True])
def test_a_dataset_that_is_read_outside_of_functions_is_refused(pipeline, spark, made):
    """A table of its name in the catalog, which `spark-pipelines` made, is another one."""
    spark.sql("DROP TABLE IF EXISTS src")
    if made:
        spark.sql("CREATE TABLE src USING delta AS SELECT 99L AS id")
    try:
        text = "\nrows = spark.read.table('src')\n\n\n"
        text += "@dp.materialized_view\ndef v():\n    return rows\n"
        (error,) = pipeline(HEAD + text).errors
        assert (error.code, str(error.where)) == ("read-outside", "t/a.py:12")
        assert error.what == "src is read outside of a decorated function"
    finally:
        spark.sql("DROP TABLE IF EXISTS src")


def test_a_missing_table_that_is_no_dataset_is_told_as_missing(pipeline):
    text = "\nrows = spark.read.table('ext.ratse')\n"
    (error,) = pipeline(HEAD + text).errors
    assert (error.code, str(error.where)) == ("python-failed", "t/a.py:12")
    assert "ratse" in error.what


def test_code_that_exits_is_told_and_ends_nothing_else(pipeline, spark):
    """While its file is imported, when it is called over no rows, and within an update."""
    (error,) = pipeline(HEAD + "import sys\n\nsys.exit(3)\n").errors
    assert (error.code, str(error.where)) == ("python-failed", "t/a.py:13")
    ends = "@dp.materialized_view\ndef v():\n    raise SystemExit('enough')\n"
    (error,) = pipeline(HEAD + ends).errors
    assert error.what == "the function of v failed: SystemExit: enough"
    late = ends.replace(
        "    raise", "    rows = spark.read.table('src')\n    if rows.count():\n        raise"
    )
    found = pipeline(f"{HEAD}{late}    return rows\n")
    assert found.errors == []
    own = spark.newSession()
    own.range(2).createOrReplaceTempView("src")
    with pytest.raises(UserError) as raised:
        register_programs(own, found.project, found.project.table("v"))
    assert raised.value.what == "the function of v failed: SystemExit: enough"
