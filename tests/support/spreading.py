"""Which worker runs what: Spark's tests by two of them, the others by any.

Two JVMs with warehouses keep two cores busy for most of the time; they also wait, for a disk, for
programs that start, for each other's locks. A third worker fills these gaps. It gets only files
without Spark: to start a third session costs more than it saves. The tests that need a Kafka broker
stay together, so that one is started and not two.
"""

from __future__ import annotations

from xdist.scheduler import LoadFileScheduling
from xdist.workermanage import WorkerController

MOST_SESSIONS = 2
SPARK = "tests/spark/"
KAFKA = "tests/spark/kafka/"


class FewSessions(LoadFileScheduling):  # type: ignore[misc]
    """Whole files, in their order; those of Spark go to two workers at most, and first."""

    def __init__(self, *given: object, **named: object) -> None:
        super().__init__(*given, **named)
        self._with_spark: set[WorkerController] = set()

    def _split_scope(self, nodeid: str) -> str:
        if nodeid.startswith(KAFKA):
            return KAFKA
        scope: str = super()._split_scope(nodeid)
        return scope

    def remove_node(self, node: WorkerController) -> str | None:
        self._with_spark.discard(node)
        crashed: str | None = super().remove_node(node)
        return crashed

    def _assign_work_unit(self, node: WorkerController) -> None:
        file = self._next_of(node)
        if file is None:
            # It runs its last test only when it knows that nothing follows.
            node.shutdown()
            return
        if file.startswith(SPARK):
            self._with_spark.add(node)
        self.workqueue.move_to_end(file, last=False)
        super()._assign_work_unit(node)

    def _next_of(self, node: WorkerController) -> str | None:
        """Spark's first where the worker may have them: the others fit in anywhere."""
        plain, spark = (
            next((file for file in self.workqueue if file.startswith(SPARK) == wanted), None)
            for wanted in (False, True)
        )
        if node in self._with_spark or len(self._with_spark) < MOST_SESSIONS:
            return spark or plain
        return plain
