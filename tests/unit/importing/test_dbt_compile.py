"""What a compile says of dbt's tables, and what it does not."""

from __future__ import annotations

import json
import shutil

import pytest

from freshline.importing.dbt.project import read_dbt

KEPT, REVENUE = "model.shop.orders_kept", "model.shop.revenue"


@pytest.mark.parametrize("is_there", [True, False])
def test_options_of_the_compile_that_are_not_known_are_told(compiled, is_there):
    def change(manifest):
        manifest["nodes"].pop("model.shop.asked")  # it was not compiled
        manifest["nodes"][REVENUE]["raw_code"] += "{{ var('limit', '') }}"

    folder = compiled(change)
    if not is_there:
        (folder / "target" / "run_results.json").unlink()
    found = read_dbt(folder)
    (item,) = (each for each in found.items if each.key == REVENUE)
    assert ("its SQL holds what the compile was given (var)" in item.changed) != is_there
    told = "not known whether the compile had `--empty`, `--sample`, `--defer` or `--vars`"
    assert (told in str(found.notes)) != is_there


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda text: text.replace("o_id", "c_id"), True),
        (lambda text: f"\ufeff{text}\n\n".replace("\n", "\r\n"), False),
        (None, False),
    ],
)
def test_a_file_that_changed_after_the_compile_is_told(compiled, change, told):
    """Not refused: what dbt compiled was right when it was compiled."""
    folder = compiled()
    nodes = json.loads((folder / "target" / "manifest.json").read_text())["nodes"]
    path = folder / nodes[REVENUE]["original_file_path"]
    if change is not None:
        path.parent.mkdir()
        path.write_bytes(change(nodes[REVENUE]["raw_code"]).encode())
    found = read_dbt(folder)
    assert ("`models/revenue.sql` changed after the compile: " in str(found.notes)) == told
    assert not [each for each in found.items if each.key == REVENUE and each.refusal]


CENTS = "{% macro cents(c) %}({{ c }} / 100){% endmacro %}"


@pytest.fixture
def whole(compiled):
    """A function that writes the project with its files and a macro, but for some of them."""

    def make(change=None, without=()):
        def with_macro(manifest):
            manifest["macros"]["macro.shop.cents"] = {
                "name": "cents", "package_name": "shop", "original_file_path": "macros/cents.sql",
                "macro_sql": CENTS,
            }  # fmt: skip
            manifest["disabled"] = {"model.shop.off": [{"original_file_path": "models/off.sql"}]}
            if change is not None:
                change(manifest)

        folder = compiled(with_macro)
        nodes = json.loads((folder / "target" / "manifest.json").read_text())["nodes"].values()
        files = {each["original_file_path"]: each.get("raw_code") or "" for each in nodes}
        files |= {"macros/cents.sql": f"-- of money\r\n{CENTS}\r\n", "models/off.sql": "select 1"}
        for path in files.keys() - set(without):
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_text(files[path])
        return folder

    return make


def stale(folder):
    return [each for each in read_dbt(folder).notes if "import again" in each]


def test_a_project_as_it_was_compiled_has_no_note_of_its_files(whole):
    folder = whole()
    (folder / "models" / "orders.md").write_text("{% docs o %}x{% enddocs %}")
    (folder / "models" / "later.sql").write_text("\n")
    assert stale(folder) == []


def test_a_macro_that_changed_after_the_compile_is_told(whole):
    folder = whole()
    (folder / "macros" / "cents.sql").write_text(CENTS.replace("100", "1000"))
    (note,) = stale(folder)
    assert note.startswith("`macros/cents.sql` changed after the compile: ")


def test_files_that_came_or_went_after_the_compile_are_told(whole):
    folder = whole(without=["models/revenue.sql", "macros/cents.sql"])
    (folder / "macros").mkdir()
    (folder / "models" / "more").mkdir()
    (folder / "models" / "more" / "later.sql").write_text("select 1")
    gone, new = stale(folder)
    assert gone.startswith(
        "These files are not there any more: `models/revenue.sql`, `macros/cents.sql`. "
    )
    told = "These files came after the compile, or dbt did not read them: `models/more/later.sql`. "
    assert new.startswith(told)
    (folder / ".dbtignore").write_text("more/")
    assert stale(folder) == [gone]


@pytest.mark.parametrize("line", ["target-path: build # x", "target-path: 'build'"])
def test_an_old_target_beside_another_target_path_is_not_read(compiled, line):
    folder = compiled()
    shutil.copytree(folder / "target", folder / "build")
    compiled(lambda manifest: manifest["nodes"].pop(REVENUE))
    (folder / "dbt_project.yml").write_text(f"name: shop\n{line}\n")
    assert REVENUE in {each.key for each in read_dbt(folder).items}


def test_a_file_of_a_package_is_not_looked_for_in_the_project(compiled):
    def change(manifest):
        manifest["nodes"][REVENUE]["package_name"] = "lib"

    folder = compiled(change)
    (folder / "models").mkdir()
    (folder / "models" / "revenue.sql").write_text("select 1")
    assert "changed after the compile" not in str(read_dbt(folder).notes)


def test_options_of_merges_that_fall_away_are_named(compiled):
    options = {
        "incremental_predicates": ["DBT_INTERNAL_DEST.at > '2024-01-01'"],
        "merge_update_columns": ["price"],
        "merge_exclude_columns": ["at"],
        "skip_matched_step": True,
        "skip_not_matched_step": True,
        "matched_condition": "s.at > t.at",
        "not_matched_condition": "s.price > 0",
        "not_matched_by_source_action": "delete",
        "not_matched_by_source_condition": "t.at > '2024-01-01'",
        "on_schema_change": "append_new_columns",
    }

    def change(manifest):
        manifest["nodes"][KEPT]["config"] |= options

    (item,) = (each for each in read_dbt(compiled(change)).items if each.key == KEPT)
    assert {each.partition(":")[0] for each in item.left_out} == options.keys()
