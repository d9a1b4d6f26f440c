"""What a warehouse writes to no terminal is told in short."""

from __future__ import annotations

import io

from demo.processes import tell_in_short


def test_of_many_updates_the_first_are_told_and_all_that_is_no_update(capsys):
    def update(number: int) -> str:
        return f"2026-01-01 00:00:{number:02} orders  +{number} rows in 0.31 s, track 0, append\n"

    ready = "2026-01-01 00:00:09 Spark ready after 9.0 s\n"
    warning = "2026-01-01 00:01:00 warning: feed orders_feed is silent\n"
    lines = [
        "WARNING: Using incubator modules: jdk.incubator.vector\n",
        ready, *map(update, range(20)), warning,
    ]  # fmt: skip
    tell_in_short(io.BytesIO("".join(lines).encode()))
    told = [ready, *map(update, range(16)), warning, "... and 4 more updates\n"]
    assert capsys.readouterr().err == "".join(told)


def test_few_updates_are_told_as_they_are(capsys):
    tell_in_short(io.BytesIO(b"a +1 rows in 0.1 s, \n"))
    assert capsys.readouterr().err == "a +1 rows in 0.1 s, \n"
