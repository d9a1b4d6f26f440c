"""Files are spread over workers so that two of them start Spark, and no file is left."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from tests.support.spreading import FewSessions

FILES = [f"tests/spark/test_{number}.py" for number in range(5)]
FILES[2:2] = [f"tests/unit/test_{number}.py" for number in range(4)]
TESTS = [f"{file}::test_{number}" for file in FILES for number in range(3)]


class Worker:
    """Runs what it is sent, and its last test only when it is told that nothing follows."""

    def __init__(self, number: int, tests: list[str]) -> None:
        self._tests = tests
        self.gateway = SimpleNamespace(id=f"gw{number}")
        self.sent: list[int] = []
        self.ran: list[str] = []
        self.shutting_down = False

    def send_runtest_some(self, indexes: list[int]) -> None:
        self.sent += indexes

    def shutdown(self) -> None:
        self.shutting_down = True

    def run_one(self, spreading: FewSessions) -> bool:
        if len(self.sent) < (1 if self.shutting_down else 2):
            return False
        index = self.sent.pop(0)
        self.ran.append(self._tests[index])
        spreading.mark_test_complete(self, index)
        return True


@pytest.fixture
def spread(pytestconfig, monkeypatch):
    def run(workers: int, tests: list[str]) -> list[Worker]:
        monkeypatch.setattr(pytestconfig.option, "tx", ["popen"] * workers, raising=False)
        monkeypatch.setattr(pytestconfig.option, "loadscopereorder", False, raising=False)
        spreading = FewSessions(pytestconfig)
        made = [Worker(number, tests) for number in range(workers)]
        for worker in made:
            spreading.add_node(worker)
            spreading.add_node_collection(worker, tests)
        spreading.schedule()
        while sum(worker.run_one(spreading) for worker in made):
            pass
        assert not spreading.has_pending
        return made

    return run


@pytest.mark.parametrize("workers", [1, 2, 3, 4])
def test_every_test_runs_once_and_two_workers_at_most_start_spark(spread, workers):
    made = spread(workers, TESTS)
    assert sorted(test for worker in made for test in worker.ran) == sorted(TESTS)
    with_spark = [worker for worker in made if any("/spark/" in test for test in worker.ran)]
    assert len(with_spark) == min(workers, 2)
    for worker in with_spark:
        is_spark = ["/spark/" in test for test in worker.ran]
        assert is_spark == sorted(is_spark, reverse=True)


def test_a_worker_that_may_have_nothing_ends(spread):
    tests = [test for test in TESTS if "/spark/" in test]
    made = spread(3, tests)
    assert [bool(worker.ran) for worker in made] == [True, True, False]
    assert made[2].shutting_down


def test_one_worker_has_all_that_needs_a_broker(spread):
    tests = [f"tests/spark/kafka/test_{file}.py::test_{n}" for file in range(3) for n in range(3)]
    made = spread(3, [*TESTS, *tests])
    had = [set(tests) & set(worker.ran) for worker in made]
    assert sorted(map(len, had)) == [0, 0, len(tests)]
