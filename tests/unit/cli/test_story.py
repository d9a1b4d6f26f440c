"""``freshline story``: chapters as sentences."""

from __future__ import annotations

import dataclasses
from datetime import UTC, datetime

from freshline.render.story import told
from freshline.runtime.status.story import ConcurrentUpdate, PassedOver, UpdateStory

START_S = datetime(2026, 1, 2, 12, 0, 10, tzinfo=UTC).timestamp()

CHAPTER = UpdateStory(
    number=7,
    attempt=1,
    state="done",
    track=1,
    released_s=START_S - 4.0,
    started_s=START_S,
    finished_s=START_S + 2.5,
    waited_s=4.0,
    seconds=2.5,
    expected_s=2.0,
    from_s=START_S - 70.0,
    to_s=START_S - 10.0,
    files=3,
    rows=1234,
    rejected_rows=2,
    version=9,
    full=False,
    strategy="append",
    reason="new rows of its feed are added as they come",
    error=None,
    parents=(),
    score="benefit 30 = priority 1 * gain 60.000 s / 2.000 s",
    over=(PassedOver("b", "benefit 3"), PassedOver("c", "benefit 1")),
    meanwhile=(
        ConcurrentUpdate("d", 3, 0, START_S - 5.0, START_S - 1.0, 3.0),
        ConcurrentUpdate("d", 4, 0, START_S - 1.0, START_S, 1.0),
        ConcurrentUpdate("e", 1, 1, START_S - 9.0, START_S, 4.0),
    ),
)


def test_an_update_that_waited_is_told_in_full():
    assert told("orders", CHAPTER) == (
        "orders, update 7: version 9, 1,234 rows, 2 rejected\n"
        "  Pending since 12:00:06, started 2026-01-02 12:00:10 UTC on track 1"
        " (waited 4.0 s).\n"
        "  Advanced freshness 11:59:00 -> 12:00:00: 60 s more from 3 files.\n"
        "  Chosen with benefit 30 = priority 1 * gain 60.000 s / 2.000 s.\n"
        "  Passed over: b (benefit 3); c (benefit 1).\n"
        "  While it waited, the tracks ran d (2 updates, 4.0 s), e (1 update, 4.0 s).\n"
        "  Took 2.50 s (estimate 2.00 s).\n"
        "  Strategy append: new rows of its feed are added as they come."
    )


def test_an_attempt_after_one_that_failed_says_since_when_it_waited():
    chapter = dataclasses.replace(CHAPTER, attempt=2, failed_s=START_S - 1.5, waited_s=1.5)
    assert (
        "  Pending since 12:00:06, started 2026-01-02 12:00:10 UTC on track 1"
        " (waited 1.5 s since an attempt failed at 12:00:08).\n"
    ) in told("orders", chapter)


def test_a_failed_attempt_of_a_view_that_was_asked_for():
    chapter = dataclasses.replace(
        CHAPTER,
        attempt=2,
        state="failed",
        error="[disk] no room",
        released_s=None,
        waited_s=None,
        files=None,
        parents=(("orders", 4),),
        score="asked for",
        over=(),
        meanwhile=(),
        strategy=None,
        full=True,
    )
    assert told("view", chapter) == (
        "view, update 7, attempt 2: failed: [disk] no room\n"
        "  Started 2026-01-02 12:00:10 UTC on track 1; nothing had to arrive for it.\n"
        "  Would advance freshness 11:59:00 -> 12:00:00: rebuilt in full from orders version 4.\n"
        "  Requested by a user.\n"
        "  Nothing else was waiting.\n"
        "  Took 2.50 s (estimate 2.00 s)."
    )


def test_the_command_tells_the_last_updates_and_json_all_of_them(freshline, answer, shop):
    assert freshline("story", "small").stdout == "small has no update in the journal yet\n"
    for minute in (1, 2, 3):
        shop.file("orders", minute, [minute])
        shop.run_until_idle()
    out = freshline("story", "small", "--last", "2").stdout
    assert [line for line in out.splitlines() if line.startswith("small")] == [
        "small, update 2: version 1, 2 rows",
        "small, update 3: version 2, 3 rows",
    ]
    assert freshline("story", "small", "--last", "9" * 25).exit_code == 2
    found = answer("story", "SMALL", "--last", "1")
    (update,) = found.pop("updates")
    assert found == {"table": "small"}
    assert (update["state"], update["number"], update["parents"]) == ("done", 3, {"big": 2})
    assert (update["from"], update["to"]) == (
        "2026-01-02T00:02:00.000000Z",
        "2026-01-02T00:03:00.000000Z",
    )
    assert update["waited_s"] >= 0.0
    assert (update["files"], update["passed_over"], update["full"]) == (None, [], False)
