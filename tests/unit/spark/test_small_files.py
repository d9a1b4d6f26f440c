"""Which files are worth being put together, and what that costs a table in the long run."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from freshline.delta.small_files import (
    BUDGET_BYTES,
    BUDGET_FILES,
    LARGE_BYTES,
    MOST_FILES,
    DataFile,
    worth_merging,
)

KB, MB = 1024, 1024 * 1024


def files(sizes, partition=""):
    return [DataFile(f"{partition}{at}", size, at, partition) for at, size in enumerate(sizes)]


def test_fifteen_small_files_are_left_and_sixteen_are_merged():
    assert worth_merging(files([KB] * (MOST_FILES - 1))) == []
    assert worth_merging(files([KB] * MOST_FILES)) == files([KB] * MOST_FILES)


def test_a_merged_file_waits_for_others_of_its_size():
    many = files([100 * KB, *[KB] * MOST_FILES])
    assert [file.size_bytes for file in worth_merging(many)] == [KB] * MOST_FILES


def test_a_full_tier_takes_the_smaller_ones_with_it_and_the_oldest_come_first():
    sizes = [KB, *[100 * KB] * MOST_FILES, 2 * KB]
    assert worth_merging(reversed(files(sizes))) == files(sizes)


def test_large_files_are_left_alone():
    assert worth_merging(files([LARGE_BYTES] * 100)) == []


def test_one_compaction_reads_a_budget_and_no_more():
    chosen = worth_merging(files([10 * MB] * 40))
    assert [file.size_bytes for file in chosen] == [10 * MB] * 6
    assert len(worth_merging(files([1] * 5000))) == BUDGET_FILES


def test_files_of_two_partitions_are_never_counted_together():
    assert worth_merging(files([KB] * 15, "a") + files([KB] * 15, "b")) == []
    fuller, full = files([KB] * 20, "b"), files([KB] * MOST_FILES, "a")
    assert worth_merging(full + fuller) == fuller + full


@settings(max_examples=100, deadline=None)
@given(st.lists(st.tuples(st.integers(1, 2 * LARGE_BYTES), st.sampled_from("ab")), max_size=200))
def test_whatever_the_files_it_stays_within_the_budget_and_leaves_no_file_alone(drawn):
    found = [DataFile(str(at), size, at, part) for at, (size, part) in enumerate(drawn)]
    chosen = worth_merging(found)
    assert sum(file.size_bytes for file in chosen) <= BUDGET_BYTES
    assert len(set(chosen)) == len(chosen) <= BUDGET_FILES
    for part in "ab":
        assert sum(file.partition == part for file in chosen) != 1


def test_ten_thousand_commits_leave_few_files_and_rewrite_each_byte_a_few_times():
    now: list[DataFile] = []
    written = rewritten = 0
    for commit in range(10_000):
        now.append(DataFile(str(commit), 20 * KB, commit))
        written += 20 * KB
        chosen = worth_merging(now) if commit % 8 == 0 else []
        if chosen:
            size = sum(file.size_bytes for file in chosen)
            rewritten += size
            now = [file for file in now if file not in chosen]
            now.append(DataFile(f"m{commit}", size, commit))
    assert len(now) < 80
    assert rewritten < 4 * written
