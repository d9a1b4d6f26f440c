"""``ingest:`` of freshline.yml: where pushed records come in, and who may push them.

The gateway listens on the loopback unless told otherwise; told otherwise, it wants TLS and a
token for every feed. Tokens stand in the file as SHA-256 of random ones: nobody guesses 256
bits, so a slow hash would only slow down the answers.
"""

from __future__ import annotations

import dataclasses
import ipaddress
import re
from collections.abc import Collection
from pathlib import Path

from freshline.project.model import Feed, IngestSettings, TimestampPattern, TlsFiles
from freshline.project.names import correction, listed
from freshline.project.sections.feeds import resolved
from freshline.project.yaml.section import Section

_HASH = re.compile(r"(?:sha256:)?([0-9a-f]{64})\Z")
LANDED_TIMESTAMP = TimestampPattern(
    re.compile(r"-(\d{8}T\d{6}\.\d{6})Z-\d{16}-\d{16}\.parquet$"), "%Y%m%dT%H%M%S.%f"
)
"""How the name of a landed file gives its timestamp, in UTC.

See ``freshline.ingest.engine.landedfile``.
"""

_FOLDER_RULE = "the log needs a folder on this machine"


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach an address."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"


def read_ingest(
    top: Section, pushed: Collection[str], root: Path, storage: str
) -> IngestSettings | None:
    """The section, or its defaults; None where nothing is pushed and nothing is said.

    Args:
        top: The whole file.
        pushed: The feeds of kind push.
        root: Where relative paths start.
        storage: Absolute path or URI.
    """
    section = top.sub("ingest", "ingest")
    if section is None and not pushed:
        return None
    if section is None:
        folder = _default_folder(top, "storage", pushed, storage)
        return IngestSettings(folder, place=top.place("feeds"))
    section.only("host", "port", "memory", "max_body", "max_record", "folder", "tls", "tokens")
    default = IngestSettings(Path())
    settings = IngestSettings(
        folder=_folder(section, pushed, root, storage),
        host=section.text("host") or default.host,
        port=section.whole("port", default.port, least=0, most=65535),
        memory_bytes=section.size_bytes("memory") or default.memory_bytes,
        max_body_bytes=section.size_bytes("max_body") or default.max_body_bytes,
        max_record_bytes=section.size_bytes("max_record") or default.max_record_bytes,
        tls=_tls(section, root),
        tokens=_tokens(section, pushed),
        place=section.place(),
    )
    if not is_loopback(settings.host):
        _check_public(section, settings, pushed)
    return settings


def landed_feed(feed: Feed, settings: IngestSettings) -> Feed:
    """A push feed as everybody but the gateway sees it: Parquet files in a folder."""
    return dataclasses.replace(
        feed, path=str(settings.landed(feed.name)), format="parquet", timestamp=LANDED_TIMESTAMP
    )


def _folder(section: Section, pushed: Collection[str], root: Path, storage: str) -> Path:
    written = section.text("folder")
    if written is None:
        return _default_folder(section, None, pushed, storage)
    path = resolved(written, root)
    if not path.startswith("/"):
        section.fault(
            "bad-value",
            f"folder of ingest is '{written}'",
            key="folder",
            rule=_FOLDER_RULE,
            next_step="Name a local folder; landed files must be readable by Spark there.",
        )
    return Path(path)


def _default_folder(
    section: Section, key: str | None, pushed: Collection[str], storage: str
) -> Path:
    """Beside the tables, where they are on this machine."""
    if not storage.startswith("/") and storage and pushed:
        section.fault(
            "missing-key",
            f"the storage {storage} is a URI, and ingest has no folder",
            key=key,
            rule=_FOLDER_RULE,
            next_step="Add ingest.folder: with a local folder that Spark can read too.",
        )
    return Path(storage) / "_freshline" / "ingest"


def _tls(section: Section, root: Path) -> TlsFiles | None:
    sub = section.sub("tls", "tls of ingest")
    if sub is None:
        return None
    sub.only("certificate", "key")
    sub.require("certificate", "key")
    paths = {key: root / (sub.text(key) or "") for key in ("certificate", "key")}
    for key, path in paths.items():
        if sub.data.get(key) is not None and not path.is_file():
            sub.fault(
                "missing-file",
                f"the {key} {sub.data[key]} is not there",
                key=key,
                rule="it is a PEM file, its path relative to freshline.yml",
                next_step="Correct the path.",
            )
    return TlsFiles(paths["certificate"], paths["key"], sub.place())


def _tokens(section: Section, pushed: Collection[str]) -> dict[str, tuple[str, ...]]:
    sub = section.sub("tokens", "tokens of ingest")
    found: dict[str, tuple[str, ...]] = {}
    for feed, value in (sub.data if sub is not None else {}).items():
        assert sub is not None
        if feed not in pushed:
            sub.fault(
                "unknown-feed",
                f"tokens of ingest names the feed '{feed}'",
                key=feed,
                rule=f"the feeds of kind push are {listed(pushed)}",
                next_step=correction(feed, pushed, "Take one of these names."),
            )
        hashes = [
            _HASH.match(str(each)) for each in (value if isinstance(value, list) else [value])
        ]
        if not hashes or not all(hashes):
            # The text is not shown: somebody may have put the token itself there.
            sub.fault(
                "bad-token",
                f"a token of feed {feed} is no SHA-256 in hexadecimal",
                key=feed,
                rule="freshline.yml holds the hashes of tokens, never the tokens",
                next_step=f"Make one with `freshline ingest --new-token {feed}`.",
            )
        found[feed] = tuple(each[1] for each in hashes if each)
    return found


def _check_public(section: Section, settings: IngestSettings, pushed: Collection[str]) -> None:
    """Beyond this machine nothing is taken in without TLS and tokens."""
    rule = "beyond the loopback TLS and a token for every feed are required"
    if settings.tls is None and section.data.get("tls") is None:
        section.fault(
            "no-tls",
            f"ingest listens on {settings.host} without TLS",
            key="host",
            rule=rule,
            next_step="Add ingest.tls: {certificate: FILE, key: FILE}, or listen on 127.0.0.1.",
        )
    without = [feed for feed in pushed if feed not in settings.tokens]
    if without:
        section.fault(
            "no-token",
            f"ingest listens on {settings.host} and has no token for {listed(without)}",
            key="host",
            rule=rule,
            next_step="Make them with `freshline ingest --new-token FEED`.",
        )
