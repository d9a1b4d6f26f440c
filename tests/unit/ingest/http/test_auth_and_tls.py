"""Tokens, TLS, and what the gateway refuses to be without them."""

from __future__ import annotations

import logging
import ssl
import subprocess
from pathlib import Path

import pytest

from freshline.client import Client, PushFailedError, PushRefusedError, push
from freshline.core.errors import Place, UserError
from freshline.ingest.http.auth import new_token, token_hash
from freshline.ingest.http.door import Admission
from freshline.ingest.http.pace import Patience
from freshline.ingest.http.server import bound_socket, tls_context
from freshline.project.model import TlsFiles
from freshline.project.sections.server import is_loopback
from tests.unit.ingest.http.serving import DDL, HERE, served, until_closed

ONE = b'{"id": 1}'
CLICKS, ORDERS = "token-of-clicks", "token-of-orders"
TOKENS = {"clicks": (token_hash("old"), token_hash(CLICKS)), "orders": (token_hash(ORDERS),)}
FEEDS = {"clicks": DDL, "orders": DDL}
DESCRIPTORS = Path("/proc/self/fd")


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    """A self-signed certificate for 127.0.0.1."""
    folder = tmp_path_factory.mktemp("tls")
    files = TlsFiles(folder / "cert.pem", folder / "key.pem", Place("freshline.yml", 12))
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
         "-nodes", "-days", "2", "-subj", "/CN=gateway", "-addext", "subjectAltName=IP:127.0.0.1",
         "-keyout", files.key, "-out", files.certificate],
        check=True,
        capture_output=True,
    )  # fmt: skip
    return files


@pytest.fixture(scope="module")
def public(certificate):
    with served(FEEDS, tokens=TOKENS, public=True, tls=tls_context(certificate)) as gateway:
        gateway.trust = ssl.create_default_context(cafile=certificate.certificate)
        yield gateway


def bearer(token):
    return {"authorization": f"Bearer {token}"}


def test_each_feed_has_its_own_tokens_and_a_new_one_beside_the_old(public):
    statuses = {
        (feed, token): public.push(ONE, feed, **bearer(token)).status
        for feed in FEEDS
        for token in (CLICKS, ORDERS, "old", "")
    }
    assert statuses == {
        ("clicks", CLICKS): 200,
        ("clicks", "old"): 200,
        ("clicks", ORDERS): 401,
        ("clicks", ""): 401,
        ("orders", ORDERS): 200,
        ("orders", CLICKS): 401,
        ("orders", "old"): 401,
        ("orders", ""): 401,
    }


def test_strangers_cannot_tell_which_feeds_there_are(public):
    there = public.push(ONE, "clicks")
    nowhere = public.push(ONE, "nothing", **bearer(CLICKS))
    assert (there.status, nowhere.status) == (401, 401)
    assert there.json == nowhere.json
    assert there.headers["www-authenticate"] == 'Bearer realm="freshline"'


@pytest.mark.parametrize(
    "value", [CLICKS, f"Basic {CLICKS}", f"Bearer{CLICKS}", "Bearer", "\u00e9"]
)
def test_only_the_scheme_bearer_counts(public, value):
    assert public.push(ONE, authorization=value.encode("latin-1")).status == 401


def test_the_scheme_is_written_in_any_case(public):
    assert public.push(ONE, authorization=f"bearer  {CLICKS}").status == 200


def test_metrics_and_schemas_want_any_token_and_health_none(public):
    for path in ("/metrics", "/openapi.json"):
        assert public.ask("GET", path).status == 401
        assert public.ask("GET", path, headers=bearer(ORDERS)).status == 200
    assert public.ask("GET", "/healthz").status == 200


def test_the_host_does_not_matter_where_a_token_does(public):
    assert public.push(ONE, host="gateway.example", **bearer(CLICKS)).status == 200


def test_a_feed_with_a_token_wants_it_on_the_loopback_too():
    with served(FEEDS, tokens={"clicks": TOKENS["clicks"]}) as gateway:
        assert gateway.push(ONE, "clicks").status == 401
        assert gateway.push(ONE, "clicks", **bearer(CLICKS)).status == 200
        assert gateway.push(ONE, "orders").status == 200
        assert gateway.push(ONE, "nothing").status == 404


@pytest.mark.parametrize("tokens", [{}, {"clicks": TOKENS["clicks"]}])
@pytest.mark.parametrize("path", ["/metrics", "/openapi.json"])
def test_on_the_loopback_another_host_reads_nothing_without_a_token(tokens, path):
    with served(FEEDS, tokens=tokens) as gateway:
        assert gateway.ask("GET", path).status == 200
        assert gateway.ask("GET", path, headers={"host": "evil.example"}).status == 421
        if tokens:
            wrong, right = bearer("fl_wrong"), bearer(CLICKS)
            assert gateway.ask("GET", path, headers=wrong).status == 401
            assert gateway.ask("GET", path, headers=right | {"host": "proxy.example"}).status == 200


def test_neither_tokens_nor_records_are_logged(public, caplog):
    caplog.set_level(logging.DEBUG)
    public.push(b'{"id": "secret record"}', **bearer(CLICKS))
    public.push(ONE, **bearer("wrong token"))
    for secret in (CLICKS, "wrong token", "secret record"):
        assert secret not in caplog.text


def test_connections_that_never_shake_hands_keep_nobody_out(certificate):
    """Twenty times the limit, from one address, none of which says a word."""
    patience = Patience(connections=8, header_s=1.0, linger_s=0.1)
    tls = tls_context(certificate)
    with served(FEEDS, patience=patience, tokens=TOKENS, public=True, tls=tls) as gateway:
        gateway.trust = ssl.create_default_context(cafile=certificate.certificate)
        descriptors = len(list(DESCRIPTORS.iterdir()))
        silent = [gateway.raw() for _ in range(160)]
        ended = 0
        for each in silent:  # those beyond the limit at once, the others after their second
            ended += until_closed(each) == b""
            each.close()
        assert ended == len(silent)
        assert len(list(DESCRIPTORS.iterdir())) <= descriptors + 2
        assert gateway.ask("GET", "/healthz").status == 200


def test_connections_count_from_the_moment_they_are_accepted():
    admission = Admission(8)
    assert [admission.enters("10.0.0.1") for _ in range(8)] == [True] * 6 + [False] * 2
    assert [admission.enters("127.0.0.1") for _ in range(6)] == [True] * 4 + [False] * 2
    assert not admission.enters("10.0.0.2")
    admission.leaves("10.0.0.1")
    assert admission.enters("10.0.0.2")
    assert admission.open == 10


def test_plain_http_gets_nothing_from_a_tls_port(public):
    with public.raw() as connection:
        connection.sendall(b"GET /healthz HTTP/1.1\r\nhost: a\r\n\r\n")
        assert not until_closed(connection).startswith(b"HTTP")


def test_the_client_speaks_tls_and_trusts_nobody_unasked(public):
    with Client(public.url, token=CLICKS, tls=public.trust) as client:
        assert client.push("clicks", [{"id": 1}]).records == 1
    with pytest.raises(PushFailedError, match="certificate verify failed"):
        push(public.url, "clicks", [{"id": 1}], token=CLICKS)
    with pytest.raises(PushRefusedError) as raised:
        push(public.url, "clicks", [{"id": 1}], token="wrong", tls=public.trust)
    assert (raised.value.status, raised.value.error) == (401, "unauthorized")


def test_a_new_token_is_random_and_fits_its_hash():
    token, hashed = new_token()
    assert token_hash(token) == hashed
    assert new_token()[0] != token
    assert len(token) > 40


def test_files_that_are_no_certificate_are_the_users_to_correct(certificate, tmp_path):
    (tmp_path / "key.pem").write_text("nothing")
    wrong = TlsFiles(certificate.certificate, tmp_path / "key.pem", Place("freshline.yml", 12))
    with pytest.raises(UserError) as raised:
        tls_context(wrong)
    assert raised.value.code == "bad-tls"
    assert str(raised.value.where) == "freshline.yml:12"


def test_an_address_of_another_machine_or_a_taken_port_is_the_users_to_correct():
    with bound_socket("127.0.0.1", 0, HERE) as taken:
        taken.listen()
        for host, port in (("192.0.2.1", 0), ("127.0.0.1", taken.getsockname()[1])):
            with pytest.raises(UserError, match="cannot listen on") as told:
                bound_socket(host, port, HERE)
            assert (told.value.code, told.value.where) == ("address", HERE)


def test_what_is_the_loopback():
    assert [is_loopback(host) for host in ("127.0.0.1", "127.9.9.9", "::1", "localhost")] == [
        True
    ] * 4
    assert [is_loopback(host) for host in ("0.0.0.0", "::", "10.0.0.1", "gateway", "")] == [
        False
    ] * 5
