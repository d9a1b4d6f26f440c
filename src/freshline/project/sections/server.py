"""``server:`` of freshline.yml: the one address at which a project is seen, asked and pushed to.

It is on the loopback unless the file says otherwise; beyond it TLS is required, a token for every
push feed, and a token for readers. ``host``, ``port`` and ``tls`` are also accepted under
``ingest:``, where they stood when the gateway was all that listened.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Collection
from pathlib import Path

from freshline.project.model import IngestSettings, ServerSettings, TlsFiles
from freshline.project.names import listed
from freshline.project.sections.ingest import TOKEN_HASH
from freshline.project.yaml.section import Section

_ADDRESS_KEYS = ("host", "port", "tls")


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach an address."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"


def read_server(
    top: Section, pushed: Collection[str], ingest: IngestSettings | None, root: Path
) -> ServerSettings:
    """The project's address, or the default one.

    Args:
        top: The whole file.
        pushed: The feeds of kind push.
        ingest: Settings of pushing, with the feeds' tokens.
        root: Where relative paths start.
    """
    own, older = top.sub("server", "server"), top.sub("ingest", "ingest")
    if own is not None:
        own.only(*_ADDRESS_KEYS, "tokens")
    section = own
    if older is not None and any(key in older.data for key in _ADDRESS_KEYS):
        if own is not None:
            key = next(key for key in _ADDRESS_KEYS if key in older.data)
            older.fault(
                "two-addresses",
                f"ingest has {key}, and there is a section server",
                key=key,
                rule="a project has one address, that of server",
                next_step=f"Move {key} to server.",
            )
        else:
            section = older
    if section is None:
        return ServerSettings()
    default = ServerSettings()
    settings = ServerSettings(
        host=section.text("host") or default.host,
        port=section.whole("port", default.port, least=0, most=65535),
        tls=_tls(section, root),
        tokens=_tokens(own) if own is not None else (),
        written="port" in section.data,
        place=section.place(),
    )
    if not is_loopback(settings.host):
        _check_public(section, settings, pushed, ingest)
    return settings


def _tls(section: Section, root: Path) -> TlsFiles | None:
    sub = section.sub("tls", f"tls of {section.what}")
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


def _tokens(section: Section) -> tuple[str, ...]:
    value = section.data.get("tokens")
    if value is None:
        return ()
    hashes = [
        TOKEN_HASH.match(str(each)) for each in (value if isinstance(value, list) else [value])
    ]
    if not hashes or not all(hashes):
        # The text is not shown: somebody may have put the token itself there.
        section.fault(
            "bad-token",
            "a token of server is no SHA-256 in hexadecimal",
            key="tokens",
            rule="freshline.yml holds the hashes of tokens, never the tokens",
            next_step="Make one with `freshline ui --new-token`.",
        )
    return tuple(each[1] for each in hashes if each)


def _check_public(
    section: Section,
    settings: ServerSettings,
    pushed: Collection[str],
    ingest: IngestSettings | None,
) -> None:
    """Beyond this machine nothing is shown or taken in without TLS and tokens."""
    of_feeds = ingest.tokens if ingest is not None else {}
    rule = "beyond the loopback TLS and a token for every feed are required"
    if settings.tls is None and section.data.get("tls") is None:
        section.fault(
            "no-tls",
            f"{section.what} listens on {settings.host} without TLS",
            key="host",
            rule=rule,
            next_step=f"Add {section.what}.tls: {{certificate: FILE, key: FILE}}, or listen on"
            " 127.0.0.1.",
        )
    without = [feed for feed in pushed if feed not in of_feeds]
    if without:
        section.fault(
            "no-token",
            f"{section.what} listens on {settings.host} and has no token for {listed(without)}",
            key="host",
            rule=rule,
            next_step="Make them with `freshline ingest --new-token FEED`.",
        )
    if not (settings.tokens or of_feeds or section.data.get("tokens")) and not without:
        section.fault(
            "no-token",
            f"{section.what} listens on {settings.host} and has no token",
            key="host",
            rule="beyond the loopback TLS and a token are required",
            next_step="Make one with `freshline ui --new-token`.",
        )
