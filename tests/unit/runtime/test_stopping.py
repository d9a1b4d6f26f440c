"""What is said of a run's stop."""

from __future__ import annotations

from unittest.mock import Mock

import pytest

from freshline.runtime.stopping import Stopping


def _said(observer):
    return [call.args[0] for call in observer.notice.call_args_list]


@pytest.mark.parametrize(
    ("running", "reports", "names"),
    [
        ({"b", "a"}, False, "a, b"),
        (set(), True, "a report's batch"),
        ({"a"}, True, "a, a report's batch"),
    ],
)
def test_what_is_waited_for_and_abandoned_has_names(running, reports, names):
    observer = Mock()
    stopping = Stopping(0.0, observer)
    stopping.ask(running, reports=reports)
    stopping.ask(running, reports=reports)
    assert stopping.is_over(running, reports=reports)
    assert _said(observer) == [
        f"stopping: waiting up to 0.0 s for {names}; a second signal (Ctrl-C) ends at once",
        f"grace period expired; abandoning: {names}; the next start picks up what did not end",
    ]


def test_where_nothing_runs_nothing_is_said():
    observer = Mock()
    stopping = Stopping(30.0, observer)
    assert not stopping.is_over(set(), reports=False)
    stopping.ask(set(), reports=False)
    assert stopping.asked
    assert _said(observer) == []
