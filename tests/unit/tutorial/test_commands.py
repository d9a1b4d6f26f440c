"""The reader and the shell of the tutorial's test."""

from __future__ import annotations

from tests.spark.tutorial.commands import PAGE, Came, Typed, carried_out, typed

SHELL = """\
Text, and `$ no command`.

```console
$ echo a
a
$ sleep 60 &
$ kill %1
```

```sql
$ not a console
```
"""


def test_commands_are_those_of_console_blocks_with_what_is_shown_below():
    assert typed(SHELL) == [
        Typed("echo a", ("a",)),
        Typed("sleep 60 &", ()),
        Typed("kill %1", ()),
    ]


def test_a_shell_carries_them_out_one_after_the_other(tmp_path):
    came = carried_out(
        ["echo a", "sleep 60 &", "kill %1", "false", "mkdir b; cd b", "pwd"], tmp_path
    )
    assert [each.status for each in came] == [0, 0, 0, 1, 0, 0]
    assert (came[0], came[5]) == (Came(0, "a\n"), Came(0, f"{tmp_path / 'b'}\n"))


def test_the_page_has_commands_and_shows_what_came_of_most():
    page = typed(PAGE.read_text(encoding="utf-8"))
    assert page[0].command == "freshline init shop"
    assert sum(bool(each.shown) for each in page) >= 8
