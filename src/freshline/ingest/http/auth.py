"""Who may push: a bearer token for each feed, kept as its SHA-256."""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Mapping

from freshline.ingest.refusals import Refusal
from freshline.project.sections.server import is_loopback

_TOKEN_BYTES = 32
_CHALLENGE = {"WWW-Authenticate": 'Bearer realm="freshline"'}


def new_token() -> tuple[str, str]:
    """A random token, and its hash for freshline.yml."""
    token = f"fl_{secrets.token_urlsafe(_TOKEN_BYTES)}"
    return token, token_hash(token)


def token_hash(token: str) -> str:
    """SHA-256 in hexadecimal: enough for 256 random bits, which nobody can try out."""
    return hashlib.sha256(token.encode()).hexdigest()


class Guard:
    """Decides whether a request may go on.

    Args:
        tokens: Hashes of each feed's tokens.
        public: Whether the gateway listens beyond the loopback; then nothing is open.
    """

    def __init__(self, tokens: Mapping[str, tuple[str, ...]], *, public: bool) -> None:
        self._tokens = tokens
        self._public = public

    def check_push(self, feed: str, authorization: str | None, host: str) -> None:
        """Whether a request may push to ``feed``, which need not exist.

        Beyond the loopback an unknown feed is answered like a wrong token: names are not for
        strangers.

        Raises:
            Refusal: 401, or 421 for a page in a browser that found its way to the loopback.
        """
        hashes = self._tokens.get(feed, ())
        if hashes or self._public:
            self._check(hashes, authorization)
        else:
            check_host(host)

    def check_read(self, authorization: str | None, host: str) -> None:
        """Whether a request may see metrics and schemas.

        Any token will do, and beyond the loopback one is needed.

        Raises:
            Refusal: 401 or 421.
        """
        if self._public or (self._tokens and authorization):
            hashes = tuple(each for several in self._tokens.values() for each in several)
            self._check(hashes, authorization)
        else:
            check_host(host)

    def _check(self, hashes: tuple[str, ...], authorization: str | None) -> None:
        scheme, _, token = (authorization or "").partition(" ")
        given = token_hash(token.strip())
        # Every hash is compared, each in constant time: the time says nothing about any.
        fits = [hmac.compare_digest(given, each) for each in hashes]
        if scheme.lower() != "bearer" or not any(fits):
            raise Refusal(
                "unauthorized", "a bearer token of this feed is required", headers=_CHALLENGE
            )


def check_host(host: str) -> None:
    """Without a token only programs that mean this machine may speak to it.

    A web page can have its own name resolve to 127.0.0.1 (DNS rebinding); its browser then
    sends that name as Host.

    Raises:
        Refusal: 421.
    """
    name = host.strip()
    if name.startswith("["):
        name = name[1:].partition("]")[0]
    elif name.count(":") == 1:
        name = name.partition(":")[0]
    if name and not is_loopback(name.rstrip(".")):
        raise Refusal(
            "misdirected", "without tokens this gateway answers to the names of its own machine"
        )
