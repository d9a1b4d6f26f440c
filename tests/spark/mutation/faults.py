"""All the faults."""

from __future__ import annotations

from tests.spark.mutation.faults_of_states import APPENDS, STATES
from tests.spark.mutation.faults_of_strategies import STRATEGIES
from tests.spark.mutation.faults_of_times import BUCKETS

ALL = (*STATES, *BUCKETS, *APPENDS, *STRATEGIES)
