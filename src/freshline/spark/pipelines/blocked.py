"""What a pipeline's functions may not call, refused when they call it, however they got there.

The text of a file is looked at before it is imported; a method with another name (``w = df.write``)
or a call in a module of the user's is only found here. Spark refuses the same of its own pipelines.
A thread that a function starts is not known to be the user's.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from pyspark.sql.catalog import Catalog
from pyspark.sql.classic.dataframe import DataFrame
from pyspark.sql.conf import RuntimeConfig
from pyspark.sql.datasource import DataSourceRegistration
from pyspark.sql.session import SparkSession
from pyspark.sql.udf import UDFRegistration
from pyspark.sql.udtf import UDTFRegistration

from freshline.core.errors import UserError
from freshline.sql.text.queries import is_query
from freshline.sql.text.tokens import tokens

_METHODS: tuple[tuple[type, tuple[str, ...]], ...] = (
    (
        DataFrame,
        (
            "createTempView", "createOrReplaceTempView", "createGlobalTempView",
            "createOrReplaceGlobalTempView", "registerTempTable", "writeTo", "mergeInto",
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
_PROPERTIES = ("write", "writeStream")


def block(is_users: Callable[[], bool]) -> None:
    """Refuse these calls from now on wherever ``is_users`` says that a user's function runs."""

    def is_refused(*_: Any, **__: Any) -> bool:
        return is_users()

    def is_statement(_: SparkSession, sqlQuery: str, *__: Any, **___: Any) -> bool:  # noqa: N803
        return is_users() and not is_query(tokens(sqlQuery))

    for owner, names in _METHODS:
        for name in names:
            setattr(owner, name, _refusing(getattr(owner, name), name, is_refused))
    for name in _PROPERTIES:
        read = getattr(DataFrame, name).fget
        setattr(DataFrame, name, property(_refusing(read, name, is_refused)))
    setattr(SparkSession, "sql", _refusing(SparkSession.sql, "sql", is_statement))  # noqa: B010


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
