"""freshline.yml and SQL files read into a checked Project, every error with its file and line."""

from freshline.project.load import collect, find_project, load_project
from freshline.project.model import (
    Feed,
    IngestSettings,
    KafkaSource,
    Project,
    PushSource,
    SchedulerSettings,
    StaticRead,
    TableDef,
    TimestampPattern,
)

__all__ = [
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
