"""The description of the API: valid, complete, and true of every answer that a fuzzer gets."""

import json
from collections.abc import Iterator
from typing import Any

import hypothesis
import pytest
from serving import inspected, running, send, service, upper
from small_translators import small_translator

from multihead.apps.serve.app import Serving, application
from multihead.apps.serve.handling import RequestLimits

schemathesis: Any = pytest.importorskip("schemathesis", reason="schemathesis is not installed")
EXAMPLES = 8
"""Generated requests for each operation."""
PAGE = {"/", "/assets/{name}", "/inspect", "/openapi.json"}
"""Routes that are not part of the API."""


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    serving = Serving(limits=RequestLimits(chars=60))
    translator = small_translator()
    with (
        service(("de", "en"), ("en", "de"), translator=translator) as served,
        running(served, serving, translate_document=upper) as at,
    ):
        yield at


@pytest.fixture(scope="module")
def described(address: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(send(f"{address}/openapi.json")[1])
    return found


def test_every_route_is_described_and_nothing_else(described: dict[str, Any]) -> None:
    with service(("de", "en")) as served:
        routes = application(served, inspected).routes
    paths = {(route.path, method.lower()) for route in routes for method in route.methods - {"HEAD"}}  # type: ignore[attr-defined]
    told = {(path, method) for path, methods in described["paths"].items() for method in methods}
    unfuzzed = {("/v2/languages", "post"), ("/v2/usage", "post")}  # the same as their GET
    assert {pair for pair in paths if pair[0] not in PAGE} - unfuzzed == told


def test_a_server_with_keys_says_so(described: dict[str, Any]) -> None:
    assert described["openapi"] == "3.1.0"
    assert "security" not in described
    assert "Translates de to en, en to de." in described["info"]["description"]


def test_every_answer_is_as_described(address: str) -> None:
    schema = schemathesis.openapi.from_url(f"{address}/openapi.json")
    checks = schemathesis.checks
    conformance = ("status_code", "content_type", "response_schema")
    names = ["not_a_server_error", *(f"{one}_conformance" for one in conformance)]
    wanted = checks.CHECKS.get_by_names(names)
    tried = 0
    for result in schema.get_all_operations():
        operation = result.ok()

        @hypothesis.given(case=operation.as_strategy())
        @hypothesis.settings(
            max_examples=EXAMPLES, suppress_health_check=list(hypothesis.HealthCheck), derandomize=True
        )
        def fuzzed(case: Any) -> None:
            nonlocal tried
            tried += 1
            case.call_and_validate(checks=wanted)

        fuzzed()
    assert tried > 100
