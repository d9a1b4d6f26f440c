from hypothesis import given
from hypothesis import strategies as st

from freshline.project.graph import circles, parents_first


@st.composite
def _graphs(draw):
    names = [f"t{index}" for index in range(draw(st.integers(0, 8)))]
    return {name: draw(st.lists(st.sampled_from(names), max_size=3, unique=True)) for name in names}


def test_ties_keep_the_order_of_the_files():
    assert parents_first({"c": ["a"], "b": [], "a": [], "d": ["b"]}) == ["b", "a", "c", "d"]


@given(_graphs())
def test_parents_come_first_and_only_circles_and_their_readers_are_left_out(parents):
    order = parents_first(parents)
    for position, name in enumerate(order):
        assert set(parents[name]) <= set(order[:position])
    for name in set(parents) - set(order):
        assert set(parents[name]) - set(order)
    assert bool(circles(parents)) == (len(order) < len(parents))


@given(_graphs())
def test_a_circle_is_one(parents):
    found = circles(parents)
    for circle in found:
        for name, next_name in zip(circle, [*circle[1:], circle[0]], strict=True):
            assert next_name in parents[name]
        assert len(set(circle)) == len(circle)
    members = [name for circle in found for name in circle]
    assert len(set(members)) == len(members)
