"""The console on a real API server: a namespace of a shop and one of a bank, with people who have plain Roles there.

In: `control_plane`. Out: `signed`, a Signed:

    signed.tokens              service account → token for the console: viewer (campaigns), agent (and people), support
                               (and levers), teller (everything, in the bank); `cluster` is the console's own
    await signed.get(path, token)
    signed.shop, signed.bank   the namespaces, in which tests/console_cases/town.py has put campaigns
"""

from __future__ import annotations

import asyncio
import json
import re
import uuid
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import aiohttp
import pytest
import pytest_asyncio
from aiohttp.test_utils import TestServer
from psycopg.conninfo import make_conninfo
from tests.cluster.operator.conftest import with_crds
from tests.cluster.reach import Cluster
from tests.console_cases.town import Town, build
from tests.integration.conftest import admin_dsn, dsn, template

from sendonce_console.main import build_app, in_a_cluster
from sendonce_console.settings import ConsoleSettings
from sendonce_store import console_login
from sendonce_store.connection import Connection, connect

__all__ = ["admin_dsn", "dsn", "template", "with_crds"]

AUDIENCE = "sendonce-console"
_GROUP = "sendonce.dev"
_RULES: Mapping[str, Any] = {
    "viewer": [{"apiGroups": [_GROUP], "resources": ["notificationcampaigns"], "verbs": ["get", "list"]}],
    "agent": [
        {
            "apiGroups": [_GROUP],
            "resources": ["notificationcampaigns", "notificationcampaigns/recipients"],
            "verbs": ["get"],
        }
    ],
    "support": [
        {
            "apiGroups": [_GROUP],
            "resources": ["notificationcampaigns", "notificationcampaigns/recipients"],
            "verbs": ["get"],
        },
        {"apiGroups": [_GROUP], "resources": ["notificationactions"], "verbs": ["create"]},
    ],
}
# what the chart gives the console's own account
_CONSOLE = [
    {"apiGroups": ["authentication.k8s.io"], "resources": ["tokenreviews"], "verbs": ["create"]},
    {"apiGroups": ["authorization.k8s.io"], "resources": ["subjectaccessreviews"], "verbs": ["create"]},
    {"apiGroups": [_GROUP], "resources": ["notificationactions"], "verbs": ["get", "create"]},
    {"apiGroups": [_GROUP], "resources": ["notificationcampaigns"], "verbs": ["get", "patch"]},
]


@dataclass(frozen=True)
class Staff:
    """People and their tokens."""

    cluster: Cluster
    shop: str
    bank: str
    kubeconfig: Path
    tokens: Mapping[str, str]

    def token(self, namespace: str, name: str, *options: str) -> str:
        """Another token of a service account."""
        return self.cluster.kubectl("create", "token", name, "--namespace", namespace, *options).strip()


@pytest.fixture(scope="session")
def staff(with_crds: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Staff:
    """Make the namespaces, accounts and Roles once."""
    tail = uuid.uuid4().hex[:6]
    shop, bank = f"shop-{tail}", f"bank-{tail}"
    objects: list[Any] = [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}} for name in (shop, bank)
    ]
    for name, rules in _RULES.items():
        objects += _person(shop, name, rules)
    objects += _person(bank, "teller", _RULES["support"])
    objects += _console(bank, f"console-{tail}")
    with_crds.kubectl("apply", "-f", "-", stdin="\n---\n".join(json.dumps(one) for one in objects))

    def token(namespace: str, name: str, *more: str) -> str:
        return with_crds.kubectl("create", "token", name, "--namespace", namespace, *more).strip()

    tokens = {name: token(shop, name, "--audience", AUDIENCE) for name in _RULES}
    tokens["teller"] = token(bank, "teller", "--audience", AUDIENCE)
    given = json.loads(with_crds.kubeconfig.read_text("utf-8"))
    given["users"] = [{"name": one["name"], "user": {"token": token(bank, "console")}} for one in given["users"]]
    kubeconfig = tmp_path_factory.mktemp("console") / "kubeconfig"
    kubeconfig.write_text(json.dumps(given), "utf-8")
    return Staff(with_crds, shop, bank, kubeconfig, tokens)


def _person(namespace: str, name: str, rules: Any) -> list[Any]:
    here = {"name": name, "namespace": namespace}
    rbac = "rbac.authorization.k8s.io"
    return [
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": here},
        {"apiVersion": f"{rbac}/v1", "kind": "Role", "metadata": here, "rules": rules},
        {
            "apiVersion": f"{rbac}/v1",
            "kind": "RoleBinding",
            "metadata": here,
            "roleRef": {"apiGroup": rbac, "kind": "Role", "name": name},
            "subjects": [{"kind": "ServiceAccount", **here}],
        },
    ]


def _console(namespace: str, name: str) -> list[Any]:
    rbac = "rbac.authorization.k8s.io"
    return [
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "console", "namespace": namespace}},
        {"apiVersion": f"{rbac}/v1", "kind": "ClusterRole", "metadata": {"name": name}, "rules": _CONSOLE},
        {
            "apiVersion": f"{rbac}/v1",
            "kind": "ClusterRoleBinding",
            "metadata": {"name": name},
            "roleRef": {"apiGroup": rbac, "kind": "ClusterRole", "name": name},
            "subjects": [{"kind": "ServiceAccount", "name": "console", "namespace": namespace}],
        },
    ]


@dataclass
class Answer:
    status: int
    text: str
    headers: Mapping[str, str]


@dataclass
class Signed:
    """The console, and whoever asks it."""

    staff: Staff
    base: str
    session: aiohttp.ClientSession
    town: Town
    settings: ConsoleSettings

    @asynccontextmanager
    async def without_api_server(self) -> AsyncIterator[Signed]:
        """Another console with the same key, at an address of the API server where nothing listens."""
        given = self.staff.kubeconfig.read_text("utf-8")
        nowhere = self.staff.kubeconfig.with_name("nowhere")
        nowhere.write_text(re.sub(r'"server": "[^"]*"', '"server": "https://127.0.0.1:9"', given), "utf-8")
        settings = replace(self.settings, kubeconfig=nowhere)
        server = TestServer(build_app(in_a_cluster(settings)))
        await server.start_server()
        jar = aiohttp.CookieJar(unsafe=True, treat_as_secure_origin=[server.make_url("/")])
        jar.update_cookies({one.key: one.value for one in self.session.cookie_jar}, server.make_url("/"))
        async with aiohttp.ClientSession(cookie_jar=jar) as session:
            yield Signed(self.staff, str(server.make_url("")).rstrip("/"), session, self.town, settings)
        await server.close()

    async def get(self, path: str, who: str | None = None, *, token: str | None = None, **headers: str) -> Answer:
        """As a service account of the staff, or with a token; without either by the session's cookies."""
        token = self.staff.tokens[who] if who else token
        named = {} if token is None else {"Authorization": f"Bearer {token}"}
        asked = {"Accept": "text/html", **named, **headers}
        async with self.session.get(self.base + path, headers=asked, allow_redirects=False) as answer:
            return Answer(answer.status, await answer.text(), answer.headers)

    async def until(self, path: str, status: int) -> Answer:
        """Ask until the answer has this status."""
        async with asyncio.timeout(60):
            while (answer := await self.get(path)).status != status:  # noqa: ASYNC110 - it asks
                await asyncio.sleep(0.2)  # the rights of the cluster change when they change
        return answer

    async def sign_in(self, token: str, following: str = "/") -> Answer:
        """Fill in the form, as a browser."""
        shown = await self.get("/sign-in")
        found = re.search(r'name="csrf" value="([0-9a-f]+)"', shown.text)
        assert found is not None
        form = {"csrf": found[1], "token": token, "next": following}
        async with self.session.post(self.base + "/sign-in", data=form, allow_redirects=False) as answer:
            return Answer(answer.status, await answer.text(), answer.headers)


@pytest_asyncio.fixture
async def conn(dsn: str) -> AsyncIterator[Connection]:
    connection = await connect(dsn)
    yield connection
    await connection.close()


@pytest_asyncio.fixture
async def signed(staff: Staff, dsn: str, conn: Connection) -> AsyncIterator[Signed]:
    """Yield the console with its own login and its own account."""
    town = await build(conn, staff.shop, staff.bank)
    login = await console_login.make(conn)
    store = make_conninfo(dsn, user=login.role, password=login.password)
    settings = ConsoleSettings(dsn=store, key=b"k" * 32, kubeconfig=staff.kubeconfig, rights_seconds=1)
    server = TestServer(build_app(in_a_cluster(settings)))
    await server.start_server()
    jar = aiohttp.CookieJar(unsafe=True, treat_as_secure_origin=[server.make_url("/")])
    async with aiohttp.ClientSession(cookie_jar=jar) as session:
        yield Signed(staff, str(server.make_url("")).rstrip("/"), session, town, settings)
    await server.close()
