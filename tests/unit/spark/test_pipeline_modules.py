"""How a pipeline's Python files are imported."""

from __future__ import annotations

import os
import py_compile
from pathlib import Path

import pytest

from freshline.spark.pipelines.modules import _import


def test_a_file_is_what_its_text_says_and_not_what_was_compiled_of_it(tmp_path: Path) -> None:
    """Python compares the time, in whole seconds, and the size."""
    path = tmp_path / "tables.py"
    path.write_text("raise KeyError('former')\n")
    py_compile.compile(str(path))
    then = path.stat()
    path.write_text("raise KeyError('newest')\n")
    os.utime(path, ns=(then.st_atime_ns, then.st_mtime_ns))
    with pytest.raises(KeyError, match="newest"):
        _import(path)
