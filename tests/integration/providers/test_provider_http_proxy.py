"""Proxies of the environment, and settings of the HTTP provider that cannot work."""

from __future__ import annotations

import asyncio
import ssl
from typing import TYPE_CHECKING, Any

import pytest

from sendonce_store.spec.provider import ProviderSpec
from sendonce_worker.providers.base import Message
from sendonce_worker.providers.errors import Kind, ProviderConfigError, SendError
from sendonce_worker.providers.http_api.provider import HttpProvider, HttpSettings
from sendonce_worker.providers.registry import build_provider

if TYPE_CHECKING:
    from tests.integration.providers.conftest import FarEnd, HttpFarEnd


def clear() -> None:
    """Let everything through."""


def build(far_end: FarEnd, secrets: dict[str, bytes] | None = None, **settings: Any) -> HttpProvider:
    plain: dict[str, Any] = {"url": f"http://127.0.0.1:{far_end.port}/v1", "timeout": 5.0}
    return HttpProvider(HttpSettings(**(plain | settings)), secrets or {})


async def refused(provider: HttpProvider, message: Message) -> SendError:
    with pytest.raises(SendError) as caught:
        await provider.send(message, clear)
    return caught.value


async def test_a_proxy_of_the_environment_is_asked_for_the_whole_url(
    http_far_end: HttpFarEnd, message: Message, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", f"http://127.0.0.1:{http_far_end.port}")
    monkeypatch.setenv("NO_PROXY", "elsewhere.example")
    await build(http_far_end, url="http://api.example.com/v1").send(message, clear)
    assert http_far_end.requests[0].line == "POST http://api.example.com/v1 HTTP/1.1"
    assert http_far_end.requests[0].headers["Host"] == "api.example.com"


async def test_no_proxy_for_hosts_that_the_environment_excepts(
    http_far_end: HttpFarEnd, message: Message, unused_port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", f"http://127.0.0.1:{unused_port}")
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    await build(http_far_end).send(message, clear)


async def tunnel(far_port: int, refuse: bytes | None = None) -> tuple[asyncio.Server, list[bytes]]:
    """Start a proxy that knows CONNECT and sends everything to ``far_port``."""
    heads: list[bytes] = []

    async def copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(65536):
            writer.write(data)
        writer.close()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heads.append(await reader.readuntil(b"\r\n\r\n"))
        if refuse is not None:
            writer.write(refuse)
            writer.close()
            return
        far_reader, far_writer = await asyncio.open_connection("127.0.0.1", far_port)
        writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
        await asyncio.gather(copy(reader, far_writer), copy(far_reader, writer), return_exceptions=True)

    return await asyncio.start_server(serve, "127.0.0.1", 0), heads


async def test_tls_goes_through_a_proxy_by_a_tunnel(
    http_far_end: HttpFarEnd,
    server_tls: ssl.SSLContext,
    ca: bytes,
    message: Message,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    port = await http_far_end.listen(server_tls)
    server, heads = await tunnel(port)
    monkeypatch.setenv("HTTPS_PROXY", f"http://ann:pass@127.0.0.1:{server.sockets[0].getsockname()[1]}")
    provider = build(http_far_end, url=f"https://localhost:{port}/v1", ca=ca)
    await provider.send(message, clear)
    await provider.send(message, clear)
    assert len(heads) == 1
    assert heads[0].startswith(b"CONNECT localhost:%d HTTP/1.1\r\n" % port)
    assert b"Proxy-Authorization: Basic YW5uOnBhc3M=\r\n" in heads[0]
    assert [request.line for request in http_far_end.requests] == ["POST /v1 HTTP/1.1"] * 2
    await provider.aclose()
    server.close()


async def test_a_proxy_that_refuses_the_tunnel_is_no_acceptance(
    http_far_end: HttpFarEnd, message: Message, monkeypatch: pytest.MonkeyPatch
) -> None:
    server, _ = await tunnel(http_far_end.port, refuse=b"HTTP/1.1 403 Forbidden\r\n\r\n")
    monkeypatch.setenv("HTTPS_PROXY", f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}")
    error = await refused(build(http_far_end, url="https://api.example.com/v1"), message)
    assert (error.kind, error.code) == (Kind.TEMPORARY, "proxy_refused")
    server.close()


# -- settings


@pytest.mark.parametrize(
    ("settings", "field", "words"),
    [
        ({"url": "https://ann:pw@api.example.com/"}, "http.url", "user name or password"),
        ({"url": "ftp://api.example.com/"}, "http.url", "https://"),
        ({"url": "https://{{ to }}/"}, "http.url", "host must be the same"),
        ({"url": "https://api.example.com/{% if to %}x{% endif %}"}, "http.url", "only {{ … }}"),
        ({"headers": {"Authorization": "Bearer {{ secret.tokn }}"}}, "http.headers.Authorization", "no key 'tokn'"),
        ({"headers": {"X-A": "{{ to"}}, "http.headers.X-A", "template syntax"),
        ({"headers": {"X-A": "{{ secret.broken }}"}}, "http.headers.X-A", "line break"),
        ({"headers": {"Host": "a"}}, "http.headers.Host", "leave it out"),
        ({"key_header": "X-Key", "headers": {"x-key": "1"}}, "http.idempotencyKeyHeader", "take it out there"),
        ({"body_template": '{"to": {{ to }}}'}, "http.bodyTemplate", "outside quotes"),
        ({"body_template": '{"to": "{{ to }}"'}, "http.bodyTemplate", "JSON document"),
        ({"body_template": '{"{{ to }}": 1}'}, "http.bodyTemplate", "only values may"),
        ({"body_template": '{"a": "{{ secret.nope }}"}'}, "http.bodyTemplate", "no key 'nope'"),
        ({"body_template": "just words", "body_format": "Form"}, "http.bodyTemplate", "name={{"),
        ({"message_id_path": "a..b"}, "http.messageIdPath", "cannot read"),
        ({"url": "https://api.example.com/", "ca": b"no"}, "http.tls.caSecretRef", "PEM"),
    ],
)
def test_a_setting_that_cannot_work_is_named_when_the_provider_is_built(
    settings: dict[str, Any], field: str, words: str
) -> None:
    secrets = {"token": b"t", "broken": b"open-sesame\n"}
    with pytest.raises(ProviderConfigError) as caught:
        HttpProvider(HttpSettings(**({"url": "https://api.example.com/"} | settings)), secrets)
    assert caught.value.field == field
    assert words in caught.value.message
    assert "sesame" not in str(caught.value)


def test_a_type_without_its_block_is_named() -> None:
    block = {"accountSID": "AC" + "0" * 32}
    sound = ProviderSpec.from_wire({"type": "Twilio", "twilio": block, "credentialsSecretRef": {"name": "t"}})
    spec = sound.model_copy(update={"twilio": None})
    with pytest.raises(ProviderConfigError, match="twilio: is missing"):
        build_provider(spec, {"apiKeySID": b"SK1", "apiKeySecret": b"secret"})
