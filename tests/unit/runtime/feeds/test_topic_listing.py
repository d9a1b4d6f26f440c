"""What a table is told of its topic, look by look."""

from __future__ import annotations

import dataclasses

import pytest

from freshline.core.errors import Place, PlatformError
from freshline.executor.offsets import OffsetRange, parsed
from freshline.executor.topic import NO_ID, PartitionLook, TopicLook, TopicMissingError, gone
from freshline.project.model import Feed, KafkaSource
from freshline.runtime.feeds import topics
from freshline.runtime.feeds.topics import TopicListing

NOW_S = 1000.0


class Scripted:
    """A topic that stands as a test says; record n of a partition is stamped n seconds."""

    def __init__(self, *ends, topic_id="A"):
        self.fault = None
        self.now = TopicLook(topic_id, dict(enumerate(map(partition, ends))))

    def look(self):
        if self.fault is not None:
            raise self.fault
        return self.now

    def offsets_since(self, at_s, look):
        return {p: min(int(at_s), each.end) for p, each in look.partitions.items()}

    def oldest_s(self, look):
        return min(float(each.earliest) for each in look.partitions.values())

    def last_record_s(self, partition, start, to):
        return float(to - 1)

    def stands(self, **ends):
        """``p0=(2, 9)``: partition 0 has offsets 2 to 8."""
        told = {int(name[1:]): each for name, each in ends.items()}
        parts = {p: PartitionLook(low, high) for p, (low, high) in told.items()}
        self.now = dataclasses.replace(self.now, partitions=parts)


def partition(end):
    return PartitionLook(0, end)


def listing(
    topic, known=(), starting="earliest", newest_s=None, on_new_topic="refuse", vanished=()
):
    source = KafkaSource("h:1", "orders", starting, None, on_new_topic)
    place = Place("freshline.yml", 3)
    feed = Feed("f", "kafka", "", "json", {}, "id INT", None, None, place, source)
    return TopicListing(feed, "t", topic, known, newest_s, vanished)


def told(news):
    return [(file.name, file.timestamp_s) for file in news.files]


def test_each_offset_is_told_once():
    topic = Scripted(3, 0)
    looked = listing(topic)
    assert told(looked.news(NOW_S)) == [("A/0:0-3,1:0-0", 2.0)]
    assert told(looked.news(NOW_S)) == []
    topic.stands(p0=(0, 5), p1=(0, 2))
    assert told(looked.news(NOW_S)) == [("A/0:3-5,1:0-2", 4.0)]


def test_an_empty_topic_is_told_of_when_it_has_records():
    topic = Scripted(0, 0)
    looked = listing(topic)
    assert told(looked.news(NOW_S)) == []
    topic.stands(p0=(0, 0), p1=(0, 4))
    assert told(looked.news(NOW_S)) == [("A/0:0-0,1:0-4", 3.0)]


def test_the_end_where_latest_begins_is_told_at_once():
    looked = listing(Scripted(7, 2), starting="latest")
    assert told(looked.news(NOW_S)) == [("A/0:7-7,1:2-2", NOW_S)]


def test_a_moment_is_looked_up():
    looked = listing(Scripted(7, 2), starting="1970-01-01T00:00:04+00:00")
    assert told(looked.news(NOW_S)) == [("A/0:4-7,1:2-2", 6.0)]


def test_a_moment_that_is_to_come_is_waited_for():
    """Where records of that moment begin is not known before."""
    topic = Scripted(7, 2)
    looked = listing(topic, starting="1970-01-01T00:00:09+00:00")
    assert told(looked.news(8.0)) == []
    topic.stands(p0=(0, 12), p1=(0, 2))
    assert told(looked.news(9.0)) == [("A/0:9-12,1:2-2", 11.0)]


def test_a_restart_goes_on_where_names_end_and_fills_what_is_missing_between():
    looked = listing(Scripted(9), ["A/0:0-2", "A/0:5-6"], newest_s=5.0)
    assert told(looked.news(NOW_S)) == [("A/0:2-5", 4.0), ("A/0:6-9", 8.0)]


def test_a_new_partition_is_told_from_its_first_offset_whatever_starting_says():
    looked = listing(Scripted(4, 3), ["A/0:4-4"], "latest")
    assert told(looked.news(NOW_S)) == [("A/1:0-3", 2.0)]


def test_what_retention_took_is_lost_once():
    topic = Scripted(9)
    looked = listing(topic, ["A/0:0-2"])
    topic.stands(p0=(5, 9))
    news = looked.news(NOW_S)
    assert told(news) == [("A/0:5-9", 8.0)]
    assert [each.name for each in news.lost] == ["A/0:2-5"]
    assert news.notices == [
        (
            "table t has lost offsets 2 to 4 of partition 0 of topic orders: the topic's retention"
            " removed up to 3 records before they were loaded; the feed goes on from offset 5"
        )
    ]
    again = looked.news(NOW_S)
    assert (again.files, again.lost, again.notices) == ([], [], [])


def test_what_vanished_is_told_again_as_far_as_it_is_there():
    topic = Scripted(8, 4)
    looked = listing(topic)
    (file,) = looked.news(NOW_S).files
    topic.stands(p0=(6, 8), p1=(0, 4))
    assert not looked.exists(file.name)
    looked.forget(file.name)
    news = looked.news(NOW_S)
    assert told(news) == [("A/0:6-8,1:0-4", 7.0)]
    assert [each.name for each in news.lost] == ["A/0:0-6"]


@pytest.mark.parametrize("starting", ["earliest", "latest"])
@pytest.mark.parametrize(
    ("vanished", "known", "files", "lost"),
    [
        (["A/0:2-5"], [], ["A/0:4-9"], ["A/0:2-4"]),
        (["A/0:2-5"], ["A/0:5-7"], ["A/0:4-5", "A/0:7-9"], ["A/0:2-4"]),
        # The run before looked again: what was left is known by names of its own.
        (["A/0:2-5"], ["A/0:2-4", "A/0:4-5", "A/0:5-9"], [], []),
        (["A/0:2-5", "A/0:5-7"], ["A/0:2-4", "A/0:4-6"], ["A/0:6-9"], []),
    ],
)
def test_what_vanished_is_told_again_after_a_restart(starting, vanished, known, files, lost):
    topic = Scripted(9)
    topic.stands(p0=(4, 9))
    for each in (vanished, vanished[::-1]):
        news = listing(topic, known, starting, 1.0, vanished=each).news(NOW_S)
        assert [file.name for file in news.files] == files
        assert news.lost_names == lost


def test_a_topic_made_again_is_read_from_its_first_offset():
    looked = listing(Scripted(3, topic_id="B"), ["A/0:0-9"], "latest", on_new_topic="read")
    news = looked.news(NOW_S)
    assert told(news) == [("B/0:0-3", 2.0)]
    assert news.notices == [
        "feed f: topic orders was deleted and created again; it is read from its first offset on"
    ]
    assert looked.news(NOW_S).notices == []


def refused(looked):
    with pytest.raises(PlatformError) as caught:
        looked.news(NOW_S)
    return caught.value.render()


def test_another_topic_of_the_name_is_refused_until_somebody_chooses():
    """A mirror has the same records at other offsets: each would be read twice."""
    topic = Scripted(3, topic_id="B")
    looked = listing(topic, ["A/0:0-9"])
    assert refused(looked) == (
        "[topic-replaced] freshline.yml:3: topic orders of feed f is not the one that was"
        " read before; a mirror of the old one has the same records at other offsets. Go back to"
        " the old one. Where the records are new ones, `on_new_topic: read` reads it from its"
        " first offset."
    )
    assert refused(looked) == refused(looked)  # asking often is no answer
    topic.now = dataclasses.replace(topic.now, topic_id="A")
    topic.stands(p0=(0, 11))
    assert told(looked.news(NOW_S)) == [("A/0:9-11", 10.0)]  # the old one is back


def test_offsets_that_went_back_are_refused_until_they_are_there_again():
    topic = Scripted(4)
    looked = listing(topic, ["A/0:0-9"])
    assert refused(looked) == (
        "[topic-cut-back] freshline.yml:3: partition 0 of topic orders of feed f ends at offset 4,"
        " although it was read up to 9; the brokers have lost records, or are other ones with the"
        " same topic's id. Restore the topic. Where what was read is to stay,"
        " `on_new_topic: read` goes on behind it."
    )
    topic.stands(p0=(0, 9))
    assert told(looked.news(NOW_S)) == []


def test_brokers_that_give_no_ids_are_refused_at_once():
    looked = listing(Scripted(4, topic_id=NO_ID))
    assert refused(looked).startswith("[topic-without-id] freshline.yml:3: the brokers of feed f")
    chosen = listing(Scripted(4, topic_id=NO_ID), on_new_topic="read")
    assert told(chosen.news(NOW_S)) == [(f"{NO_ID}/0:0-4", 3.0)]


@pytest.mark.parametrize(("before", "now"), [(NO_ID, "B"), ("B", NO_ID)])
def test_a_topic_is_the_same_when_its_brokers_begin_to_give_ids(before, now):
    """While they are upgraded, they answer by turns."""
    topic = Scripted(12, 5, topic_id=now)
    looked = listing(topic, [f"{before}/0:0-9,1:0-5"], on_new_topic="read")
    names = [file.name for file in looked.news(NOW_S).files]
    topic.now = dataclasses.replace(topic.now, topic_id=before)
    topic.stands(p0=(0, 13), p1=(0, 5))
    names += [file.name for file in looked.news(NOW_S).files]
    assert names == [f"{before}/0:9-12", f"{before}/0:12-13"]
    topic.now = dataclasses.replace(topic.now, topic_id=now)
    assert looked.exists(names[0])
    again = listing(topic, [f"{before}/0:0-9,1:0-5", *names], on_new_topic="read")
    news = again.news(NOW_S)
    assert (news.files, news.notices, news.id) == ([], [], before)


def test_a_topic_that_has_an_id_now_and_ends_earlier_is_refused():
    looked = listing(Scripted(4, topic_id="B"), [f"{NO_ID}/0:0-9"])
    assert refused(looked).startswith("[topic-cut-back]")
    assert told(listing(Scripted(12, topic_id="B"), [f"{NO_ID}/0:0-9"]).news(NOW_S)) == [
        (f"{NO_ID}/0:9-12", 11.0)
    ]


def test_which_of_several_topics_has_no_id_now_is_not_guessed():
    for known in (["A/0:0-9", "B/0:0-3"], [f"{NO_ID}/0:0-9", "B/0:0-3"]):
        looked = listing(Scripted(12, topic_id=NO_ID), known, on_new_topic="read")
        assert refused(looked) == (
            "[topic-without-id] freshline.yml:3: the brokers of feed f give topic orders no id;"
            " a table has read 2 topics of this name, and which of them it is cannot be told. Use"
            " brokers of Kafka 2.8 or newer; while they are upgraded, wait."
        )


def test_a_topic_made_again_and_still_empty_is_told_of_once():
    looked = listing(Scripted(0, topic_id="B"), ["A/0:0-9"], newest_s=8.0, on_new_topic="read")
    assert told(looked.news(NOW_S)) == [("B/0:0-0", 8.0)]
    assert looked.news(NOW_S).notices == []


def test_a_topic_cut_back_is_said_once():
    looked = listing(Scripted(4), ["A/0:0-9"], on_new_topic="read")
    assert looked.news(NOW_S).notices == [
        (
            "feed f: partition 0 of topic orders ends at offset 4, although it was read up to 9:"
            " the brokers have lost records; new ones are read from offset 9 on"
        )
    ]
    assert looked.news(NOW_S).notices == []


def test_a_backlog_is_told_in_slices(monkeypatch):
    """The first claims no time of which the second has a record: record 1 of partition 1."""
    monkeypatch.setattr(topics, "MOST_OFFSETS", 4)
    news = listing(Scripted(6, 2)).news(NOW_S)
    assert told(news) == [("A/0:0-3,1:0-1", 0.0), ("A/0:3-6,1:1-2", 5.0)]


class Stamped(Scripted):
    """A topic whose records have timestamps of their own."""

    def __init__(self, *stamps):
        super().__init__(*map(len, stamps))
        self.stamps = stamps

    def oldest_s(self, look):
        return min(each for two in self.stamps for each in two if each is not None)

    def last_record_s(self, partition, start, to):
        there = [each for each in self.stamps[partition][start:to] if each is not None]
        return there[-1] if there else None


MINUTES = [60.0 * n for n in range(60)]


@pytest.mark.parametrize("newest_s", [None, 0.0])
@pytest.mark.parametrize(
    ("stamps", "known"),
    [
        ((MINUTES, [3540.0 + n for n in range(60)]), []),
        ((MINUTES, [3000.0, 3300.0]), []),
        ((MINUTES, [10.0]), []),
        ((MINUTES, [None] * 50 + [1000.0 + n for n in range(30)]), []),
        # Layers of gaps: between what is known, and behind it.
        ((MINUTES, [30.0 + each for each in MINUTES]), ["A/0:7-9,1:30-31", "A/0:30-33"]),
    ],
)
def test_a_slice_claims_no_time_of_which_a_later_one_has_records(
    monkeypatch, stamps, known, newest_s
):
    monkeypatch.setattr(topics, "MOST_OFFSETS", 30)
    files = listing(Stamped(*stamps), known, newest_s=newest_s).news(NOW_S).files
    assert len(files) > 2
    for place, file in enumerate(files[:-1]):
        left = [
            stamp_s
            for later in files[place + 1 :]
            for partition, span in parsed(later.name).spans.items()
            for stamp_s in stamps[partition][slice(*span)]
            if stamp_s is not None
        ]
        assert file.timestamp_s <= min(left), file
    assert files[-1].timestamp_s == max(each for two in stamps for each in two if each is not None)
    assert [file.timestamp_s for file in files] == sorted(file.timestamp_s for file in files)


def test_a_first_slice_with_nothing_but_marks_of_a_partition_claims_no_time_of_its_records(
    monkeypatch,
):
    """The one behind it has the greatest time of all."""
    monkeypatch.setattr(topics, "MOST_OFFSETS", 30)
    news = listing(Stamped([3540.0] * 10, [None] * 35 + [60.0, 120.0])).news(NOW_S)
    assert told(news) == [("A/0:0-5,1:0-19", 60.0), ("A/0:5-10,1:19-37", 3540.0)]


def test_what_an_open_transaction_holds_back_is_not_claimed():
    topic = Scripted(2, 9)
    looked = listing(topic)
    held = {0: PartitionLook(0, 2, held_s=2.0), 1: PartitionLook(0, 9)}
    topic.now = dataclasses.replace(topic.now, partitions=held)
    assert told(looked.news(NOW_S)) == [("A/0:0-2,1:0-9", 1.999)]
    topic.stands(p0=(0, 5), p1=(0, 9))
    assert told(looked.news(NOW_S)) == [("A/0:2-5", 8.0)]  # now all is there up to record 8
    topic.stands(p0=(0, 6), p1=(0, 9))
    assert told(looked.news(NOW_S)) == [("A/0:5-6", 5.0)]


def test_what_is_held_back_takes_no_claim_away():
    """Which record it is could not be read in time: an old one of its partition stands for it."""
    topic = Scripted(2, 9)
    looked = listing(topic, ["A/0:0-2,1:0-5"], newest_s=4.0)
    held = {0: PartitionLook(0, 2, held_s=0.0), 1: PartitionLook(0, 9)}
    topic.now = dataclasses.replace(topic.now, partitions=held)
    assert told(looked.news(NOW_S)) == [("A/1:5-9", 4.0)]
    topic.stands(p0=(0, 3), p1=(0, 9))
    assert told(looked.news(NOW_S)) == [("A/0:2-3", 8.0)]


def test_ranges_without_records_bring_no_freshness(monkeypatch):
    topic = Scripted(3)
    looked = listing(topic)
    looked.news(NOW_S)
    monkeypatch.setattr(topic, "last_record_s", lambda *_: None)
    topic.stands(p0=(0, 5))
    assert told(looked.news(NOW_S)) == [("A/0:3-5", 2.0)]


def test_nothing_but_aborted_transactions_is_waited_out(monkeypatch):
    topic = Scripted(3)
    monkeypatch.setattr(topic, "last_record_s", lambda *_: None)
    looked = listing(topic)
    assert told(looked.news(NOW_S)) == []
    monkeypatch.setattr(topic, "last_record_s", lambda *_: 7.0)
    topic.stands(p0=(0, 5))
    assert told(looked.news(NOW_S)) == [("A/0:0-5", 7.0)]


def test_brokers_that_do_not_answer_say_nothing_of_what_is_there():
    topic = Scripted(3)
    looked = listing(topic)
    topic.fault = PlatformError("brokers", "no answer")
    assert looked.exists("A/0:0-3")
    topic.fault = TopicMissingError("f", "orders")
    assert not looked.exists("A/0:0-3")
    with pytest.raises(TopicMissingError):
        looked.news(NOW_S)


@pytest.mark.parametrize(
    ("spans", "why"),
    [
        ({0: (2, 5), 1: (0, 0)}, None),
        ({0: (1, 5)}, "offsets 1 to 1 of partition 0 are gone"),
        ({0: (0, 1)}, "offsets 0 to 0 of partition 0 are gone"),
        ({0: (4, 9)}, "partition 0 ends at 8, it was cut back"),
        ({3: (4, 9)}, "partition 3 is gone"),
    ],
)
def test_why_a_range_cannot_be_read(spans, why):
    look = TopicLook("A", {0: PartitionLook(2, 8)})
    assert gone(OffsetRange("A", spans).name, look) == why
    assert gone(OffsetRange("B", spans).name, look) is not None
    assert gone(OffsetRange(NO_ID, spans).name, look) == why
