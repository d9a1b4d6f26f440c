"""A real S3 server in a process of its own: moto, in memory.

In a process of its own, since delta-rs keeps Python's lock while it asks for some things.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path
from types import TracebackType
from typing import Self

import boto3


class S3Server:
    """One bucket, ``lake``; other credentials than these are not asked for.

    Args:
        log: A file for a line for each request.
    """

    BUCKET = "lake"

    def __init__(self, log: Path | None = None) -> None:
        self._log = log
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = int(probe.getsockname()[1])
        self.url = f"http://127.0.0.1:{self.port}"
        with Path(log or os.devnull).open("ab") as said:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(self.port)],
                stdout=subprocess.DEVNULL,
                stderr=said,
            )

    @property
    def settings(self) -> dict[str, str]:
        """As a project's ``configuration:`` says it."""
        prefix = "spark.hadoop.fs.s3a."
        return {
            f"{prefix}endpoint": self.url,
            f"{prefix}endpoint.region": "us-east-1",
            f"{prefix}access.key": "key",
            f"{prefix}secret.key": "secret",
            f"{prefix}path.style.access": "true",
        }

    def client(self) -> boto3.client:
        """Amazon's own."""
        return boto3.client(
            "s3",
            endpoint_url=self.url,
            aws_access_key_id="key",
            aws_secret_access_key="secret",
            region_name="us-east-1",
        )

    def names(self, prefix: str = "") -> list[str]:
        """Names of objects."""
        found = self.client().list_objects_v2(Bucket=self.BUCKET, Prefix=prefix)
        return [each["Key"] for each in found.get("Contents", [])]

    def listings(self) -> int:
        """How many requests have listed names until now."""
        assert self._log is not None
        return self._log.read_text().count("list-type=2")

    def away(self) -> None:
        """Answer nothing until :meth:`back`; connections are taken."""
        self._process.send_signal(signal.SIGSTOP)

    def back(self) -> None:
        """Answer again."""
        self._process.send_signal(signal.SIGCONT)

    def __enter__(self) -> Self:
        end_s = time.monotonic() + 120
        while True:
            try:
                urllib.request.urlopen(f"{self.url}/moto-api/", timeout=5).close()
                break
            except (urllib.error.URLError, ConnectionError, TimeoutError):
                assert time.monotonic() < end_s, "moto does not answer"
                time.sleep(0.1)
        self.client().create_bucket(Bucket=self.BUCKET)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._process.kill()
        self._process.wait()
