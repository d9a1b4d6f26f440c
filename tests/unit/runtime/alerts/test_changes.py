"""Which alerts are raised and which end: whole traces over made conditions, and laws."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from freshline.project.model import ALERT_KINDS, AlertSettings
from freshline.runtime.alerts.changes import changes
from freshline.runtime.alerts.conditions import Condition

A, B = "http://a.test/x", "http://b.test/y"


class Memory:
    """Alerts of a project, kept as the journal keeps them."""

    def __init__(self, *settings):
        self.settings = settings
        self.rows = {}

    def at(self, now_s, *kinds, judged=ALERT_KINDS, lasting=()):
        """What is posted where exactly these (kind, subject) hold: (URL, type, subject)."""
        conditions = {
            (kind, subject): Condition(kind, subject, now_s - 1.0, "so", {"staleness_s": 1.0})
            for kind, subject in kinds
        }
        events = []
        for change in changes(
            "shop", self.settings, self.rows, conditions, now_s, judged=judged, lasting=lasting
        ):
            if change.ended:
                del self.rows[change.raised.key]
            else:
                self.rows[change.raised.key] = change.raised
            if change.event is not None:
                events.append((change.raised.url, change.event))
        self.events = events
        return [(url, event["type"], event["subject"]) for url, event in events]


def test_an_alert_is_posted_once_and_its_recovery_once():
    memory = Memory(AlertSettings(A))
    late = ("late", "orders")
    assert memory.at(1.0, late) == [(A, "freshline.table.late", "orders")]
    assert memory.at(2.0, late) == []
    assert memory.at(3.0) == [(A, "freshline.table.recovered", "orders")]
    assert memory.at(4.0) == []
    assert memory.at(5.0, late) == [(A, "freshline.table.late", "orders")]


def test_what_lasts_ends_only_where_it_was_not_told_yet():
    memory = Memory(AlertSettings(A), AlertSettings(B, for_s=60.0))
    late = ("late", "orders")
    memory.at(1.0, late)
    assert memory.at(2.0, lasting={late}) == []
    assert [url for url, *_ in memory.rows] == [A]
    recovered = (A, "freshline.table.recovered", "orders")
    assert memory.at(3.0, lasting={("late", "other")}) == [recovered]
    memory.at(4.0, late)
    memory.settings = ()  # nobody is to be told any more
    assert memory.at(5.0, lasting={late}) == []
    assert memory.rows == {}


def test_for_waits_and_a_short_fault_is_never_told():
    memory = Memory(AlertSettings(A, for_s=60.0))
    late = ("late", "orders")
    assert memory.at(0.0, late) == memory.at(59.0, late) == memory.at(59.5) == []
    assert memory.at(100.0, late) == []
    assert memory.at(160.0, late) == [(A, "freshline.table.late", "orders")]
    # What does not pass by itself is told at once.
    assert memory.at(161.0, late, ("quarantine", "orders")) == [
        (A, "freshline.table.quarantine", "orders")
    ]


def test_each_address_hears_its_kinds_alone():
    memory = Memory(AlertSettings(A, ("late",)), AlertSettings(B, ("silent", "report-late")))
    wrong = (
        ("late", "orders"),
        ("silent", "orders_feed"),
        ("report-late", "daily@1"),
        ("failing", "x"),
    )
    assert memory.at(0.0, *wrong) == [
        (A, "freshline.table.late", "orders"),
        (B, "freshline.feed.silent", "orders_feed"),
        (B, "freshline.report.late", "daily@1"),
    ]
    assert memory.at(1.0) == [
        (A, "freshline.table.recovered", "orders"),
        (B, "freshline.feed.recovered", "orders_feed"),
        (B, "freshline.report.recovered", "daily@1"),
    ]


def test_recoveries_alone_can_be_asked_for():
    memory = Memory(AlertSettings(A, alerts=False))
    assert memory.at(0.0, ("late", "orders")) == []
    assert memory.at(1.0) == [(A, "freshline.table.recovered", "orders")]


def test_an_address_that_is_gone_hears_nothing_and_is_forgotten():
    memory = Memory(AlertSettings(A), AlertSettings(B))
    late = ("late", "orders")
    assert len(memory.at(0.0, late)) == 2
    memory.settings = (AlertSettings(B),)
    assert memory.at(1.0, late) == []
    assert list(memory.rows) == [(B, *late)]


def test_what_is_not_judged_stays_as_it_is():
    memory = Memory(AlertSettings(A))
    assert len(memory.at(0.0, ("silent", "f"), ("late", "t"))) == 2
    assert memory.at(1.0, judged=("late",)) == [(A, "freshline.table.recovered", "t")]
    assert memory.at(2.0) == [(A, "freshline.feed.recovered", "f")]


def test_an_event_is_a_cloud_event():
    memory = Memory(AlertSettings(A))
    memory.at(1_700_000_000.0, ("late", "orders"))
    assert memory.events == [
        (
            A,
            {
                "specversion": "1.0",
                "id": "late/orders/1700000000000000/late",
                "source": "/freshline/shop",
                "type": "freshline.table.late",
                "subject": "orders",
                "time": "2023-11-14T22:13:20.000000Z",
                "datacontenttype": "application/json",
                "data": {
                    "kind": "late",
                    "since": "2023-11-14T22:13:19.000000Z",
                    "reason": "so",
                    "staleness_s": 1.0,
                },
            },
        )
    ]


_subjects = st.tuples(st.sampled_from(ALERT_KINDS), st.sampled_from("abc"))
_steps = st.lists(st.tuples(st.floats(0.1, 50.0), st.sets(_subjects, max_size=6)), max_size=20)


@given(steps=_steps, for_s=st.sampled_from([0.0, 10.0, 60.0]))
def test_alerts_and_recoveries_alternate_whatever_happens(steps, for_s):
    memory = Memory(AlertSettings(A, for_s=for_s))
    now_s = 1e9
    told: dict[tuple[str, str], list[bool]] = {}
    ids = []
    for wait_s, holds in [*steps, (1.0, set())]:
        now_s += wait_s
        memory.at(now_s, *holds)
        for _, event in memory.events:
            key = (event["data"]["kind"], event["subject"])
            told.setdefault(key, []).append(not event["type"].endswith("recovered"))
            ids.append(event["id"])
            assert (key in holds) == told[key][-1]
    for trace in told.values():
        assert trace == [True, False] * (len(trace) // 2)  # from an alert to its recovery
    assert len(ids) == len(set(ids))
    assert memory.rows == {}
