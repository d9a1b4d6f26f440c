"""All the faults."""

from __future__ import annotations

from tests.spark.mutation.faults_of_keys import KEYS, PATHS_OF_KEYS, UPDATES_OF_KEYS
from tests.spark.mutation.faults_of_states import APPENDS, STATES
from tests.spark.mutation.faults_of_strategies import STRATEGIES
from tests.spark.mutation.faults_of_ties import SECOND, TIES
from tests.spark.mutation.faults_of_times import BUCKETS

ALL = (
    *(*STATES, *BUCKETS, *KEYS, *TIES, *SECOND, *APPENDS),
    *(*STRATEGIES, *UPDATES_OF_KEYS, *PATHS_OF_KEYS),
)
