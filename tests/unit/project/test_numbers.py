"""Whole numbers that options and properties write."""

import pytest

from freshline.project.yaml.numbers import whole_number


@pytest.mark.parametrize(
    ("text", "most", "number"),
    [
        ("1", 9, 1),
        ("0000000012", 12, 12),
        ("12", 11, None),
        ("999999999", 999_999_999, 999_999_999),
        ("1" * 10, 10**12, None),
        *(
            (text, 9, None)
            for text in ("", "0", "-1", "+1", "1.0", "1e0", " 1", "1\n", "1_0", "\u0661")
        ),
        ("9" * 5000, 9, None),
    ],
)
def test_a_whole_number_is_of_plain_digits_from_1_to_the_most(text, most, number):
    assert whole_number(text, most) == number
