"""How work on a table is told on one line."""

import pytest

from freshline.core.background.upkeep import TRY, VERIFY
from freshline.core.commands import StartUpdate
from freshline.executor.records import UpdateRequest, UpdateResult
from freshline.render.log_observer import update_line
from freshline.runtime.tracks import Outcome


@pytest.mark.parametrize(
    ("upkeep", "reason", "told"),
    [
        (TRY, "every strategy gave what the query gives",
         "sales  tried in 9.50 s, track 1: every strategy gave what the query gives"),
        (VERIFY, "version 3 of sales is right",
         "version 3 of sales is right; audited in 9.50 s, track 1"),
    ],
)  # fmt: skip
def test_work_that_adds_no_rows_tells_of_none(upkeep, reason, told):
    command = StartUpdate("sales", 3, 1, 0.0, 0.0, 0.0, 1.0, upkeep=upkeep)
    request = UpdateRequest(3, "sales", 0.0, 0.0, upkeep=upkeep)
    result = UpdateResult(
        0, 0, 0, 9.5, upkeep, reason, repeated=False, parents={}, schema_changed=False
    )
    outcome = Outcome(command, request, 9.5, result, None)
    assert update_line(outcome, None, 0.0, width=6) == told
