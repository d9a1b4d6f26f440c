"""Text files that people name, read whole: some devices and pipes never end."""

from __future__ import annotations

from pathlib import Path

MOST_CHARACTERS = 256_000_000


class EndlessFileError(ValueError):
    """A file has more than ``MOST_CHARACTERS``, or never ends (``/dev/zero``, ``yes |``)."""

    def __init__(self) -> None:
        super().__init__(f"it has more than {MOST_CHARACTERS:,} characters, or never ends")


def whole_text(path: Path) -> str:
    """What a file in UTF-8 holds.

    Raises:
        OSError: It cannot be read.
        UnicodeDecodeError: It is not UTF-8.
        EndlessFileError: It is too long.
    """
    with path.open(encoding="utf-8-sig") as file:
        text = file.read(MOST_CHARACTERS + 1)
    if len(text) > MOST_CHARACTERS:
        raise EndlessFileError
    return text
