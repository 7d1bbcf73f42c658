"""The Apprise adapter: a plain yes is an acceptance, and nothing else is definite."""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import AsyncIterator, Callable
from typing import TYPE_CHECKING, Any

import pytest
from tests.far_ends.face import Reply

from sendonce_store.spec.provider import ProviderSpec
from sendonce_worker.providers.base import Message, Provider
from sendonce_worker.providers.errors import HandOffRefusedError, Kind, ProviderConfigError, SendError
from sendonce_worker.providers.registry import build_provider

if TYPE_CHECKING:
    from tests.integration.providers.conftest import HttpFarEnd

notify = pytest.importorskip("apprise.decorators", reason="the extra apprise is not installed").notify
# Apprise loads its plugins at their first use; one of them imports what Python is going to drop
pytestmark = [
    pytest.mark.asyncio(loop_factories=["uvloop"]),
    pytest.mark.filterwarnings("ignore:'imghdr' is deprecated:DeprecationWarning"),
]
SPEC = {"type": "Apprise", "credentialsSecretRef": {"name": "s"}, "timeoutSeconds": 5, "maxInFlight": 4}
OK = Reply(200, b"ok", ("Connection: close",)).encoded()


def clear() -> None:
    """Let everything through."""


def build(url: str, **spec: Any) -> Provider:
    return build_provider(ProviderSpec.from_wire(SPEC | spec), {"url": url.encode()})


@pytest.fixture
async def provider(http_far_end: HttpFarEnd) -> AsyncIterator[Provider]:
    http_far_end.respond = lambda request: OK
    built = build(f"json://127.0.0.1:{http_far_end.port}/{{to}}")
    yield built
    await built.aclose()


async def refused(provider: Provider, message: Message) -> SendError:
    with pytest.raises(SendError) as caught:
        await provider.send(message, clear)
    return caught.value


async def test_a_plain_yes_is_an_acceptance_without_an_id(
    http_far_end: HttpFarEnd, provider: Provider, build_message: Callable[..., Message]
) -> None:
    accepted = await provider.send(build_message(to="a b/c", subject="Hi", text="Good morning"), clear)
    assert accepted.message_id is None
    assert provider.key_window is None
    (request,) = http_far_end.requests
    assert "/a%20b%2Fc" in request.line, "the address cannot break out of its place"
    assert b"Good morning" in request.body


@pytest.mark.parametrize("status", [400, 401, 404, 429, 500])
async def test_a_no_is_unknown_since_apprise_does_not_say_why(
    http_far_end: HttpFarEnd, provider: Provider, message: Message, status: int
) -> None:
    http_far_end.will(Reply(status, b"no", ("Connection: close",)).encoded())
    error = await refused(provider, message)
    assert (error.kind, error.code) == (Kind.UNKNOWN, "apprise_failed")
    assert len(http_far_end.requests) == 1, "it is tried once"


async def test_a_redirect_is_not_followed(http_far_end: HttpFarEnd, provider: Provider, message: Message) -> None:
    http_far_end.will(
        Reply(307, b"", (f"Location: http://127.0.0.1:{http_far_end.port}/other", "Connection: close")).encoded()
    )
    assert (await refused(provider, message)).kind is Kind.UNKNOWN
    assert len(http_far_end.requests) == 1


async def test_a_time_out_is_unknown_and_its_thread_comes_back(
    http_far_end: HttpFarEnd, do: Any, message: Message
) -> None:
    provider = build(f"json://127.0.0.1:{http_far_end.port}/{{to}}", timeoutSeconds=1, maxInFlight=1)
    http_far_end.will(do.HANG)
    assert (await refused(provider, message)).kind is Kind.UNKNOWN
    http_far_end.respond = lambda request: OK
    async with asyncio.timeout(20):
        await provider.send(message, clear)
    await provider.aclose()


async def test_where_a_service_does_not_end_others_do_not_wait_for_ever(message: Message) -> None:
    ended = threading.Event()
    notify(on="hold")(lambda body, title, notify_type, *args, **kwargs: ended.wait(60))
    provider = build("hold://{to}", timeoutSeconds=1, maxInFlight=1)
    assert (await refused(provider, message)).kind is Kind.UNKNOWN
    error = await refused(provider, message)
    assert (error.kind, error.code, error.is_outage) == (Kind.TEMPORARY, "connect_timeout", True)
    ended.set()
    await provider.send(message, clear)
    await provider.aclose()


async def test_a_clearance_that_refuses_leaves_nothing_on_the_wire(
    http_far_end: HttpFarEnd, provider: Provider, message: Message
) -> None:
    def refuse() -> None:
        raise HandOffRefusedError("the lease is short")

    for _ in range(5):
        with pytest.raises(HandOffRefusedError):
            await provider.send(message, refuse)
    assert http_far_end.connections == 0
    await provider.send(message, clear)


async def test_it_blocks_threads_and_not_the_worker(
    http_far_end: HttpFarEnd, provider: Provider, message: Message
) -> None:
    before = threading.active_count()
    await asyncio.gather(*(provider.send(message, clear) for _ in range(20)))
    assert len(http_far_end.requests) == 20
    assert threading.active_count() - before <= 4


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("nosuch://example.com/{to}", "no service for"),
        ("json://example.com/", r"must hold \{to\}"),
        ("json://example.com/{to}?retry=3", "would send again by itself"),
        ("{to}", "no service for"),
        ("", "is empty"),
    ],
)
async def test_a_url_that_cannot_work_is_said_at_the_start(url: str, words: str) -> None:
    with pytest.raises(ProviderConfigError, match=words) as caught:
        build(url)
    assert caught.value.field == "credentialsSecretRef"


@pytest.mark.parametrize(
    ("url", "to"), [("prowl://{to}", "!!"), ("slack://T1JJ3T3L2/A1BRTD4JD/TIiajkdnlazkcOXrIdevi7FQ/{to}", "#a,#b")]
)
async def test_an_address_that_is_none_or_several_is_permanent(
    url: str, to: str, build_message: Callable[..., Message]
) -> None:
    provider = build(url)
    error = await refused(provider, build_message(to=to))
    assert (error.kind, error.code) == (Kind.PERMANENT, "bad_address")
    await provider.aclose()


async def test_without_the_library_the_cure_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "apprise", None)
    with pytest.raises(ProviderConfigError, match="add the Python package apprise"):
        build("json://example.com/{to}")
