"""The web page: one HTML file for every address, and its scripts and styles.

Nothing is built and nothing comes from elsewhere. The policy lets a browser run the files of
this folder alone: names, file names and SQL are text, whatever they contain.
"""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path

from starlette.requests import Request
from starlette.responses import Response

from freshline.ui.answers import Problem

ASSETS = Path(__file__).parent / "assets"
_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
}
_POLICY = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
        "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-cache",
}


def page() -> Response:
    """The page; its script reads from the address what to show."""
    content, _ = _files()["index.html"]
    return Response(content, headers={"content-type": _TYPES[".html"], **_POLICY})


def asset(request: Request, path: str) -> Response:
    """One of the page's files.

    Raises:
        Problem: 404.
    """
    found = _files().get(path)
    if found is None or path == "index.html":
        raise Problem(404, "not-found", "the page has no such file")
    content, tag = found
    headers = {"content-type": _TYPES[Path(path).suffix], "etag": tag, **_POLICY}
    if tag in request.headers.get("if-none-match", ""):
        return Response(status_code=304, headers=headers)
    return Response(content, headers=headers)


@cache
def _files() -> dict[str, tuple[bytes, str]]:
    """Every file that is served, by its path in the folder: nothing else is looked up."""
    found = {}
    for path in sorted(ASSETS.rglob("*")):
        if path.suffix in _TYPES:
            content = path.read_bytes()
            tag = f'"{hashlib.sha256(content).hexdigest()[:24]}"'
            found[path.relative_to(ASSETS).as_posix()] = (content, tag)
    return found
