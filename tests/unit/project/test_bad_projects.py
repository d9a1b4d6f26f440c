"""Every kind of fault in a project, with its full message: bad_projects.txt is the table.

A case there starts with ``=== name``; each ``--- file`` under it replaces or adds one file of
the good project below (``--- freshline.yml edit`` changes lines of it: ``old ==> new``), and
behind ``--- errors`` stands all that must be said, an error a line ({policies}: the names of
the policies there are).
"""

from dataclasses import dataclass, field
from pathlib import Path

import pytest

from freshline.core.errors import UserErrors
from freshline.core.registry import policy_names
from freshline.project import collect, load_project

GOOD = {
    "freshline.yml": """\
name: shop
storage: warehouse
libraries:
  - glob: {include: tables/*.sql}
configuration: {spark.sql.session.timeZone: UTC}
spark: {master: "local[2]"}
scheduler: {tracks: 2, policy: max-benefit}
feeds:
  orders_feed:
    kind: files
    path: feed/orders
    format: csv
    options: {header: "true"}
    schema: "id BIGINT, at TIMESTAMP, price DECIMAL(15,2)"
    timestamp: {pattern: 'orders-(\\d{8})', format: "%Y%m%d"}
    period: 60 seconds
  clicks: {kind: push, schema: "id BIGINT, at TIMESTAMP", time: at, quota: 1GB}
  items_feed: {kind: kafka, servers: "localhost:9092", topic: items, schema: "id BIGINT"}
ingest: {port: 8787}
""",
    "tables/base.sql": """\
CREATE STREAMING TABLE orders
  TBLPROPERTIES ('freshline.time' = 'at')
  AS SELECT id, at, price FROM STREAM orders_feed;
CREATE STREAMING TABLE pages AS SELECT * FROM STREAM clicks;
CREATE STREAMING TABLE items AS SELECT * FROM STREAM items_feed;
""",
    "tables/views.sql": """\
CREATE MATERIALIZED VIEW by_day
  AS SELECT date(at) AS day, sum(price) AS revenue FROM orders GROUP BY 1;
""",
}
TABLE = Path(__file__).with_name("bad_projects.txt")


@dataclass
class Bad:
    name: str
    files: dict[str, str] = field(default_factory=lambda: dict(GOOD))
    errors: str = ""


def _cases() -> list[Bad]:
    cases: list[Bad] = []
    for block in TABLE.read_text(encoding="utf-8").split("\n=== ")[1:]:
        name, *parts = block.split("\n--- ")
        case = Bad(name.strip())
        for part in parts:
            head, _, body = part.partition("\n")
            body = body.strip("\n") + "\n"
            if head == "errors":
                case.errors = body.strip("\n").replace("{policies}", ", ".join(policy_names()))
            elif head.endswith(" edit"):
                file = head.removesuffix(" edit")
                for line in body.strip("\n").split("\n"):
                    old, _, new = line.partition(" ==>")
                    new = new.removeprefix(" ")
                    assert case.files[file].count(old) == 1, (name, old)
                    case.files[file] = case.files[file].replace(old, new.replace("\\n", "\n"))
            elif head.endswith(" gone"):
                del case.files[head.removesuffix(" gone")]
            else:
                case.files[head] = body
        cases.append(case)
    return cases


CASES = _cases()


def _write(root: Path, files: dict[str, str]) -> None:
    for file, text in files.items():
        path = root / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def test_the_good_project_is_good(tmp_path):
    _write(tmp_path, GOOD)
    project, errors = collect(tmp_path)
    assert [error.render() for error in errors] == []
    assert project is not None
    assert [table.name for table in project.tables] == ["orders", "pages", "items", "by_day"]
    assert project.warnings == ()


def test_there_are_enough_cases_and_no_two_of_one_name():
    assert len(CASES) >= 45
    assert len({case.name for case in CASES}) == len(CASES)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name.replace(" ", "-"))
def test_a_bad_project_gets_all_its_messages(case, tmp_path):
    _write(tmp_path, case.files)
    project, errors = collect(tmp_path)
    assert "\n".join(error.render() for error in errors) == case.errors
    assert project is None
    with pytest.raises(UserErrors) as raised:
        load_project(tmp_path)
    assert str(raised.value) == case.errors
    assert raised.value.exit_status == 2
