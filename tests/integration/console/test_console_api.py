"""The JSON API: what programs get, how it is described, and what they get when they ask for something else."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from sendonce_console.api.describing import description
from sendonce_console.app import ROUTES

if TYPE_CHECKING:
    from tests.integration.console.conftest import Served


async def test_campaigns_are_given_as_records(console: Served) -> None:
    found = await console.json("/api/v1/namespaces/shop/campaigns", "viewer")
    assert [one["name"] for one in found["items"]] == ["welcome", "spring"]
    assert found["next"] is None
    spring = found["items"][1]
    assert spring["reason"] == "Retrying"
    assert spring["message"].startswith("1 delivery waits for another attempt")
    assert spring["recipients"] == {"total": 12, "duplicates": 0, "rejected": 1, "unreachable": 0}
    states = {name: count for name, count in spring["deliveries"].items() if name != "total"}
    assert sum(states.values()) == spring["deliveries"]["total"] == 12
    everywhere = await console.json("/api/v1/campaigns", "admin")
    assert {one["namespace"] for one in everywhere["items"]} == {"shop", "bank"}
    paged = await console.json("/api/v1/campaigns?limit=2", "admin")
    rest = await console.json(f"/api/v1/campaigns?limit=2&after={paged['next']}", "admin")
    assert [one["name"] for one in paged["items"] + rest["items"]] == ["statement", "welcome", "spring"]


async def test_a_campaign_tells_everything_and_masks_what_is_not_theirs(console: Served) -> None:
    path = "/api/v1/namespaces/shop/campaigns/spring"
    found: dict[str, Any] = {}
    for who, quoted in (("viewer", "r***@example.com"), ("agent", "rob@example.com")):
        found = await console.json(path, who)
        refused = next(one for one in found["failures"] if one["code"] == "5.1.1")
        assert quoted in refused["message"]
        assert refused["count"] == 1
    assert found["workers"][0]["id"] == "worker-spring"
    assert [one["title"] for one in found["timeline"]][-1] == "Applied"


async def test_providers_are_given_as_records(console: Served) -> None:
    found = await console.json("/api/v1/namespaces/shop/providers", "viewer")
    assert [(one["name"], one["type"], one["state"]) for one in found["items"]] == [
        ("email", "HTTP", "Ready"),
        ("sms", "HTTP", "Ready"),
    ]
    assert found["items"][0]["limits"] == [{"limit": "50 in 1 s", "used": 0, "burst": 50}]


async def test_problems_are_problem_documents(console: Served) -> None:
    for path, who, status, title in (
        ("/api/v1/namespaces/bank/campaigns", "viewer", 404, "There is nothing to see in namespace bank"),
        ("/api/v1/namespaces/shop/campaigns/none", "viewer", 404, "There is no campaign none in namespace shop"),
        ("/api/v1/campaigns?limit=0", "viewer", 400, "limit: '0' is not a number from 1 to 100"),
        ("/api/v1/nothing", "viewer", 404, "There is no such page"),
        ("/api/v1/campaigns", None, 401, "Who are you?"),
    ):
        answer = await console.get(path, who)
        assert answer.status == status, path
        assert answer.headers["Content-Type"].startswith("application/problem+json")
        problem = await console.json(path, who)
        assert problem["title"] == title
        assert problem["status"] == status
        assert problem["detail"]


def test_every_route_of_the_api_is_described_with_its_record() -> None:
    found = description(ROUTES)
    for route in (one for one in ROUTES if one.is_api):
        operation = found["paths"][route.path][route.method.lower()]
        assert operation["summary"], route.path
        schema = operation["responses"]["200"]["content"]["application/json"]["schema"]
        assert schema, f"{route.method} {route.path} says nothing of what it returns"
        named = [one["name"] for one in operation["parameters"] if one["in"] == "path"]
        assert named == re.findall(r"{(\w+)}", route.path)
    assert _dangling(found) == set()


def _dangling(found: dict[str, Any]) -> set[str]:
    """References to schemas that are not there."""
    said = set(re.findall(r"#/components/schemas/(\w+)", str(found)))
    return said - set(found["components"]["schemas"])


async def test_what_is_answered_has_the_fields_that_are_described(console: Served) -> None:
    described = await console.json("/api/v1/openapi.json", "viewer")
    schemas = described["components"]["schemas"]
    for path, name in (
        ("/api/v1/campaigns", "CampaignList"),
        ("/api/v1/namespaces/shop/campaigns/spring", "CampaignDetail"),
        ("/api/v1/namespaces/shop/providers", "ProviderList"),
    ):
        _fits(await console.json(path, "agent"), {"$ref": f"#/components/schemas/{name}"}, schemas)


def _fits(value: Any, schema: dict[str, Any], schemas: dict[str, Any]) -> None:
    if "$ref" in schema:
        schema = schemas[schema["$ref"].rpartition("/")[2]]
    if schema.get("type") == "object" and "properties" in schema:
        assert set(value) == set(schema["properties"])
        for name, item in value.items():
            _fits(item, schema["properties"][name], schemas)
    elif schema.get("type") == "array":
        for item in value:
            _fits(item, schema["items"], schemas)
    elif "anyOf" in schema:
        choices = [one for one in schema["anyOf"] if one != {"type": "null"}]
        if value is not None:
            _fits(value, choices[0], schemas)
