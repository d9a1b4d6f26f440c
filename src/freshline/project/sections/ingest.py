"""``ingest:`` of freshline.yml: what is kept of pushed records, and who may push them.

The address is the project's (:mod:`freshline.project.sections.server`). Tokens stand in the file as
SHA-256 of random ones: nobody guesses 256 bits, so a slow hash would only slow down the answers.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Collection
from pathlib import Path

from freshline.project.model import Feed, IngestSettings, TimestampPattern
from freshline.project.names import correction, listed
from freshline.project.sections.feeds import resolved
from freshline.project.yaml.section import Section

TOKEN_HASH = re.compile(r"(?:sha256:)?([0-9a-f]{64})\Z")
LANDED_TIMESTAMP = TimestampPattern(
    re.compile(r"-(\d{8}T\d{6}\.\d{6})Z-\d{16}-\d{16}\.parquet$"), "%Y%m%dT%H%M%S.%f"
)
"""How the name of a landed file gives its timestamp, in UTC.

See ``freshline.ingest.engine.landedfile``.
"""

_FOLDER_RULE = "the log needs a folder on this machine"


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
        return IngestSettings(folder, _store(storage), place=top.place("feeds"))
    section.only(
        "host", "port", "memory", "max_body", "max_record", "folder", "land_after", "tls", "tokens"
    )
    default = IngestSettings(Path())
    return IngestSettings(
        folder=_folder(section, pushed, root, storage),
        store=_store(storage),
        land_after_s=section.duration_s("land_after") or default.land_after_s,
        memory_bytes=section.size_bytes("memory") or default.memory_bytes,
        max_body_bytes=section.size_bytes("max_body") or default.max_body_bytes,
        max_record_bytes=section.size_bytes("max_record") or default.max_record_bytes,
        tokens=_tokens(section, pushed),
        place=section.place(),
    )


def landed_feed(feed: Feed, settings: IngestSettings) -> Feed:
    """A push feed as everybody but the gateway sees it: Parquet files in a folder."""
    path = settings.in_store(feed.name) or str(settings.landed(feed.name))
    return dataclasses.replace(feed, path=path, format="parquet", timestamp=LANDED_TIMESTAMP)


def _store(storage: str) -> str | None:
    """Where files are landed if the storage is a URI: what only this disk has, dies with it."""
    is_path = not storage or storage.startswith("/")
    return None if is_path else f"{storage}/_freshline/landed"


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
            next_step="Name a local folder.",
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
            next_step="Add ingest.folder: with a local folder. Landed files go to the storage.",
        )
    return Path(storage) / "_freshline" / "ingest"


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
                next_step=correction(feed, pushed, "Use one of these names."),
            )
        hashes = [
            TOKEN_HASH.match(str(each)) for each in (value if isinstance(value, list) else [value])
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
