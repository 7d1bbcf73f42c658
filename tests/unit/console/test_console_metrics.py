"""What a console counts of those who are not let in, and how it finds out whether the API server answers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from aiohttp.test_utils import make_mocked_request
from prometheus_client import CollectorRegistry

from sendonce_console.access.cluster import ApiRefusalError
from sendonce_console.access.kubernetes import KubernetesDoor
from sendonce_console.access.reviews import Identity, Reviews
from sendonce_console.levers.wording import LEVERS
from sendonce_console.metrics import ConsoleMetrics
from sendonce_console.settings import ConsoleSettings
from sendonce_console.web.problems import ProblemError, unavailable


class ApiServer:
    """Answers each call alike: with an object, or an error."""

    def __init__(self, answer: Mapping[str, Any] | Exception) -> None:
        self.answer = answer
        self.asked: list[tuple[str, Any]] = []

    async def create(self, path: str, body: Mapping[str, Any]) -> Mapping[str, Any]:
        self.asked.append((path, body))
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


def reviews_of(server: ApiServer) -> Reviews:
    return Reviews(server, "sendonce-console", any_audience=False, seconds=10)  # type: ignore[arg-type]


def refused(registry: CollectorRegistry) -> dict[str, float | None]:
    name = "sendonce_console_tokens_refused_total"
    return {why: registry.get_sample_value(name, {"why": why}) for why in ("unknown", "too_many_tries")}


async def test_tokens_that_let_nobody_in_are_counted_by_why() -> None:
    registry = CollectorRegistry()
    server = ApiServer({"status": {"authenticated": False}})
    settings = ConsoleSettings(dsn="", key=b"k" * 32)
    door = KubernetesDoor(reviews_of(server), settings, ConsoleMetrics(registry))
    assert refused(registry) == {"unknown": 0, "too_many_tries": 0}, "an increase is seen from a series that is there"
    for no in range(12):
        with pytest.raises(ProblemError):
            await door.identify(make_mocked_request("GET", "/"), f"guess-{no}")
    assert refused(registry) == {"unknown": 10, "too_many_tries": 2}
    assert len(server.asked) == 10


def test_every_lever_has_a_series_from_the_beginning() -> None:
    registry = CollectorRegistry()
    metrics = ConsoleMetrics(registry)
    metrics.ordered("retry")
    counts = {lever: registry.get_sample_value("sendonce_console_orders_total", {"lever": lever}) for lever in LEVERS}
    assert counts == {**dict.fromkeys(LEVERS, 0), "retry": 1}


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ({"status": {"allowed": True}}, None),
        ({"status": {"allowed": False}}, "may not create tokenreviews"),
        ({}, "may not create tokenreviews"),
        (ApiRefusalError(403, "accounts may not ask about themselves"), None),
        (ApiRefusalError(401, "who are you"), "answers 401"),
        (unavailable("The API server", ""), "can't be reached"),
        (TimeoutError(), "has not answered within"),
    ],
)
async def test_whether_the_api_server_can_be_asked_is_found_out_by_asking(
    answer: Mapping[str, Any] | Exception, said: str | None
) -> None:
    server = ApiServer(answer)
    found = await reviews_of(server).problem()
    assert (found is None) if said is None else (said in (found or ""))
    ((path, body),) = server.asked
    assert path.endswith("/selfsubjectaccessreviews")
    assert body["spec"]["resourceAttributes"]["resource"] == "tokenreviews"


async def test_an_api_server_that_refuses_the_consoles_own_account_is_no_fault_without_a_name() -> None:
    reviews = reviews_of(ApiServer(ApiRefusalError(403, "forbidden: User system:serviceaccount:…")))
    with pytest.raises(ProblemError) as caught:
        await reviews.who("a token")
    assert (caught.value.status, caught.value.title) == (503, "The API server can't be asked")
    assert "must be allowed to create TokenReviews" in caught.value.detail
    with pytest.raises(ProblemError) as caught:
        await reviews.may(Identity("mia", "", (), ()), "shop", "people")
    assert "must be allowed to create SubjectAccessReviews" in caught.value.detail
