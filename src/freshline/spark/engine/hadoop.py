"""Hadoop's settings without the notes of where each one came from.

Hadoop has more than a thousand settings, nearly all of them defaults out of its own files, and
notes for each one which file or program set it. Spark sends all of them to the tasks of every
job, several times: with each file that is scanned and with the job that writes. There every note
is compressed by itself, so the notes take longer than a small update's own work
(docs/design/0285). Nothing of Spark, Delta or freshline reads them. The settings stay as they are.
"""

from __future__ import annotations

import logging

from pyspark.sql import SparkSession

from freshline.spark.engine import jvm
from freshline.spark.engine.errors import SparkError, one_line

_NOTES = "updatingResource"
"""Hadoop's private map from a setting to what set it."""

_ADDS_DEFAULTS = "org.apache.hadoop.mapred.JobConf"
"""When this class is loaded more files of defaults are read, and all settings with their notes."""

log = logging.getLogger(__name__)


def forget_sources(session: SparkSession) -> None:
    """Have Hadoop's settings of this Spark forget what set them.

    Every configuration that is made for a query is a copy of these. Where another version of
    Hadoop keeps the notes elsewhere all stays as it was, and is only slower.
    """
    try:
        jvm.named(session, "java.lang.Class.forName")(_ADDS_DEFAULTS)
        settings = jvm.hadoop_settings(session)
        settings.size()  # read by now
        notes = settings.getClass().getDeclaredField(_NOTES)
        notes.setAccessible(True)
        # Not clear() of the map that is there: py4j removes one key after the other, in 5,500
        # messages and a second of each start.
        notes.set(settings, jvm.named(session, "java.util.concurrent.ConcurrentHashMap")())
    except SparkError as error:
        log.debug("Hadoop's notes on its settings stay: %s", one_line(error))
