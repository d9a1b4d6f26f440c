"""uvicorn in a thread of its own: bound before the address is announced, stopped within a time."""

from __future__ import annotations

import asyncio
import ipaddress
import socket
import ssl
import threading
from typing import Protocol

import uvicorn

from freshline.core.errors import InternalError, Place, PlatformError, UserError
from freshline.ingest.http.door import Admission, Door, HurriedLoop, more_descriptors
from freshline.ingest.http.exchange import Receive, Scope, Send
from freshline.ingest.http.pace import Patience
from freshline.ingest.http.protocol import protocol_with
from freshline.project.model import TlsFiles

_BACKLOG = 1024
_STARTED_WITHIN_S = 30.0


def tls_context(files: TlsFiles) -> ssl.SSLContext:
    """The server's side of TLS 1.2 and newer.

    Raises:
        UserError: The files are no certificate and its key.
    """
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    try:
        # An encrypted key would have OpenSSL ask on the terminal: an empty password fails.
        context.load_cert_chain(files.certificate, files.key, password="")
    except (OSError, ssl.SSLError, ValueError) as error:
        raise UserError(
            "bad-tls",
            f"{files.certificate} and {files.key} are no certificate and its key",
            where=files.place,
            rule="both are PEM files, the certificate with its chain, the key not encrypted",
            next_step=f"Correct server.tls ({type(error).__name__}).",
        ) from error
    return context


def bound_socket(host: str, port: int, place: Place) -> socket.socket:
    """A socket with the address; nobody can connect before the server listens.

    Raises:
        UserError: The address is not ours, or taken.
    """
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        found = socket.socket(family, kind, protocol)
        try:
            found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            found.bind(address)
        except OSError:
            found.close()
            raise
    except OSError as error:
        raise address_error(f"{host}, port {port}", error, place) from error
    return found


def address_error(address: str, error: OSError, place: Place) -> UserError:
    """An address at which nothing can listen."""
    return UserError(
        "address",
        f"cannot listen on {address}: {error.strerror or error}",
        where=place,
        rule="server.host is an address of this machine, server.port a free port or 0",
        next_step="Stop what listens there, or choose another port.",
    )


class _Server(uvicorn.Server):
    """Tells when it accepts connections."""

    def __init__(self, config: uvicorn.Config, accepting: threading.Event) -> None:
        super().__init__(config)
        self._accepting = accepting

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._accepting.set()


class App(Protocol):
    """An ASGI application that can be asked to come to an end."""

    def drain(self) -> None:
        """Refuse what is new, end what would go on for ever; called in any thread."""

    def close(self) -> None:
        """Give back what it holds, once nothing is asked any more."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""


class HttpServer:
    """An HTTP server in a thread of its own.

    Args:
        app: What answers.
        bound: Where it listens.
        place: Where its address is written.
        tls: None for plain HTTP.
        patience: With clients.
    """

    def __init__(
        self,
        app: App,
        bound: socket.socket,
        place: Place,
        tls: ssl.SSLContext | None = None,
        patience: Patience | None = None,
    ) -> None:
        patience = patience or Patience()
        self._app = app
        self._admission = Admission(patience.connections)
        self._handshake_s = patience.header_s
        self._place = place
        config = uvicorn.Config(
            app,
            http=protocol_with(patience),
            ws="none",
            lifespan="off",
            loop="asyncio",
            interface="asgi3",
            log_config=None,  # the program's own, which shows warnings alone
            access_log=False,  # addresses and paths are nobody's business
            server_header=False,
            proxy_headers=False,
            backlog=_BACKLOG,
            timeout_keep_alive=round(patience.idle_s),
            timeout_graceful_shutdown=10,
        )
        config.load()
        config.ssl = tls
        host, port = bound.getsockname()[:2]
        self._socket = Door(bound, self._admission)
        self.url = f"{'https' if tls else 'http'}://{_reachable(host)}:{port}"
        self._accepting = threading.Event()
        self._server = _Server(config, self._accepting)
        self._fault: BaseException | None = None
        self._thread = threading.Thread(target=self._serve, name="http", daemon=True)

    def start(self) -> None:
        """Accept connections; returns once they are.

        Raises:
            UserError: Somebody else listens there.
            PlatformError: The server did not start.
        """
        more_descriptors()
        self._thread.start()
        accepting = self._accepting.wait(_STARTED_WITHIN_S)
        if isinstance(self._fault, OSError):
            raise address_error(self.url, self._fault, self._place)
        if not accepting or self._fault is not None:
            raise PlatformError("http", f"the HTTP server did not start: {self._fault}")

    def stop(self, timeout_s: float) -> None:
        """Refuse what is new, finish what is under way, close."""
        self._app.drain()
        self._server.should_exit = True
        self._thread.join(timeout_s)
        self._app.close()

    @property
    def alive(self) -> bool:
        """Whether it still serves."""
        return self._thread.is_alive()

    def _serve(self) -> None:
        try:
            with asyncio.Runner(loop_factory=lambda: HurriedLoop(self._handshake_s)) as runner:
                runner.run(self._server.serve(sockets=[self._socket]))
        except BaseException as error:  # noqa: BLE001 - told by start(), or seen in `alive`
            self._fault = error
        finally:
            self._socket.close()
            self._accepting.set()


def _reachable(host: str) -> str:
    """An address to speak to: one that means all of this machine's is replaced by the first."""
    try:
        address = ipaddress.ip_address(host)
    except ValueError as error:
        raise InternalError("address", f"{host} is no address") from error
    if address.is_unspecified:
        return socket.gethostname()
    return f"[{host}]" if address.version == 6 else host  # noqa: PLR2004
