"""A namespace's login, made by the operator, and a campaign that is sent with it."""

from __future__ import annotations

import base64
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest_asyncio
import yaml
from tests.cluster.operator.stage import Stage, campaign, provider

from sendonce_store.connection import StoreUnavailableError, connect

SECRET = "sendonce-store"
MANIFEST = Path(__file__).resolve().parents[3] / "deploy" / "operator.yaml"


async def data_of(stage: Stage) -> dict[str, str]:
    """The Secret of the workers, decoded; empty where there is none."""
    text = await stage.kubectl("get", "secret", SECRET, "-o", "json", "--ignore-not-found")
    data = json.loads(text)["data"] if text.strip() else {}
    return {key: base64.b64decode(value).decode() for key, value in data.items()}


async def until_the_secret_is_there(stage: Stage) -> str:
    async def is_there() -> bool:
        return bool(await data_of(stage))

    await stage.until_true(is_there, f"Secret {SECRET} is there")
    dsn = (await data_of(stage))["dsn"]

    async def is_good() -> bool:
        """The login comes with the commit, a moment behind the Secret: what can't be written makes no login."""
        try:
            async with await connect(dsn):
                return True
        except StoreUnavailableError:
            return False

    await stage.until_true(is_good, "the login can be used")
    return dsn


async def add_elsewhere(dsn: str) -> None:
    """A campaign of another namespace, so that there is something that a tenant must not see."""
    async with await connect(dsn) as conn:
        await conn.execute(
            "INSERT INTO sendonce.campaigns (namespace, send_key, name, spec, content_hash, category, priority)"
            " VALUES ('elsewhere', 'k', 'k', '{}', 'h', 'Transactional', 0)"
        )


async def test_a_campaign_is_sent_by_workers_with_the_login_that_the_operator_made(stage: Stage) -> None:
    stage.pods.open.clear()
    await add_elsewhere(stage.dsn)
    await stage.operate(SENDONCE_STORE_ADDRESS=stage.dsn)
    await stage.apply(provider(stage.simulator), campaign("spring", count=5))
    stage.pods.dsn = await until_the_secret_is_there(stage)
    async with await connect(stage.pods.dsn) as conn:
        cursor = await conn.execute("SELECT array_agg(DISTINCT namespace) AS seen FROM sendonce.campaigns")
        assert await cursor.fetchone() == {"seen": [stage.namespace]}
    stage.pods.open.set()
    await stage.until_complete("spring")
    stage.assert_each_got_one(5)


async def test_the_login_stays_the_same_for_the_next_campaign_and_the_next_operator(stage: Stage) -> None:
    operator = await stage.operate(SENDONCE_STORE_ADDRESS=stage.dsn)
    await stage.apply(provider(stage.simulator), campaign("spring"))
    stage.pods.dsn = await until_the_secret_is_there(stage)
    await stage.until_complete("spring")
    await operator.kill()
    await stage.operate(SENDONCE_STORE_ADDRESS=stage.dsn)
    await stage.apply(campaign("summer"))
    await stage.until_complete("summer")
    assert await data_of(stage) == {"dsn": stage.pods.dsn}


async def test_a_secret_that_a_person_made_is_left_alone_and_no_login_is_made(stage: Stage) -> None:
    await stage.kubectl("create", "secret", "generic", SECRET, f"--from-literal=dsn={stage.dsn}")
    await stage.operate(SENDONCE_STORE_ADDRESS=stage.dsn)
    await stage.apply(provider(stage.simulator), campaign("spring"))
    await stage.until_complete("spring")
    assert await data_of(stage) == {"dsn": stage.dsn}
    async with await connect(stage.dsn) as conn:
        cursor = await conn.execute("SELECT count(*) AS logins FROM sendonce.tenants")
        assert await cursor.fetchone() == {"logins": 0}


async def test_without_the_setting_no_secret_is_made(stage: Stage) -> None:
    await stage.operate()
    await stage.apply(provider(stage.simulator), campaign("spring"))
    await stage.until_complete("spring")
    assert await data_of(stage) == {}


def rights(name: str, namespace: str) -> list[dict[str, Any]]:
    """A service account with the operator's rights as they are shipped, under a name of its own."""
    shipped = {one["kind"]: one for one in yaml.safe_load_all(MANIFEST.read_text(encoding="utf-8"))}
    role, binding = shipped["ClusterRole"], shipped["ClusterRoleBinding"]
    role["metadata"]["name"] = binding["metadata"]["name"] = binding["roleRef"]["name"] = name
    binding["subjects"] = [{"kind": "ServiceAccount", "name": name, "namespace": namespace}]
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name, "namespace": namespace}}
    return [account, role, binding]


@pytest_asyncio.fixture
async def limited(stage: Stage) -> AsyncIterator[Path]:
    """Yield the kubeconfig of an operator that may do what the manifest says: it may not write Secrets."""
    name = f"operator-{stage.namespace}"
    await stage.apply(*rights(name, stage.namespace))
    whole = yaml.safe_load(stage.cluster.kubeconfig.read_text(encoding="utf-8"))
    token = (await stage.kubectl("create", "token", name)).strip()
    whole["users"] = [{"name": one["name"], "user": {"token": token}} for one in whole["users"]]
    path = stage.folder / "limited.kubeconfig"
    path.write_text(yaml.safe_dump(whole), encoding="utf-8")
    yield path
    await stage.kubectl("delete", "clusterrolebinding,clusterrole", name)


async def test_an_operator_that_may_not_write_the_secret_says_so_and_leaves_the_namespace_to_a_person(
    stage: Stage, limited: Path
) -> None:
    operator = await stage.operate(KUBECONFIG=str(limited), SENDONCE_STORE_ADDRESS=stage.dsn)
    await stage.apply(provider(stage.simulator), campaign("spring"))
    # its workers have the login that a person gave them
    await stage.until_complete("spring")
    await stage.apply(campaign("summer"))
    await stage.until_complete("summer")
    said = [line for line in operator.words.splitlines() if f"namespace {stage.namespace} gets no login" in line]
    assert len(said) == 1, "it is not tried again with each campaign"
    assert "forbidden" in said[0]
    assert await data_of(stage) == {}
    async with await connect(stage.dsn) as conn:
        cursor = await conn.execute("SELECT count(*) AS logins FROM sendonce.tenants")
        assert await cursor.fetchone() == {"logins": 0}, "no login is without its Secret"
