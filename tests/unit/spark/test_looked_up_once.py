"""What is looked up in the JVM once and kept, in a JVM that answers with the names it was asked."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

from pyspark.sql import DataFrame, SparkSession

from freshline.spark.engine import jvm

OBJECTS = ("LocalTempView$", "SchemaUnsupported$")


class Part:
    """A package, class or method: calls are kept, and answered by the part itself."""

    def __init__(self, name: str = "") -> None:
        self.name = name
        self.calls: list[tuple[Any, ...]] = []

    def __getattr__(self, name: str) -> Part:
        part = Part(f"{self.name}.{name}".strip("."))
        setattr(self, name, part)
        return part

    def __call__(self, *arguments: Any) -> Part:
        self.calls.append(arguments)
        return self


def test_an_object_is_not_its_class_whichever_another_thread_has_looked_up() -> None:
    view = Part()
    session = cast("SparkSession", SimpleNamespace(_jvm=view, _jsparkSession=Part("session")))
    package = "org.apache.spark.sql.catalyst.analysis"
    for name in OBJECTS:
        assert jvm.named(session, f"{package}.{name}").name == f"{package}.{name}"
    frame = cast("DataFrame", SimpleNamespace(_jdf=Part("frame"), sparkSession=session))
    jvm.show(frame, "orders")
    ((*_, one, other, _, _),) = view.org.apache.spark.sql.execution.command.CreateViewCommand.calls
    assert [each.name for each in (one, other)] == [f"{package}.{name}.MODULE$" for name in OBJECTS]
    for name in OBJECTS:
        assert jvm.named(session, f"{package}.{name}").name == f"{package}.{name}"
