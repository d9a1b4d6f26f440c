"""The description and the site agree, as far as generated requests can tell."""

from __future__ import annotations

import dataclasses

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
from freshline.ui.described import description
from freshline.ui.views import VIEWS
from tests.unit.runtime.shop import Shop, made_project
from tests.unit.ui.conftest import site_of

CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
]
OPERATIONS = [
    (path, method) for path, each in description(None)["paths"].items() for method in each
]


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    token, hashed = new_token()
    shop = Shop(made_project(tmp_path_factory.mktemp("shop"), {"orders": (), "big": ("orders",)}))
    shop.file("orders", 1, [1, 2])
    shop.run_until_idle()
    project = dataclasses.replace(shop.project, server=ServerSettings(port=0, tokens=(hashed,)))
    with site_of(project) as ask:
        yield ask.url, token


def test_every_view_is_described():
    assert set(VIEWS) <= {path for path, _ in OPERATIONS}


@pytest.mark.parametrize(("path", "method"), OPERATIONS)
def test_every_generated_request_is_answered_as_described(site, path, method):
    url, token = site
    api = schemathesis.openapi.from_url(f"{url}/openapi.json")
    operation = api[path][method.upper()]
    statuses = set()

    @settings(max_examples=15, suppress_health_check=list(HealthCheck), deadline=None)
    @given(operation.as_strategy())
    def ask(case):
        name = (case.path_parameters or {}).get("name", "")
        if len(name) % 2:  # a name that nobody has is one answer; a table's is the other
            case.path_parameters["name"] = "big"
        answer = case.call_and_validate(checks=CHECKS, headers={"Authorization": f"Bearer {token}"})
        statuses.add(answer.status_code)

    ask()
    assert statuses <= {200, 400, 404, 409}, statuses
