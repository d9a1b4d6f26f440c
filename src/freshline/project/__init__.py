"""freshline.yml and SQL files read into a checked Project, every error with its file and line."""

from freshline.core.assembly import SchedulerSettings
from freshline.project.load import collect, find_project, load_project
from freshline.project.model import (
    DeltaSource,
    Feed,
    IngestSettings,
    KafkaSource,
    Project,
    PushSource,
    StaticRead,
    TableDef,
    TimestampPattern,
)

__all__ = [
    "DeltaSource",
    "Feed",
    "IngestSettings",
    "KafkaSource",
    "Project",
    "PushSource",
    "SchedulerSettings",
    "StaticRead",
    "TableDef",
    "TimestampPattern",
    "collect",
    "find_project",
    "load_project",
]
