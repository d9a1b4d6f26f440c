"""Object stores as delta-rs and pyarrow reach them, by the settings that Spark reaches them with.

A project says once, in ``configuration:``, where a store is and who asks
(``spark.hadoop.fs.s3a.*``). Spark's Hadoop client reads that; here it is told to the two
libraries that read logs and list feeds without Spark. What it does not say, all three look for by
themselves: environment, profiles, the machine's role.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

_S3 = frozenset({"s3", "s3a", "s3n"})
_PREFIX = "spark.hadoop.fs.s3a."
_ANONYMOUS = "AnonymousAWSCredentialsProvider"
_CONNECT_S = 3
_ANSWER_S = 20
_ARROW_TRIES = 3
_RETRY_S = 30
_PATIENCE = {
    "connect_timeout": f"{_CONNECT_S}s",
    "timeout": f"{_ANSWER_S}s",
    "max_retries": "3",
    "retry_timeout": f"{_RETRY_S}s",
}
"""Of delta-rs, which else tries for three minutes; what is away is tried again by its caller."""
LONGEST_S = float(max(_ARROW_TRIES * (_CONNECT_S + _ANSWER_S), _RETRY_S + _ANSWER_S))
"""How long S3 may leave a request unanswered, with all tries, until it counts as not reached.

Arrow makes a fixed number of tries; delta-rs begins new ones until its time is over. Connecting
rarely takes as long as it may, which leaves time for the pauses between tries.
"""

_configuration: dict[str, str] = {}


def use(configuration: Mapping[str, str]) -> None:
    """Reach stores by a project's settings from now on, in this process."""
    _configuration.clear()
    _configuration.update(
        {name: value for name, value in configuration.items() if name.startswith(_PREFIX)}
    )


def arrow_uri(path: str) -> str:
    """A URI as Spark's Hadoop clients want it, in the form that Arrow and delta-rs know."""
    scheme, separator, rest = path.partition("://")
    if scheme in _S3:
        scheme = "s3"
    elif scheme in ("wasb", "wasbs"):
        scheme = scheme.replace("wasb", "abfs")
        rest = rest.replace(".blob.core.windows.net", ".dfs.core.windows.net", 1)
    return scheme + separator + rest


def storage_options(path: str) -> dict[str, str] | None:
    """What delta-rs is to know of the store of a path; None for a local one."""
    parts = urlsplit(path)
    if parts.scheme in ("", "file"):
        return None
    if parts.scheme not in _S3:
        return dict(_PATIENCE)
    said = _S3Settings(parts.netloc)
    named = {
        "AWS_ACCESS_KEY_ID": said.of("access.key"),
        "AWS_SECRET_ACCESS_KEY": said.of("secret.key"),
        "AWS_SESSION_TOKEN": said.of("session.token"),
        "AWS_REGION": said.of("endpoint.region"),
        "AWS_ENDPOINT_URL": said.endpoint(),
        "AWS_ALLOW_HTTP": "true" if said.is_plain() else None,
        "AWS_SKIP_SIGNATURE": "true" if said.is_anonymous() else None,
        "AWS_VIRTUAL_HOSTED_STYLE_REQUEST": "true" if said.has_host_for_each_bucket() else None,
    }
    return {name: value for name, value in named.items() if value is not None} | _PATIENCE


def delta_table(path: str, version: int | None = None) -> Any:
    """A Delta table as delta-rs sees it, wherever it is; the newest version, or the one named.

    Raises:
        deltalake.exceptions.TableNotFoundError: There is none.
        deltalake.exceptions.DeltaError, OSError: It cannot be read.
    """
    import deltalake

    return deltalake.DeltaTable(
        arrow_uri(path), version=version, storage_options=storage_options(path)
    )


def arrow_store(path: str) -> tuple[Any, str]:
    """The file system of a URI as pyarrow has it, and the path in it."""
    from pyarrow import fs

    uri = arrow_uri(path)
    parts = urlsplit(uri)
    if parts.scheme not in _S3:
        system, base = fs.FileSystem.from_uri(uri)
        return system, base.rstrip("/")
    said = _S3Settings(parts.netloc)
    endpoint = urlsplit(said.endpoint() or "")
    named = {
        "access_key": said.of("access.key"),
        "secret_key": said.of("secret.key"),
        "session_token": said.of("session.token"),
        "region": said.of("endpoint.region"),
        "endpoint_override": endpoint.netloc or None,
        "scheme": "http" if said.is_plain() else None,
        "anonymous": True if said.is_anonymous() else None,
        "force_virtual_addressing": True if said.has_host_for_each_bucket() else None,
    }
    given = {name: value for name, value in named.items() if value is not None}
    if not given:  # Arrow finds a bucket's region where nobody says it
        system, base = fs.FileSystem.from_uri(uri)
        return system, base.rstrip("/")
    system = fs.S3FileSystem(
        **given,
        connect_timeout=float(_CONNECT_S),
        request_timeout=float(_ANSWER_S),
        retry_strategy=fs.AwsStandardS3RetryStrategy(max_attempts=_ARROW_TRIES),
    )
    return system, (parts.netloc + parts.path).rstrip("/")


def text_lines(system: Any, name: str) -> list[str]:
    """The lines of a text in a store, as Arrow reaches it.

    Raises:
        FileNotFoundError: It is not there.
        OSError, ValueError: It cannot be read.
    """
    with system.open_input_stream(name) as stream:
        # Not by splitlines: JSON leaves U+2028 and its like within strings as they are.
        return str(stream.read(), "utf-8").rstrip("\n").split("\n")


class _S3Settings:
    """What the project says of one bucket: of it by name, else of all."""

    def __init__(self, bucket: str) -> None:
        self._bucket = bucket

    def of(self, name: str) -> str | None:
        """The value of a setting of Hadoop's S3A client."""
        own = _configuration.get(f"{_PREFIX}bucket.{self._bucket}.{name}")
        return own or _configuration.get(f"{_PREFIX}{name}") or None

    def is_plain(self) -> bool:
        """Whether the store is asked without TLS."""
        endpoint = self.of("endpoint") or ""
        off = (self.of("connection.ssl.enabled") or "").lower() == "false"
        return endpoint.startswith("http://") or ("://" not in endpoint and bool(endpoint) and off)

    def endpoint(self) -> str | None:
        """The endpoint as a URL."""
        endpoint = self.of("endpoint")
        if endpoint is None or "://" in endpoint:
            return endpoint
        return f"{'http' if self.is_plain() else 'https'}://{endpoint}"

    def is_anonymous(self) -> bool:
        """Whether requests are not signed."""
        return (self.of("aws.credentials.provider") or "").endswith(_ANONYMOUS)

    def has_host_for_each_bucket(self) -> bool:
        """Whether the bucket is part of the host name; both libraries think not, for an endpoint.

        Hadoop's client thinks so unless it is told otherwise, which matters only where a host name
        can have one.
        """
        endpoint = urlsplit(self.endpoint() or "")
        if not endpoint.hostname or (self.of("path.style.access") or "").lower() == "true":
            return False
        return endpoint.hostname.endswith(".amazonaws.com")
