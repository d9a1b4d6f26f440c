"""${env:NAME} and ${file:PATH} in values of configuration: and of feeds' options:."""

from pathlib import Path

import pytest

from freshline.core.errors import UserErrors
from freshline.project import load_project

YML = """\
name: shop
storage: warehouse
libraries:
  - glob: {include: "*.sql"}
configuration:
  spark.hadoop.fs.s3a.access.key: ${env:S3_KEY}
  spark.hadoop.fs.s3a.secret.key: ${file:secrets/s3}
  spark.x: ${spark:y} $env:S3_KEY
feeds:
  items:
    kind: kafka
    servers: "h:9092"
    topic: items
    schema: "id INT"
    options:
      kafka.sasl.jaas.config: >-
        org.apache.kafka.common.security.plain.PlainLoginModule required
        username="${env:USER_OF_ITEMS}" password="${env:PASSWORD_OF_ITEMS}";
  lines:
    kind: files
    path: lines
    format: csv
    schema: "id INT"
    options: {nullValue: "${env:NO_VALUE}"}
"""
SQL = """\
CREATE STREAMING TABLE a AS SELECT * FROM STREAM items;
CREATE STREAMING TABLE b AS SELECT * FROM STREAM lines;
"""
JAAS = "kafka.sasl.jaas.config"


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "freshline.yml").write_text(YML)
    (tmp_path / "tables.sql").write_text(SQL)
    (tmp_path / "secrets").mkdir()
    (tmp_path / "secrets" / "s3").write_text("s3cret with spaces \n")
    (tmp_path / "secrets" / "s3").chmod(0o600)
    monkeypatch.setenv("S3_KEY", "AKIA")
    monkeypatch.setenv("USER_OF_ITEMS", "loader")
    monkeypatch.setenv("PASSWORD_OF_ITEMS", "${env:S3_KEY}")
    monkeypatch.setenv("NO_VALUE", "")
    return tmp_path


def test_values_come_from_the_environment_and_from_files_and_are_not_looked_at_again(
    root: Path,
) -> None:
    project = load_project(root, root)
    assert project.configuration == {
        "spark.hadoop.fs.s3a.access.key": "AKIA",
        "spark.hadoop.fs.s3a.secret.key": "s3cret with spaces ",
        "spark.x": "${spark:y} $env:S3_KEY",
    }
    assert project.feeds["items"].options == {
        JAAS: "org.apache.kafka.common.security.plain.PlainLoginModule required "
        'username="loader" password="${env:S3_KEY}";'
    }
    assert project.feeds["lines"].options == {"nullValue": ""}
    assert project.warnings == ()


def test_what_is_missing_is_named_with_its_line(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("S3_KEY")
    monkeypatch.delenv("USER_OF_ITEMS")
    (root / "secrets" / "s3").unlink()
    with pytest.raises(UserErrors) as raised:
        load_project(root, root)
    assert str(raised.value).splitlines() == [
        (
            "[missing-variable] freshline.yml:6: spark.hadoop.fs.s3a.access.key needs the"
            " environment variable S3_KEY, which is not set. Set S3_KEY where freshline starts."
        ),
        (
            "[unreadable-file] freshline.yml:7: spark.hadoop.fs.s3a.secret.key needs the file"
            " secrets/s3, which cannot be read: No such file or directory. Check the path, which is"
            " relative to freshline.yml, and its permissions."
        ),
        (
            f"[missing-variable] freshline.yml:16: {JAAS} needs the environment variable"
            " USER_OF_ITEMS, which is not set. Set USER_OF_ITEMS where freshline starts."
        ),
    ]


def test_commands_that_start_no_spark_need_no_secrets(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("S3_KEY")
    (root / "secrets" / "s3").unlink()
    project = load_project(root, root, analyse=False)
    assert project.configuration["spark.hadoop.fs.s3a.access.key"] == "${env:S3_KEY}"
    assert project.configuration["spark.hadoop.fs.s3a.secret.key"] == "${file:secrets/s3}"


@pytest.mark.parametrize(
    ("zone", "window"),
    [("${env:NO_ZONE}", "1 day"), ("${env:NO_ZONE}", "1 hour"), ("ACT", "1 day")],
)
def test_commands_that_start_no_spark_need_no_time_zone(root: Path, zone: str, window: str) -> None:
    (root / "freshline.yml").write_text(
        YML.replace("spark.x: ${spark:y} $env:S3_KEY", f"spark.sql.session.timeZone: '{zone}'")
    )
    (root / "report.sql").write_text(
        f"CREATE MATERIALIZED VIEW daily TBLPROPERTIES ('freshline.window' = '{window}',"
        " 'freshline.deadline' = '1 hour') AS SELECT count(*) AS n FROM a;"
    )
    (report,) = load_project(root, root, analyse=False).reports
    assert report.name == "daily"


def test_windows_of_hours_need_no_time_zone_that_python_knows(root: Path) -> None:
    (root / "freshline.yml").write_text(
        YML.replace("spark.x: ${spark:y} $env:S3_KEY", "spark.sql.session.timeZone: Java/Alone")
    )
    (root / "report.sql").write_text(
        "CREATE MATERIALIZED VIEW hourly TBLPROPERTIES ('freshline.window' = '1 hour',"
        " 'freshline.deadline' = '1 hour') AS SELECT count(*) AS n FROM a;"
    )
    (report,) = load_project(root, root).reports
    assert report.name == "hourly"


@pytest.mark.parametrize("written", ["${env:}", "${env:A-B}", "${env:A B}", "${file:}"])
def test_a_reference_that_is_none_is_refused_and_never_passed_on(root: Path, written: str) -> None:
    (root / "freshline.yml").write_text(YML.replace("${spark:y} $env:S3_KEY", f"x{written}y"))
    for analyse in (True, False):
        with pytest.raises(UserErrors) as raised:
            load_project(root, root, analyse=analyse)
        assert str(raised.value) == (
            f"[bad-reference] freshline.yml:8: spark.x has the reference {written}; a reference is"
            " ${env:NAME}, with the name of an environment variable, or ${file:PATH}. Correct it."
        )


def test_bytes_that_are_no_text_are_refused_without_being_shown(root: Path) -> None:
    (root / "secrets" / "s3").write_bytes(b"s3cret\xff")
    with pytest.raises(UserErrors) as raised:
        load_project(root, root)
    assert "it is not UTF-8" in str(raised.value)
    assert "s3cret" not in str(raised.value)


def test_secrets_that_others_can_read_are_warned_of(root: Path) -> None:
    written = YML.replace("${env:S3_KEY}", "AKIA").replace("${spark:y}", "plain")
    (root / "freshline.yml").write_text(
        written.replace("\nfeeds:", "\n  spark.hadoop.security.token.service.use_ip: true\nfeeds:")
    )
    (root / "freshline.yml").chmod(0o640)
    (root / "secrets" / "s3").chmod(0o644)
    project = load_project(root, root)
    assert project.warnings == (
        (
            "freshline.yml:6: spark.hadoop.fs.s3a.access.key is written in freshline.yml, which"
            " other users can read: write ${env:NAME} or ${file:PATH}, or run chmod 600"
        ),
        (
            "freshline.yml:7: other users can read the file secrets/s3, which"
            " spark.hadoop.fs.s3a.secret.key refers to: run chmod 600"
        ),
    )
    (root / "freshline.yml").chmod(0o600)
    (root / "secrets" / "s3").chmod(0o600)
    assert load_project(root, root).warnings == ()
