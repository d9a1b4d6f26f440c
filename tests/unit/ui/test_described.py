"""The description and the site agree, as far as generated requests can tell."""

from __future__ import annotations

import dataclasses
import inspect
import math
import re
import urllib.request
from pathlib import Path

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from freshline.ingest.http.auth import new_token
from freshline.project.model import ServerSettings
from freshline.project.yaml.numbers import is_priority
from freshline.ui.actions import ACTIONS
from freshline.ui.described import description
from freshline.ui.site import Site
from freshline.ui.views import VIEWS
from tests.support.shop import Shop, made_project
from tests.unit.ui.conftest import site_of

CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
]
OPERATIONS = [
    (path, method)
    for path, each in description(None)["paths"].items()
    for method in each
    if path != "/v1/events"  # has no end: see below
]
EXAMPLES = {"/v1/ui/what-if": 4}  # each that fits plays a run


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    token, hashed = new_token()
    shop = Shop(made_project(tmp_path_factory.mktemp("shop"), {"orders": (), "big": ("orders",)}))
    shop.file("orders", 1, [1, 2])
    shop.run_until_idle()
    project = dataclasses.replace(shop.project, server=ServerSettings(port=0, tokens=(hashed,)))
    with site_of(project, metrics=lambda _: (b"up 1\n", "text/plain")) as ask:
        yield ask.url, token


def test_a_priority_is_described_as_it_is_taken():
    asked = description(None)["paths"]["/v1/tables/{name}/prioritise"]["post"]["requestBody"]
    priority = asked["content"]["application/json"]["schema"]["properties"]["priority"]
    assert is_priority(priority["maximum"])
    assert not is_priority(math.nextafter(priority["maximum"], math.inf))


def test_every_path_of_the_site_is_described():
    described = set(description(None)["paths"])
    assert set(VIEWS) <= described
    source = Path(inspect.getfile(Site)).read_text(encoding="utf-8")
    routes = set(re.findall(r'Route\("([^"]+)"', source))
    assert len(routes) > 7
    not_described = {"/assets/{path:path}", "/openapi.json", "/v1/tables/{name}/{action}"}
    assert routes - described == not_described
    assert {f"/v1/tables/{{name}}/{action}" for action in ACTIONS} <= described


def test_the_stream_of_events_is_what_it_is_described_as(site):
    url, token = site
    api = schemathesis.openapi.from_url(f"{url}/openapi.json")
    described = api["/v1/events"]["GET"].definition.raw["responses"]["200"]["content"]
    request = urllib.request.Request(
        f"{url}/v1/events", headers={"Authorization": f"Bearer {token}"}
    )
    with urllib.request.urlopen(request, timeout=120) as stream:
        assert stream.headers["content-type"].partition(";")[0] in described
        assert stream.readline() == b"retry: 2000\n"


@pytest.mark.parametrize(("path", "method"), OPERATIONS)
def test_every_generated_request_is_answered_as_described(site, path, method):
    url, token = site
    api = schemathesis.openapi.from_url(f"{url}/openapi.json")
    operation = api[path][method.upper()]
    statuses = set()

    @settings(
        max_examples=EXAMPLES.get(path, 15), suppress_health_check=list(HealthCheck), deadline=None
    )
    @given(operation.as_strategy())
    def ask(case):
        name = (case.path_parameters or {}).get("name", "")
        if len(name) % 2:  # a name that nobody has is one answer; a table's is the other
            case.path_parameters["name"] = "big"
        if {"fresh_to", "within"} & set(case.query or {}):
            case.query["timeout"] = "10ms"
        answer = case.call_and_validate(checks=CHECKS, headers={"Authorization": f"Bearer {token}"})
        statuses.add(answer.status_code)

    ask()
    assert statuses <= {200, 400, 404, 409}, statuses
