"""What is asked of AWS, of a server on this machine that has its names: certificates and confirmations."""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

import aiohttp
import pytest
import pytest_asyncio
import trustme
from aiohttp import web
from aiohttp.abc import AbstractResolver, ResolveResult
from prometheus_client import CollectorRegistry
from psycopg.conninfo import make_conninfo
from tests.integration.engine.conftest import World
from tests.integration.gateway.receipts.conftest import place_of
from tests.unit.gateway.receipts_senders import CERTIFICATE_URL, PUBLIC, TOPIC, Ses, Told, certificate, rsa_key

from sendonce_gateway.answering import answer
from sendonce_gateway.languages import Languages
from sendonce_gateway.problems import Problem
from sendonce_gateway.receipts.counting import ReceiptMetrics
from sendonce_gateway.receipts.desk import Desk
from sendonce_gateway.receipts.fetching import Fetching
from sendonce_gateway.receipts.folder import SecretFolder
from sendonce_gateway.settings import GatewaySettings
from sendonce_gateway.store import Pool
from sendonce_store import tenancy

HOST = "sns.eu-west-1.amazonaws.com"


class Names(AbstractResolver):
    """Whatever the name, it is the server on this machine."""

    def __init__(self, port: int) -> None:
        self.port = port

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        return [ResolveResult(hostname=host, host="127.0.0.1", port=self.port, family=socket.AF_INET, proto=0, flags=0)]

    async def close(self) -> None:
        return


@dataclass
class Aws:
    """A server with the names of AWS. `asked`: the paths that were."""

    pem: bytes
    port: int = 0
    trust: ssl.SSLContext = field(default_factory=ssl.create_default_context)
    asked: list[str] = field(default_factory=list)
    status: int = 200

    async def handle(self, request: web.Request) -> web.Response:
        self.asked.append(request.path_qs)
        headers = {"Location": "/elsewhere"} if self.status in range(300, 400) else {}
        return web.Response(status=self.status, body=self.pem, headers=headers)

    def fetching(self) -> Fetching:
        return Fetching(lambda: aiohttp.TCPConnector(resolver=Names(self.port), ssl=self.trust))


@pytest_asyncio.fixture
async def aws() -> AsyncIterator[Aws]:
    """Yield the server."""
    ca = trustme.CA()
    made = Aws(certificate(rsa_key(), datetime.now(UTC) - timedelta(days=1)))
    ca.configure_trust(made.trust)
    serving = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    ca.issue_cert(HOST).configure_cert(serving)
    app = web.Application()
    app.router.add_get("/{path:.*}", made.handle)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=serving).start()
    made.port = int(runner.addresses[0][1])
    yield made
    await runner.cleanup()


async def test_a_certificate_is_asked_for_once_and_kept(aws: Aws) -> None:
    fetching = aws.fetching()
    got = await asyncio.gather(*(fetching.certificate(CERTIFICATE_URL) for _ in range(20)))
    assert set(got) == {aws.pem}
    assert len(aws.asked) == 1


@pytest.mark.parametrize("status", [302, 404, 500])
async def test_what_is_no_certificate_is_not_kept(aws: Aws, status: int) -> None:
    fetching = aws.fetching()
    aws.status = status
    with pytest.raises(Problem) as caught:
        await fetching.certificate(CERTIFICATE_URL)
    assert caught.value.status == 503
    assert len(aws.asked) == 1  # nobody follows it elsewhere
    aws.status = 200
    assert await fetching.certificate(CERTIFICATE_URL) == aws.pem


async def test_a_server_that_is_not_amazons_is_not_believed(aws: Aws) -> None:
    aws.trust = ssl.create_default_context()
    with pytest.raises(Problem) as caught:
        await aws.fetching().certificate(CERTIFICATE_URL)
    assert caught.value.status == 503
    assert aws.asked == []


async def test_forgeries_make_us_ask_little_and_who_is_known_stays_known(aws: Aws) -> None:
    fetching = aws.fetching()
    await fetching.certificate(CERTIFICATE_URL)
    aws.status = 404
    for number in range(50):
        with pytest.raises(Problem):
            await fetching.certificate(CERTIFICATE_URL.replace("0123456789abcdef", f"{number:016x}"))
    assert len(aws.asked) <= 20
    assert await fetching.certificate(CERTIFICATE_URL) == aws.pem


async def test_what_amazon_brings_is_believed_and_a_subscription_is_confirmed_once_it_is_ours(
    aws: Aws, world: World, tmp_path: Path
) -> None:
    campaign = await world.campaign(1)
    batch = await campaign.claim()
    await campaign.begin(batch)
    await campaign.end(batch, 1, "uncertain", unknown=True, outcome="unknown", reason="unknown_outcome")
    login = await tenancy.gateway_login(world.conn)
    (tmp_path / "default.ses.far-end.topics").write_text(TOPIC)
    settings = GatewaySettings(make_conninfo(world.dsn, user=login.role, password=login.password), PUBLIC)
    pool, registry, sender = Pool(settings), CollectorRegistry(), Ses()
    desk = Desk(pool, settings, SecretFolder(tmp_path), aws.fetching(), ReceiptMetrics(registry))
    app = web.Application(middlewares=[answer(Languages())], client_max_size=0)
    app.router.add_post("/receipts/{namespace}/{kind}/{provider}", desk.take)
    runner = web.AppRunner(app)
    await pool.open()
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    url = f"http://127.0.0.1:{runner.addresses[0][1]}/receipts/default/ses/far-end"
    visit = f"https://{HOST}/?Action=ConfirmSubscription&TopicArn={TOPIC}&Token=t"
    confirm = sender.envelope(Told(), "…", Type="SubscriptionConfirmation", Token="t", SubscribeURL=visit)
    del confirm["Subject"]
    stranger = {**confirm, "TopicArn": TOPIC.replace("1234", "4321"), "SubscribeURL": visit.replace("1234", "4321")}
    told = Told(place=place_of(await campaign.row()))
    async with aiohttp.ClientSession() as client:
        statuses = []
        for event in (confirm, stranger, sender.event(told)):
            sent = sender.sign(event, datetime.now(UTC))
            async with client.post(url, data=sent.body, headers=sent.headers) as response:
                statuses.append(response.status)
    await runner.cleanup()
    await pool.close()
    assert statuses == [200, 403, 200]
    assert [path for path in aws.asked if "Confirm" in path] == [visit.removeprefix(f"https://{HOST}")]
    assert await campaign.states() == {"sent": 1}
