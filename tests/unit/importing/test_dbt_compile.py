"""What the page tells of the compile that the project is imported from."""

from __future__ import annotations

import pytest

from freshline.importing.dbt.project import read_dbt


@pytest.mark.parametrize("is_there", [True, False])
def test_options_of_the_compile_that_are_not_known_are_told(compiled, is_there):
    def change(manifest):
        manifest["nodes"].pop("model.shop.asked")  # it was not compiled
        manifest["nodes"]["model.shop.revenue"]["raw_code"] += "{{ var('limit', '') }}"

    folder = compiled(change)
    if not is_there:
        (folder / "target" / "run_results.json").unlink()
    found = read_dbt(folder)
    (item,) = (each for each in found.items if each.key == "model.shop.revenue")
    assert ("its SQL holds what the compile was given (var)" in item.changed) != is_there
    told = "not known whether the compile had `--empty`, `--sample`, `--defer` or `--vars`"
    assert (told in str(found.notes)) != is_there
