"""Every experiment, played small: it says what its page says, and the page what its csv says.

``make test`` plays a sixth of them, the proof all.
"""

from __future__ import annotations

from functools import cache

import pytest

from experiments.common.experiment import as_csv, with_figures
from experiments.common.found import experiment, names
from experiments.common.size import QUICK
from tests.support.share import share

VERDICTS = {
    "bateni_batching": "yyy",
    "bateni_fig01": "yyyyyyyyy",
    "bateni_groups": "yyyy",
    "bateni_stretch": "y",
    "chandrasekaran_fig04": "yyny",
    "chandrasekaran_fig05": "ynyn",
    "chandrasekaran_fig06": "nynyy",
    "chandrasekaran_fig07": "ynnyyy",
    "chandrasekaran_fig08": "ynny",
    "chandrasekaran_fig09": "yyyyy",
    "chandrasekaran_fig10": "yyyyyyy",
    "chandrasekaran_fig11": "yyyny",
    "golab_fig02": "yyyyyy",
    "golab_fig03": "yyyyy",
    "golab_fig04": "yyn",
    "golab_fig05": "nynn",
    "golab_fig06": "yyyyn",
    "golab_fig07": "yyy",
    "golab_fig08": "yyn",
    "golab_fig09": "yyyn",
    "golab_fig10": "yny",
    "golab_fig11": "yyn",
    "golab_long_update": "yy",
    "golab_lookahead": "yyyy",
    "golab_partitions": "yyyynyyy",
    "whittle_dags": "yn",
    "whittle_grid": "yyny",
    "whittle_optimum": "nnn",
    "leontyev_fig09": "yyyyn",
    "queues": "ynyyn",
}
"""Which claims hold, in the order of the page: y or n."""

QUICK_VERDICTS = VERDICTS | {
    # A tenth of the grid has few of the cells where most is gained, and stops too soon about full
    # load.
    "whittle_grid": "nnny",
    "whittle_dags": "yy",
    # Two tables only.
    "whittle_optimum": "n",
    # One order of the deadlines instead of twenty.
    "chandrasekaran_fig07": "ynyyyy",
    "chandrasekaran_fig08": "nnny",
    "chandrasekaran_fig10": "yynyyyy",
}

CHEAP = ("golab_fig06", "golab_fig08", "golab_lookahead", "bateni_stretch", "queues")
"""Played twice."""

PLAYED = share(names(), part=6, first=1, always=CHEAP[:2])


@cache
def quick(name):
    return experiment(name).play(QUICK)


def verdicts(found):
    return "".join("y" if finding.holds else "n" for finding in found)


def test_every_experiment_is_tested():
    assert names() == sorted(VERDICTS)


@pytest.mark.slow
@pytest.mark.parametrize("name", PLAYED)
def test_played_small_it_comes_to_the_stated_conclusions(name):
    assert verdicts(experiment(name).findings(quick(name))) == QUICK_VERDICTS[name]


@pytest.mark.parametrize("name", names())
def test_the_page_states_the_conclusions_and_figures_of_its_csv(name):
    one = experiment(name)
    rows = one.kept()
    assert verdicts(one.findings(rows)) == VERDICTS[name]
    page = (one.folder / "README.md").read_text()
    assert with_figures(page, one.figures(rows)) == page


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in CHEAP if name in PLAYED])
def test_the_same_seeds_give_the_same_csv(name):
    assert as_csv(experiment(name).play(QUICK)) == as_csv(quick(name))


@pytest.mark.slow
@pytest.mark.parametrize("name", PLAYED)
def test_the_same_rows_give_the_same_picture(name, tmp_path):
    one, rows = experiment(name), quick(name)
    folder = tmp_path / name
    folder.mkdir()
    one.draw(rows, folder / "picture.svg")
    first = (folder / "picture.svg").read_bytes()
    one.draw(rows, folder / "picture.svg")
    assert (folder / "picture.svg").read_bytes() == first
    assert first.count(b"<path") > 10
