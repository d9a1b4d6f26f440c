"""The description and the gateway agree, as far as generated requests can tell."""

from __future__ import annotations

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from freshline.ingest.records.records import JSON
from tests.unit.ingest.http.serving import served

FEEDS = {
    "clicks": "id BIGINT NOT NULL, at TIMESTAMP, price DECIMAL(15,2), note STRING",
    "wide": (
        "a TINYINT, b FLOAT, c DOUBLE, d BOOLEAN, e DATE, f TIMESTAMP_NTZ, g BINARY, "
        "h ARRAY<INT>, i MAP<STRING, DOUBLE>, j STRUCT<x: INT NOT NULL, y: DECIMAL(4,4)>"
    ),
}
CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
]


@pytest.fixture(scope="module")
def gateway():
    with served(FEEDS) as running:
        yield running


OPERATIONS = ("push_clicks", "push_wide", "health", "metrics", "openapi")


@pytest.mark.slow
@pytest.mark.parametrize("operation_id", OPERATIONS)
def test_every_generated_request_is_answered_as_described(gateway, operation_id):
    api = schemathesis.openapi.from_url(f"{gateway.url}/openapi.json")
    operation = api.find_operation_by_id(operation_id)
    statuses = set()

    @settings(max_examples=60, suppress_health_check=list(HealthCheck))
    @given(operation.as_strategy())
    def ask(case):
        answer = case.call_and_validate(checks=CHECKS)
        statuses.add(answer.status_code)

    ask()
    # Most of what the description allows is taken; what it cannot say (a DECIMAL's digits, that
    # a text is JSON lines) is refused.
    assert 200 in statuses
    assert statuses <= {200, 400, 413, 422}


def test_the_description_names_every_feed_and_every_answer(gateway):
    found = gateway.ask("GET", "/openapi.json").json
    assert found["openapi"] == "3.1.0"
    assert list(found["paths"]) == [
        "/v1/feeds/clicks",
        "/v1/feeds/wide",
        "/healthz",
        "/metrics",
        "/openapi.json",
    ]
    post = found["paths"]["/v1/feeds/clicks"]["post"]
    assert list(post["responses"]) == [
        "200", "400", "401", "404", "405", "408", "413", "415", "421", "422", "429", "431",
        "500", "503",
    ]  # fmt: skip
    assert "Retry-After" in post["responses"]["503"]["headers"]
    record = found["components"]["schemas"]["record_clicks"]
    assert record["required"] == ["id"]
    assert record["additionalProperties"] is False
    assert post["requestBody"]["content"][JSON]["schema"]["items"] == {
        "$ref": "#/components/schemas/record_clicks"
    }
