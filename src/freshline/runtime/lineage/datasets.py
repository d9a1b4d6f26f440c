"""How tables and feeds are named in lineage, so that others' events about them join.

A table is named by where it is, as OpenLineage's Spark integration names what it reads by path,
with its name in the project as a symlink.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from freshline.delta.stores import delta_table
from freshline.project.model import DeltaSource, Feed, KafkaSource
from freshline.project.names import Scope
from freshline.sql.text.tokens import name_parts

_SCHEMES = {"s3a": "s3", "s3n": "s3"}
_WITHOUT_SLASH = ("s3", "gs", "abfss", "abfs", "wasbs", "wasb")
"""Object stores: a name is a key, which begins with no slash."""

_TYPES = {"long": "bigint", "integer": "int", "short": "smallint", "byte": "tinyint"}


@dataclass(frozen=True, slots=True)
class Name:
    """A dataset's namespace and name."""

    namespace: str
    name: str


def name_of_path(path: str) -> Name:
    """The dataset at an absolute path or a URI."""
    if "://" not in path:
        return Name("file", path.rstrip("/") or "/")
    parts = urlsplit(path)
    scheme = _SCHEMES.get(parts.scheme, parts.scheme)
    if scheme == "file":
        return Name("file", parts.path.rstrip("/") or "/")
    name = parts.path.rstrip("/")
    if scheme in _WITHOUT_SLASH:
        name = name.lstrip("/")
    return Name(f"{scheme}://{parts.netloc}", name or "/")


def name_of_table(name: str) -> Name:
    """The dataset that a query names by a catalog, Spark's own where it names none."""
    first, *rest = Scope().full(name_parts(name))
    return Name(first, ".".join(rest))


def name_of_feed(feed: Feed) -> Name:
    """The dataset that a feed reads: a folder, a topic or a Delta table."""
    if isinstance(feed.settings, KafkaSource):
        first = feed.settings.servers.split(",")[0].strip()
        return Name(f"kafka://{first}", feed.settings.topic)
    if isinstance(feed.settings, DeltaSource) and feed.settings.table is not None:
        return name_of_table(feed.settings.table)
    return name_of_path(feed.path)


@dataclass(frozen=True, slots=True)
class Column:
    """A column with its Spark type, and its comment where it has one."""

    name: str
    kind: str
    comment: str | None = None


def columns_at(path: str, version: int) -> tuple[Column, ...]:
    """The columns of a Delta table at one version; none where they cannot be read."""
    from deltalake.exceptions import DeltaError

    try:
        found = delta_table(path, version).schema().to_json()
    except (DeltaError, OSError):
        return ()
    return columns_of(json.loads(found)["fields"])


def columns_of(fields: Sequence[Mapping[str, Any]]) -> tuple[Column, ...]:
    """The columns of a Delta schema's fields."""
    return tuple(
        Column(each["name"], spark_type(each["type"]), (each.get("metadata") or {}).get("comment"))
        for each in fields
    )


def spark_type(kind: Any) -> str:
    """Spark's simple string of a type in a Delta schema."""
    if isinstance(kind, str):
        return _TYPES.get(kind, kind)
    if kind["type"] == "array":
        return f"array<{spark_type(kind['elementType'])}>"
    if kind["type"] == "map":
        return f"map<{spark_type(kind['keyType'])},{spark_type(kind['valueType'])}>"
    inner = ",".join(f"{each['name']}:{spark_type(each['type'])}" for each in kind["fields"])
    return f"struct<{inner}>"
