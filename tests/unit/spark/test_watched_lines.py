"""Which lines ran, of functions that are watched until all of theirs did."""

from __future__ import annotations

import importlib.util

from tests.spark.generated.coverage import Coverage

TEXT = """\
KNOWN = {"one": 1}


class Counter:
    step = 2

    def up(self, number):
        if number > 3:
            return 3
        return number + self.step


def unused():
    return [each for each in ()]
"""


def test_lines_that_ran_are_told_from_those_that_did_not(tmp_path):
    path = tmp_path / "src" / "counting.py"
    path.parent.mkdir()
    path.write_text(TEXT)
    spec = importlib.util.spec_from_file_location("counting", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    coverage = Coverage(tmp_path, ("src",))
    with coverage:
        spec.loader.exec_module(module)
        assert module.Counter().up(1) == 3
    found = coverage.record()["src/counting.py"]
    assert found == {"all": [8, 9, 10, 14], "ran": [8, 10]}
    with coverage:
        assert module.Counter().up(4) == 3
    again = Coverage(tmp_path, ("src",))
    again.add(coverage.record())
    assert again.record()["src/counting.py"]["ran"] == [8, 9, 10]
