"""Rows of many keys are found in other ways than those of few, and are the same rows."""

from __future__ import annotations

import pytest

from tests.spark.views.selecting import wrongly_selected

pytestmark = pytest.mark.spark


def test_keys_select_their_rows_however_many_there_are(spark):
    assert list(wrongly_selected(spark)) == []
