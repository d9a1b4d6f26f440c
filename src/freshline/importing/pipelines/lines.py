"""A query written on one line, so that the text after it keeps its line numbers."""

from __future__ import annotations

from freshline.sql.text.tokens import tokens


def on_one_line(query: str) -> str:
    """The same tokens with single spaces between them, without comments.

    Only a string that has a line's end in it keeps that.
    """
    found = tokens(query)
    parts = []
    for index, token in enumerate(found):
        parts.append(token.text)
        if index + 1 < len(found) and found[index + 1].start > token.end:
            parts.append(" ")
    return "".join(parts)
