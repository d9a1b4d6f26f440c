"""What a pipeline's functions may not call, refused when they call it, however they got there.

The text of a file is looked at before it is imported; a method with another name (``w = df.write``)
or a call in a module of the user's is only found here. Spark refuses the same of its own pipelines.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from delta.tables import (
    DeltaMergeBuilder,
    DeltaOptimizeBuilder,
    DeltaTable,
    DeltaTableBuilder,
)
from pyspark import SparkContext
from pyspark.core.rdd import RDD
from pyspark.sql import functions
from pyspark.sql.catalog import Catalog
from pyspark.sql.classic.dataframe import DataFrame
from pyspark.sql.conf import RuntimeConfig
from pyspark.sql.datasource import DataSourceRegistration
from pyspark.sql.session import SparkSession
from pyspark.sql.udf import UDFRegistration
from pyspark.sql.udtf import UDTFRegistration

from freshline.core.errors import UserError
from freshline.sql.text.functions import is_call
from freshline.sql.text.queries import is_query
from freshline.sql.text.tokens import tokens

_METHODS: tuple[tuple[type, tuple[str, ...]], ...] = (
    (
        DataFrame,
        (
            "createTempView", "createOrReplaceTempView", "createGlobalTempView",
            "createOrReplaceGlobalTempView", "registerTempTable", "writeTo", "mergeInto",
            "foreach", "foreachPartition", "checkpoint",
        ),
    ),
    (
        RDD,
        (
            "foreach", "foreachPartition", "saveAsNewAPIHadoopDataset", "saveAsNewAPIHadoopFile",
            "saveAsHadoopDataset", "saveAsHadoopFile", "saveAsSequenceFile", "saveAsPickleFile",
            "saveAsTextFile", "checkpoint",
        ),
    ),
    (
        DeltaTable,
        (
            "delete", "update", "vacuum", "generate", "convertToDelta", "upgradeTableProtocol",
            "addFeatureSupport", "dropFeatureSupport", "restoreToVersion", "restoreToTimestamp",
            "clone", "cloneAtVersion", "cloneAtTimestamp",
        ),
    ),
    (DeltaMergeBuilder, ("execute",)),
    (DeltaTableBuilder, ("execute",)),
    (DeltaOptimizeBuilder, ("executeCompaction", "executeZOrderBy")),
    (
        SparkSession,
        (
            "stop", "interruptAll", "interruptTag", "interruptOperation", "addTag", "removeTag",
            "clearTags", "addArtifact", "addArtifacts", "copyFromLocalToFs",
        ),
    ),
    (
        SparkContext,
        (
            "stop", "addFile", "addPyFile", "addArchive", "setCheckpointDir", "setLocalProperty",
            "setJobGroup", "setJobDescription", "setInterruptOnCancel", "addJobTag",
            "removeJobTag", "clearJobTags", "cancelJobGroup", "cancelJobsWithTag",
            "cancelAllJobs", "setLogLevel", "setSystemProperty",
        ),
    ),
    (RuntimeConfig, ("set", "unset")),
    (
        Catalog,
        (
            "setCurrentCatalog", "setCurrentDatabase", "dropTempView", "dropGlobalTempView",
            "createTable", "createExternalTable", "clearCache",
        ),
    ),
    (UDFRegistration, ("register", "registerJavaFunction", "registerJavaUDAF")),
    (UDTFRegistration, ("register",)),
    (DataSourceRegistration, ("register",)),
)  # fmt: skip
_PROPERTIES: tuple[tuple[type, tuple[str, ...]], ...] = (
    (DataFrame, ("write", "writeStream")),
    (SparkSession, ("streams",)),
)
_JAVA = ("reflect", "java_method", "try_reflect")
"""Functions of SQL that call any method of Java."""
PARSED: tuple[tuple[Any, str], ...] = (
    (functions, "expr"),
    (DataFrame, "selectExpr"),
    (DataFrame, "filter"),
)
"""What else takes a text of SQL, in which they and subqueries may stand."""


def block(is_users: Callable[[], bool]) -> None:
    """Refuse these calls from now on wherever ``is_users`` says that a user's function runs."""

    def is_refused(*_: Any, **__: Any) -> bool:
        return is_users()

    def is_statement(_: SparkSession, sqlQuery: str, *__: Any, **___: Any) -> bool:  # noqa: N803
        return is_users() and (not is_query(tokens(sqlQuery)) or calls_java(sqlQuery))

    def has_java(*texts: Any, **named: Any) -> bool:
        return is_users() and any(calls_java(each) for each in (*texts, *named.values()))

    for owner, names in _METHODS:
        for name in names:
            _replace(owner, name, is_refused)
    for owner, names in _PROPERTIES:
        for name in names:
            given = vars(owner)[name]
            read = given.func if isinstance(given, functools.cached_property) else given.fget
            setattr(owner, name, property(_refusing(read, name, is_refused)))
    for name in _JAVA:
        _replace(functions, name, is_refused)
    for place, name in PARSED:
        _replace(place, name, has_java)
    _replace(SparkSession, "sql", is_statement)


def calls_java(text: object) -> bool:
    """Whether a text of SQL, or one of a list, calls a method of Java by its name."""
    if isinstance(text, list | tuple):
        return any(map(calls_java, text))
    if not isinstance(text, str) or not any(name in text.lower() for name in _JAVA):
        return False
    found = tokens(text)
    return any(is_call(found, at) and each.is_word(*_WORDS) for at, each in enumerate(found))


_WORDS = tuple(name.upper() for name in _JAVA)


def _replace(owner: Any, name: str, is_refused: Callable[..., bool]) -> None:
    """Put the checked method in the place of one that may be a method of the class itself."""
    given = vars(owner).get(name, getattr(owner, name))
    if isinstance(given, classmethod):
        setattr(owner, name, classmethod(_refusing(given.__func__, name, is_refused)))
    else:
        setattr(owner, name, _refusing(given, name, is_refused))


def _refusing(
    method: Callable[..., Any], name: str, is_refused: Callable[..., bool]
) -> Callable[..., Any]:
    @functools.wraps(method)
    def checked(*args: Any, **kwargs: Any) -> Any:
        if is_refused(*args, **kwargs):
            raise UserError(
                "changes-session",
                f"{name} changes the session or writes data",
                rule="definitions of a pipeline return DataFrames and do nothing else",
                next_step="Make a temporary view with @temporary_view, set what has to be set in"
                " the pipeline's configuration, or return the DataFrame.",
            )
        return method(*args, **kwargs)

    return checked
