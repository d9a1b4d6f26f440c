"""A pipeline's Python definitions as written down, joined with its SQL; and what is refused."""

from dataclasses import replace
from pathlib import Path
from textwrap import dedent

import pytest

from freshline.core.errors import Place
from freshline.importing.pipelines.load import collect
from freshline.importing.pipelines.python_source import refused
from freshline.project.definition import definition_of
from freshline.project.model import Feed, KafkaSource, Program
from freshline.project.names import Scope
from freshline.project.programs import (
    RECORD,
    PythonDefinitions,
    PythonFlow,
    PythonOutput,
    recorded,
)

SPEC = "name: shop\nstorage: kept\nlibraries: [{glob: {include: t/**}}]\n"
FEED = Feed(
    "orders_feed", "files", "/in", "json", {}, "id BIGINT, price DOUBLE", None, None,
    Place("t/a.py", 3),
)  # fmt: skip
TOPIC = Feed(
    "clicks_feed", "kafka", "", "json", {"a": "b"}, "id BIGINT", None, None, Place("t/a.py", 9),
    KafkaSource("h:1", "clicks", "earliest", None),
)  # fmt: skip


def flow(name, target=None, **more):
    return PythonFlow(name, target or name, "t/a.py", 4, fingerprint="f1", **more)


DEFINITIONS = PythonDefinitions(
    [
        PythonOutput(
            "streaming",
            "orders",
            "t/a.py",
            3,
            "all",
            (("freshline.priority", "3"),),
            (("id", "INT"),),
        ),
        PythonOutput("temporary", "dear", "t/a.py", 7),
        PythonOutput("view", "best", "t/a.py", 9),
        PythonOutput("streaming", "both", "t/a.py", 12),
    ],
    [
        flow("orders", feed="orders_feed", columns=("id", "price"), streams={"x": "orders_feed"}),
        flow(
            "dear",
            reads=("orders",),
            columns=("id",),
            names={"orders": "orders"},
        ),
        flow("best", reads=("some",), columns=("id",), names={"some": "some"}),
        flow("one", "both", reads=("orders",), columns=("id", "a")),
        flow("two", "both", reads=("dear",), columns=("b", "id"), names={"dear": "dear"}),
    ],
    [FEED],
)
SQL = """\
CREATE MATERIALIZED VIEW counted AS SELECT count(*) AS n FROM dear JOIN best USING (id);
CREATE TEMPORARY VIEW some AS SELECT * FROM dear WHERE id > 1;
CREATE MATERIALIZED VIEW plain AS SELECT * FROM best;
"""


@pytest.fixture
def written(tmp_path):
    """Writes a pipeline whose Python was read before; returns its project and errors."""

    def write(definitions=DEFINITIONS, sql=SQL, spec=SPEC):
        (tmp_path / "t").mkdir(exist_ok=True)
        (tmp_path / "spark-pipeline.yml").write_text(spec)
        (tmp_path / "t" / "a.py").write_text("")
        (tmp_path / "t" / "b.sql").write_text(sql)
        own = tmp_path / "kept" / "tables" / "_freshline"
        own.mkdir(parents=True, exist_ok=True)
        (own / RECORD).write_text(definitions.record())
        return collect(tmp_path, tmp_path, analyse=False)

    return write


def test_what_is_written_down_is_read_as_it_was(tmp_path):
    told = PythonDefinitions(DEFINITIONS.outputs, DEFINITIONS.flows, [FEED, TOPIC])
    (tmp_path / RECORD).write_text(told.record())
    assert recorded(tmp_path / RECORD) == told
    (tmp_path / RECORD).write_text('{"outputs": []}')
    assert recorded(tmp_path / RECORD) is None
    assert recorded(tmp_path / "none") is None


def test_python_definitions_become_tables_with_programs(written):
    project, errors = written()
    assert errors == []
    assert project is not None
    tables = {table.name: table for table in project.tables}
    assert {
        name: (table.kind, table.feed, table.parents, [each.name for each in table.programs])
        for name, table in tables.items()
    } == {
        "orders": ("base", "orders_feed", (), ["orders"]),
        "best": ("derived", None, ("orders",), ["dear", "some", "best"]),
        "both": ("derived", None, ("orders",), ["both__one", "dear", "both__two"]),
        "counted": ("derived", None, ("orders", "best"), ["dear"]),
        "plain": ("derived", None, ("best",), []),
    }
    orders = tables["orders"]
    assert orders.query == "SELECT CAST(id AS INT) AS id FROM (SELECT * FROM orders)"
    assert (orders.priority, orders.comment, str(orders.place)) == (3.0, "all", "t/a.py:3")
    assert tables["both"].query == (
        "SELECT `id`, `a`, NULL AS `b` FROM (SELECT * FROM both__one) UNION ALL"
        " SELECT `id`, NULL AS `a`, `b` FROM (SELECT * FROM both__two)"
    )
    program = tables["counted"].programs[0]
    assert program.scope == Scope()
    assert program.datasets >= {("dear",), ("spark_catalog", "default", "orders")}
    assert tables["best"].programs[1] == Program("some", "SELECT * FROM dear WHERE id > 1")
    assert project.feeds == {"orders_feed": FEED}


def test_a_changed_parameter_of_the_pipeline_is_a_changed_definition_where_python_may_ask(written):
    def definitions(value):
        spec = f"{SPEC}configuration: {{days: '{value}', spark.executor.memory: 2g}}\n"
        project, errors = written(spec=spec)
        assert errors == []
        return {table.name: (definition_of(table), table.settings) for table in project.tables}

    before, after = definitions(7), definitions(8)
    assert before["best"][1] == {"days": "7"}
    changed = {name for name in before if before[name] != after[name]}
    assert changed == {"best", "both", "counted"}, "what a base table has loaded stays"
    assert before["plain"][1] == {}


def test_a_parameter_of_freshline_yml_goes_before_the_specification(written, tmp_path):
    """The session has it so, and what a function is told is that."""

    def definitions(own):
        (tmp_path / "freshline.yml").write_text(own)
        project, errors = written(spec=f"{SPEC}configuration: {{days: '7', other: a}}\n")
        assert errors == []
        return project, {table.name: definition_of(table) for table in project.tables}

    project, before = definitions("configuration: {days: 8, more: 010}\n")
    assert project.table("best").settings == {"days": "8", "other": "a", "more": "010"}
    _, after = definitions("configuration: {days: 8, more: 011}\n")
    changed = {name for name in before if before[name] != after[name]}
    assert changed == {"best", "both", "counted"}
    project, _ = definitions("configuration: {days: '${env:NO_SUCH_DAYS}'}\n")
    assert project.table("best").settings == {"other": "a"}, "a secret is in the session alone"


def test_what_functions_and_temporary_views_read_outside_are_static_tables(written):
    told = PythonDefinitions(
        DEFINITIONS.outputs,
        [
            replace(each, outside={"lake.rates": False, "lake.old": True, "csv.`/data/x`": False})
            if each.name == "dear"
            else each
            for each in DEFINITIONS.flows
        ],
        [FEED],
    )
    some = "CREATE TEMPORARY VIEW some AS SELECT d.* FROM dear d, lake.areas, lake.old;"
    project, errors = written(told, SQL.replace("CREATE TEMPORARY VIEW some AS SELECT * FROM dear"
                                                " WHERE id > 1;", some))  # fmt: skip
    assert errors == []
    assert {
        table.name: {each.name: (each.format, each.time_travel) for each in table.statics}
        for table in project.tables
        if table.name in ("orders", "counted", "best", "plain")
    } == {
        "orders": {},
        "counted": (dear := {
            "lake.rates": (None, False), "lake.old": (None, True), "csv.`/data/x`": ("csv", False),
        }),
        "best": {**dear, "lake.areas": (None, False), "lake.old": (None, False)},
        "plain": {},
    }  # fmt: skip
    assert project.table("best").programs[0].outside == told.flows[1].outside


def test_another_database_is_another_definition_of_what_functions_compute(written):
    """What a function reads from outside by a short name is another table then."""

    def definitions(more):
        project, errors = written(spec=SPEC + more)
        assert errors == []
        return {table.name: definition_of(table) for table in project.tables}

    before, after = definitions(""), definitions("database: shop\n")
    changed = {name for name in before if before[name] != after[name]}
    assert changed == {"best", "both", "counted"}, "what a base table has loaded stays"


def test_a_changed_file_is_a_changed_definition(written):
    project, _ = written()
    assert project is not None
    counted = project.table("counted")
    assert definition_of(counted) != definition_of(project.table("plain"))
    other = Program("dear", key="dear|dear", fingerprint="f2", names={"orders": "orders"})
    assert counted.programs[0].fingerprint == "f1"
    changed = type(counted)(**{
        name: getattr(counted, name) for name in counted.__slots__
    } | {"programs": (other,)})  # fmt: skip
    assert definition_of(changed) != definition_of(counted)


def test_sql_over_what_python_streams_is_row_wise(written):
    streaming = PythonDefinitions(
        [PythonOutput("temporary", "raw", "t/a.py", 7)],
        [flow("raw", feed="orders_feed", columns=("id", "price"), streams={"x": "orders_feed"})],
        [FEED],
    )
    project, errors = written(
        streaming,
        "CREATE STREAMING TABLE fine AS SELECT id FROM STREAM raw WHERE id > 0;\n"
        "CREATE STREAMING TABLE few AS\nSELECT DISTINCT id FROM STREAM(raw);",
    )
    assert project is None
    assert [error.render() for error in errors] == [
        (
            "[not-row-wise] t/b.sql:3: the query of few reads what is streamed and is not row-wise:"
            " DISTINCT compares records with each other; each record of the feed makes its rows by"
            " itself. Keep the records here and do the rest in a materialized view."
        )
    ]


def test_sql_streams_one_view_of_python_once_whatever_stands_in_front_of_it(written):
    programs = PythonDefinitions(
        [PythonOutput("temporary", each, "t/a.py", 7) for each in ("codes", "raw", "same")],
        [
            flow("codes", columns=("id",)),
            flow("raw", feed="orders_feed", columns=("id",), streams={"x": "orders_feed"}),
            flow("same", reads=("raw",), columns=("id",), names={"raw": "raw"}),
        ],
        [FEED],
    )
    _, errors = written(
        programs,
        "CREATE STREAMING TABLE fine AS SELECT r.id FROM codes JOIN STREAM raw r USING (id);\n"
        "CREATE STREAMING TABLE kept AS SELECT c.id FROM codes c LEFT JOIN STREAM raw USING (id);\n"
        "CREATE STREAMING TABLE pairs AS SELECT id FROM STREAM raw JOIN STREAM raw b USING (id);\n"
        "CREATE STREAMING TABLE both AS SELECT id FROM STREAM raw JOIN STREAM same USING (id);",
    )
    assert [error.what for error in errors] == [
        f"the query of {name} reads what is streamed and is not row-wise: {why}"
        for name, why in (
            (
                "kept",
                "the LEFT JOIN keeps rows of the other side that no record of the feed meets",
            ),
            ("pairs", "it reads them 2 times"),
            ("both", "it reads them 2 times"),
        )
    ]


def test_definitions_that_were_never_read_are_told(tmp_path):
    (tmp_path / "t").mkdir()
    (tmp_path / "spark-pipeline.yml").write_text(SPEC)
    (tmp_path / "t" / "a.py").write_text("")
    sql = tmp_path / "t" / "b.sql"
    sql.write_text("CREATE MATERIALIZED VIEW v AS SELECT * FROM what_python_defines;")
    _, errors = collect(tmp_path, tmp_path, analyse=False)
    assert [error.render() for error in errors] == [
        (
            "[python-unread] spark-pipeline.yml: the Python definitions of shop were not read yet;"
            " they are read by commands that start Spark, and written down for others. Run"
            " `freshline validate` or `freshline run` first."
        )
    ]


def test_readers_of_python_are_not_told_of_another_file_s_fault(tmp_path):
    (tmp_path / "t").mkdir()
    (tmp_path / "spark-pipeline.yml").write_text(SPEC)
    (tmp_path / "t" / "a.py").write_text("")
    sql = tmp_path / "t" / "b.sql"
    sql.write_text("DROP TABLE x;\nCREATE MATERIALIZED VIEW v AS SELECT * FROM python_s;")
    _, errors = collect(tmp_path, tmp_path)
    assert [(error.code, str(error.where)) for error in errors] == [
        ("not-in-pipelines", "t/b.sql:1")
    ]


@pytest.mark.parametrize(
    ("code", "found"),
    [
        ("df.createOrReplaceTempView('x')", ["createOrReplaceTempView:2"]),
        ("spark.conf.set('a', 'b')", ["conf.set:2"]),
        ("spark.udf.register('f', g)", ["udf.register:2"]),
        ("df.write.format('delta').save('x')", ["write.format:2"]),
        ("df.writeStream.toTable('x')", ["writeStream.toTable:2"]),
        ("spark.catalog.setCurrentDatabase('x')", ["setCurrentDatabase:2"]),
        ("file.write('x')\n    s = {1}\n    s.set = 2\n    registry.register(s)", []),
    ],
)
def test_what_changes_the_session_is_found_in_the_text(code, found):
    text = f"def f():\n    {code}\n"
    errors = refused(text, "a.py")
    assert [
        f"{error.what.split()[0]}:{error.where.line}" for error in errors if error.where
    ] == found
    assert {error.code for error in errors} <= {"changes-session"}


def test_a_pivot_without_values_is_refused():
    text = "def f(df):\n    df.pivot('a', [1])\n    df.pivot(index='a')\n    df.pivot('a').sum()\n"
    assert [error.render() for error in refused(text, "a.py")] == [
        (
            "[pivot] a.py:4: pivot has no list of values, so the table's columns would be those of"
            " the moment; the columns of a dataset are the same in each of its versions. Name the"
            " values: pivot(column, [...])."
        )
    ]


@pytest.mark.parametrize(
    ("call", "is_open"),
    [
        ("pivot_col='a'", True),
        ("'a', None", True),
        ("pivot_col='a', values=None", True),
        ("'a', values=[1]", False),
        ("values=[1], pivot_col='a'", False),
        ("index='a', columns='b', values=None", False),
        ("**given", False),
    ],
)
def test_a_pivot_is_open_without_values_however_they_are_given(call, is_open):
    assert bool(refused(f"def f(df):\n    return df.pivot({call})\n", "a.py")) == is_open


def test_what_is_no_python_is_told_with_its_line():
    errors = refused(dedent("a = 1\ndef"), str(Path("t/a.py")))
    assert [error.render() for error in errors] == [
        "[bad-python] t/a.py:2: this is not Python: invalid syntax. Correct the syntax."
    ]
