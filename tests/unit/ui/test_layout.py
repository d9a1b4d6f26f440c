"""Layers by longest path, few crossings, the same every time."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from freshline.ui.layout import layout


def test_a_table_stands_right_of_everything_that_it_is_made_of():
    places = layout({"a": (), "b": ("a",), "c": ("a", "b"), "d": ("c", "a")})
    assert [places[name].layer for name in "abcd"] == [0, 1, 2, 3]


def test_crossings_that_can_go_are_gone():
    places = layout({"a": (), "b": (), "c": (), "x": ("c",), "y": ("b",), "z": ("a",)})
    ends = sorted((places[one].place, places[other].place) for one, other in ("cx", "by", "az"))
    assert [below for _, below in ends] == sorted(below for _, below in ends)


def test_a_line_of_two_thousand_tables_is_laid_out():
    names = [f"t{number}" for number in range(2000)]
    places = layout({name: names[max(0, at - 1) : at] for at, name in enumerate(names)})
    assert places["t1999"].layer == 1999


@st.composite
def _graphs(draw):
    size = draw(st.integers(0, 25))
    return {
        f"t{number}": tuple(
            f"t{each}" for each in draw(st.sets(st.integers(0, number - 1), max_size=4))
        )
        if number
        else ()
        for number in range(size)
    }


@given(_graphs())
def test_nobody_shares_a_place_and_edges_point_right(parents):
    places = layout(parents)
    assert list(places) == list(layout(parents))
    assert places == layout(parents)
    assert set(places) == set(parents)
    assert len({(each.layer, each.place) for each in places.values()}) == len(parents)
    for name, of in parents.items():
        assert all(places[each].layer < places[name].layer for each in of)
        assert places[name].layer == max((places[each].layer + 1 for each in of), default=0)
