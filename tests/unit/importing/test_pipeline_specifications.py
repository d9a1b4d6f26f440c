"""A pipeline's specification and its freshline.yml become settings, or errors that name lines."""

from pathlib import Path

from freshline.cli.options import collected
from freshline.ui.what_if import WhatIf
from tests.unit.importing.pipeline_texts import SETTINGS, SPEC, TABLES, messages


def test_a_wrong_specification_is_told(pipeline, tmp_path):
    _, errors = pipeline("", spec="name: shop\nlibrary: []\n", settings=None)
    assert messages(errors) == [
        (
            "[unknown-key] spark-pipeline.yml:2: spark-pipeline.yml has the unknown key 'library';"
            " the known keys are name, storage, catalog, database, schema, configuration,"
            " libraries. Did you mean libraries?"
        ),
        (
            "[missing-key] spark-pipeline.yml:1: spark-pipeline.yml has no storage; the key storage"
            " is required. Add storage: to it."
        ),
    ]
    _, errors = pipeline("", spec=SPEC.replace("tables/**", "tables/*.sql"), settings=None)
    assert messages(errors) == [
        (
            "[bad-glob] spark-pipeline.yml:7: the glob tables/*.sql is none that pipelines have;"
            " libraries is a list of {glob: {include: path}}; a path is a file's, or a folder's"
            " with /**. Write it as in the rule."
        )
    ]
    (tmp_path / "spark-pipeline.yaml").write_text("")
    _, errors = pipeline("", settings=None)
    assert [error.code for error in errors] == ["two-pipelines"]


def test_a_freshline_yml_with_libraries_is_a_project_by_itself(pipeline, tmp_path):
    settings = (
        "name: mine\nstorage: s\nlibraries: [{glob: {include: own.sql}}]\n"
        + SETTINGS.partition("scheduler")[0]
    )
    (tmp_path / "own.sql").write_text("CREATE STREAMING TABLE o AS SELECT * FROM STREAM web;")
    pipeline("DROP TABLE x", settings=settings)
    project, errors = collected(tmp_path)
    assert errors == []
    assert project is not None
    assert (project.name, [table.name for table in project.tables]) == ("mine", ["o"])


def test_a_specification_of_any_name_is_named_by_the_user(pipeline, tmp_path, monkeypatch):
    pipeline("CREATE STREAMING TABLE orders AS SELECT * FROM STREAM web;")
    (tmp_path / "spark-pipeline.yml").rename(tmp_path / "nightly.yaml")
    monkeypatch.chdir(tmp_path.parent)
    nightly = Path(tmp_path.name, "nightly.yaml")
    project, errors = collected(nightly)
    assert errors == []
    assert project is not None
    assert (project.root, project.sql_files) == (tmp_path, (tmp_path / "tables" / "all.sql",))
    # What is played for its page is this pipeline, not what else its directory has.
    arguments = WhatIf(project)._arguments({})
    again, errors = collected(Path(arguments[arguments.index("--project") + 1]))
    assert (again, errors) == (project, [])
    _, errors = collected(tmp_path)  # beside it there is a freshline.yml that is no project
    assert [error.code for error in errors] == ["missing-key", "missing-key", "missing-key"]
    _, errors = collected(Path("none.yml"))
    assert messages(errors) == [
        (
            "[no-project] there is no file none.yml; a project is a directory with a freshline.yml"
            " or a spark-pipeline.yml, or a pipeline's specification itself. Correct the path."
        )
    ]


def test_of_two_specifications_one_is_named(pipeline, tmp_path):
    pipeline("CREATE STREAMING TABLE orders AS SELECT * FROM STREAM web;")
    other = tmp_path / "spark-pipeline.yaml"
    other.write_text(SPEC.format(root=tmp_path).replace("shop", "other"))
    _, errors = collected(tmp_path)
    assert messages(errors) == [
        (
            f"[two-pipelines] there are spark-pipeline.yml and spark-pipeline.yaml in {tmp_path}; a"
            " pipeline has one specification. Remove one of the two, or name one with --spec."
        )
    ]
    project, errors = collected(other)
    assert project is not None
    assert (project.name, errors) == ("other", [])


def test_the_freshline_yml_of_a_project_itself_is_its_directory(pipeline, tmp_path):
    own = "name: own\nstorage: kept\nlibraries: [{glob: {include: tables/*.sql}}]\n"
    pipeline("CREATE STREAMING TABLE orders AS SELECT * FROM STREAM web;", settings=own + SETTINGS)
    project, errors = collected(tmp_path / "freshline.yml")
    assert errors == []
    assert project is not None
    assert project.name == "own"


def test_properties_of_unknown_tables_are_told(pipeline):
    _, errors = pipeline(
        "CREATE STREAMING TABLE orders AS SELECT * FROM STREAM web", settings=SETTINGS + TABLES
    )
    assert messages(errors) == [
        (
            "[unknown-table] freshline.yml:6: tables: names the table by_day; the pipeline's tables"
            " are orders. Correct the name."
        )
    ]


def test_properties_of_a_table_stand_in_one_place(pipeline):
    _, errors = pipeline(
        "CREATE STREAMING TABLE orders AS SELECT * FROM STREAM web",
        settings=f"{SETTINGS}tables:\n  Orders: {{priority: 3}}\n  orders: {{priority: 4}}\n",
    )
    assert messages(errors) == [
        (
            "[duplicate-name] freshline.yml:7: tables has orders twice, in upper and in lower case;"
            " names are compared without case. Put the properties under one of them."
        )
    ]


def test_a_pipeline_without_a_database_registers_its_tables_nowhere(pipeline):
    sql = "CREATE STREAMING TABLE orders AS SELECT * FROM STREAM web"
    project, errors = pipeline(sql, spec=SPEC.replace("database: shop\n", ""))
    assert (project.catalog, errors) == (None, [])
