"""The settings a session starts with: ours where they suit, the user's always."""

from pathlib import Path

from freshline.project.model import Project
from freshline.spark.session import _DELTA_JARS, DELTA_PACKAGE, settings


def project(tmp_path: Path, configuration=(), *, master="local[2]", storage=None, packages=()):
    ivy = {"spark.jars.ivy": str(tmp_path / "ivy")}
    return Project(
        "p",
        tmp_path,
        storage or str(tmp_path / "w"),
        (),
        {},
        {**ivy, **dict(configuration)},
        master,
        packages,
    )


def test_small_machine_settings_are_for_a_local_master_and_local_storage(tmp_path):
    here = settings(project(tmp_path))
    assert here["spark.databricks.delta.snapshotPartitions"] == "1"
    assert here["spark.hadoop.fs.file.impl"] == "org.apache.hadoop.fs.RawLocalFileSystem"
    assert here["spark.sql.session.timeZone"] == "UTC"
    away = settings(project(tmp_path, master="spark://host:7077", storage="s3a://bucket/w"))
    assert "spark.sql.shuffle.partitions" not in away
    assert "spark.hadoop.fs.file.impl" not in away
    assert away["spark.scheduler.mode"] == "FAIR"


def test_the_users_settings_win(tmp_path):
    mine = {
        "spark.sql.session.timeZone": "Europe/Berlin",
        "spark.driver.memory": "8g",
        "spark.ui.enabled": "true",
        "spark.master": "local[7]",
        "spark.sql.extensions": "my.Extension",
    }
    chosen = settings(project(tmp_path, mine.items()))
    assert {key: chosen[key] for key in mine} == {
        **mine,
        "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension,my.Extension",
    }


def test_deltas_jars_are_named_when_an_earlier_start_left_them(tmp_path):
    assert settings(project(tmp_path))["spark.jars.packages"] == DELTA_PACKAGE
    folder = tmp_path / "ivy" / "jars"
    folder.mkdir(parents=True)
    for jar in _DELTA_JARS:
        (folder / jar).touch()
    chosen = settings(project(tmp_path, [("spark.jars", "/mine.jar")]))
    assert chosen["spark.jars"].split(",") == ["/mine.jar", *(str(folder / j) for j in _DELTA_JARS)]
    assert "spark.jars.packages" not in chosen
    with_package = settings(project(tmp_path, packages=("org.x:y:1",)))
    assert with_package["spark.jars.packages"] == f"{DELTA_PACKAGE},org.x:y:1"
    (folder / _DELTA_JARS[0]).unlink()
    assert settings(project(tmp_path))["spark.jars.packages"] == DELTA_PACKAGE
