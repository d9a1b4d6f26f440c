"""Names that no folder can have."""

from __future__ import annotations

from freshline.project.names import name_fault


def test_a_name_that_no_folder_can_have():
    assert name_fault("x" * 200) is None
    assert name_fault("x" * 201) == "a name has at most 200 characters, since it names a folder"
