"""Who may read, and who may act.

On the loopback programs of this machine may read; acting takes a token of ``server.tokens``
everywhere, and so does reading beyond the loopback. A token travels in a header alone, so no
other site's page can act through somebody's browser.
"""

from __future__ import annotations

import hmac

from starlette.requests import Request

from freshline.ingest.http.auth import check_host, token_hash
from freshline.ingest.refusals import Refusal
from freshline.project.model import Project
from freshline.project.sections.server import is_loopback
from freshline.ui.answers import Problem

_CHALLENGE = {"WWW-Authenticate": 'Bearer realm="freshline"'}


class Access:
    """The rules of one project.

    Args:
        project: Its server settings and its feeds' tokens.
    """

    def __init__(self, project: Project) -> None:
        self._public = not is_loopback(project.server.host)
        self._tokens = project.server.tokens
        of_feeds = project.ingest.tokens.values() if project.ingest is not None else ()
        self._any = (*self._tokens, *(each for several in of_feeds for each in several))

    @property
    def can_act(self) -> bool:
        """Whether any token lets somebody act."""
        return bool(self._tokens)

    def may_act(self, request: Request) -> bool:
        """Whether this request could act."""
        return bool(self._tokens) and _fits(request, self._tokens)

    def check_name(self, request: Request) -> None:
        """Refuse a request that does not mean this machine (DNS rebinding).

        Raises:
            Problem: 421.
        """
        if self._public:
            return
        try:
            check_host(request.headers.get("host", ""))
        except Refusal as refusal:
            raise Problem(refusal.status, refusal.code, refusal.message) from refusal

    def check_read(self, request: Request) -> None:
        """Whether a request may see what the page shows.

        Raises:
            Problem: 401 or 421.
        """
        self.check_name(request)
        if self._public:
            _check(request, self._tokens)

    def check_metrics(self, request: Request) -> None:
        """Whether a request may see metrics: beyond the loopback a feed's token does, too.

        Raises:
            Problem: 401 or 421.
        """
        self.check_name(request)
        if self._public:
            _check(request, self._any)

    def check_act(self, request: Request) -> None:
        """Whether a request may pause, resume, refresh and prioritise.

        Raises:
            Problem: 401, 403 where no token can let anybody, or 421.
        """
        self.check_name(request)
        if not self._tokens:
            raise Problem(
                403,
                "no-token",
                "freshline.yml has no server.tokens, so nobody can act here; make one with"
                " `freshline ui --new-token`, or use the commands",
            )
        _check(request, self._tokens)


def _check(request: Request, hashes: tuple[str, ...]) -> None:
    if not _fits(request, hashes):
        raise Problem(
            401, "unauthorized", "a bearer token of server.tokens is required", _CHALLENGE
        )


def _fits(request: Request, hashes: tuple[str, ...]) -> bool:
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    given = token_hash(token.strip())
    # Every hash is compared, each in constant time: the time says nothing about any.
    fits = [hmac.compare_digest(given, each) for each in hashes]
    return scheme.lower() == "bearer" and any(fits)
