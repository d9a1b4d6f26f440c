"""What lets Spark reach S3: hadoop-aws with the parts of Amazon's SDK that it uses.

The SDK's bundle, on which hadoop-aws depends, has some 600 MB; these parts have 15 MB. They are
fetched once, by the resolver of the product itself (docs/object-storage.md has the same lines).
"""

from __future__ import annotations

import pytest

from freshline.core.errors import PlatformError
from freshline.spark.engine.jars import resolved

PACKAGES = (
    "org.apache.hadoop:hadoop-aws:3.5.0",
    *(
        f"software.amazon.awssdk:{part}:2.35.4"
        for part in ("s3", "s3-transfer-manager", "sts", "apache-client")
    ),
)
WITHOUT = {"spark.jars.excludes": "software.amazon.awssdk:bundle"}
"""For ``configuration:``."""


def s3_jars() -> str:
    """The jars as ``spark.jars`` wants them; the test is skipped where they cannot be had."""
    try:
        return resolved({"spark.jars.packages": ",".join(PACKAGES), **WITHOUT})["spark.jars"]
    except PlatformError as error:
        pytest.skip(f"no jars for S3: {error}")
