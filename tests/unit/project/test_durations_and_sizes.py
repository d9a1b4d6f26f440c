import pytest
from hypothesis import given
from hypothesis import strategies as st

from freshline.project.yaml.durations import duration_s
from freshline.project.yaml.sizes import size_bytes


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("60 seconds", 60),
        ("10 minutes", 600),
        ("1h", 3600),
        ("2 days", 172_800),
        ("90s", 90),
        ("1h 30m", 5400),
        ("1 hour 1 Minute 1 SEC", 3661),
        ("0.5 h", 1800),
        ("250ms", 0.25),
        ("1 week", 604_800),
    ],
)
def test_durations(text, seconds):
    assert duration_s(text) == seconds


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("10", "'10' has no unit"),
        (10, "'10' has no unit"),
        ("1h 30", "'1h 30' has no unit"),
        ("soon", "'soon' is no duration"),
        ("-1 s", "'-1 s' is no duration"),
        ("3 moons", "'3 moons' has the unknown unit 'moons'"),
        ("1h 1h", "'1h 1h' gives the unit 'h' twice"),
        ("0 s", "'0 s' is not longer than zero"),
        ("", "'' is not longer than zero"),
        ("9" * 400 + "s", "'9+s' is longer than a hundred years"),
        ("5000000 days", "'5000000 days' is longer than a hundred years"),
        (True, "True is no duration"),
        (["1h"], "\\['1h'\\] is no duration"),
    ],
)
def test_what_is_no_duration(text, message):
    with pytest.raises(ValueError, match=f"^{message}$"):
        duration_s(text)


@given(
    st.integers(1, 10**6), st.sampled_from(["s", "second", "seconds"]), st.sampled_from(["", " "])
)
def test_whole_seconds_read_as_written(number, unit, space):
    assert duration_s(f"{number}{space}{unit}") == number


@pytest.mark.parametrize(
    ("text", "size"),
    [("64MB", 64_000_000), ("1 GB", 10**9), ("512KiB", 524_288), ("7b", 7), ("2tib", 2**41)],
)
def test_sizes(text, size):
    assert size_bytes(text) == size


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("64", "'64' has no unit"),
        (64, "'64' has no unit"),
        ("1.5GB", "'1.5GB' is no size"),
        ("1 heap", "'1 heap' has the unknown unit 'heap'"),
        ("0MB", "'0MB' is not more than zero"),
        (True, "'True' is no size"),
    ],
)
def test_what_is_no_size(text, message):
    with pytest.raises(ValueError, match=f"^{message}$"):
        size_bytes(text)
