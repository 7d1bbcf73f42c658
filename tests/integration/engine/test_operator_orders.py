"""The operator against a real store, with a small API server: identity, orders, lost providers, data that goes."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest
import pytest_asyncio
from prometheus_client import CollectorRegistry

from sendonce_operator.actions import reconcile_action
from sendonce_operator.active import ActiveLoop
from sendonce_operator.cluster import NotFoundError, Object
from sendonce_operator.decisions.facts import LEDGER_ANNOTATION, Defaults
from sendonce_operator.metrics import OperatorMetrics
from sendonce_operator.objects import ACTION, CAMPAIGN, PROVIDER, key_of
from sendonce_operator.paths import HANDLED_ANNOTATION, Key
from sendonce_operator.providers import suspend_gone
from sendonce_operator.reconcile import reconcile
from sendonce_operator.runtime import Runtime
from sendonce_operator.settings import OperatorSettings
from sendonce_operator.upkeep import look_at_actions, resync
from sendonce_store import operating, retention
from sendonce_store.operating import KnownKey, Owner
from sendonce_store.spec import CampaignSpec, NotificationCampaign

if TYPE_CHECKING:
    from tests.integration.engine.conftest import Campaign, World

UID = "owner"
HANDLED = {HANDLED_ANNOTATION: "{}"}
MOVED = {"deadline": "2099-01-01T00:00:00Z"}


def order(kind: str) -> Object:
    return {"campaignRef": {"name": "spring"}, "type": kind}


def merged(old: Any, patch: Any) -> Any:
    """What a merge patch makes of a value (RFC 7386)."""
    if not isinstance(patch, dict):
        return patch
    known = old if isinstance(old, dict) else {}
    both = {name: merged(known.get(name), value) for name, value in patch.items()}
    return {name: value for name, value in {**known, **both}.items() if value is not None}


@dataclass
class Api:
    """An API server of a few objects, by path."""

    objects: dict[str, Object] = field(default_factory=dict)

    async def find(self, path: str) -> Object | None:
        return self.objects.get(path)

    async def get(self, path: str, _: object = None) -> Object:
        if path in self.objects:
            return self.objects[path]
        plural = path.rsplit("/", 1)[-1]
        if not plural.endswith("s"):
            raise NotFoundError(404, "NotFound", path)
        return {"metadata": {}, "items": [body for at, body in self.objects.items() if f"/{plural}/" in at]}

    async def create(self, _: str, body: Object) -> Object:
        return body

    async def patch(self, path: str, body: Object) -> Object:
        place = path.removesuffix("/status")
        wanted = {name: value for name, value in body.items() if name != "spec"}
        found: Object = merged(self.objects[place], wanted)
        found["metadata"]["resourceVersion"] = str(1 + int(found["metadata"]["resourceVersion"]))
        self.objects[place] = found
        return found


@dataclass
class Cast:
    """An operator with its cluster and its store."""

    world: World
    api: Api
    runtime: Runtime

    def put(
        self,
        kind: str,
        name: str,
        spec: object,
        generation: int = 1,
        status: Mapping[str, Any] | None = None,
        **metadata: Any,
    ) -> Key:
        """An object as it is now in the cluster, and as the watch has shown it."""
        base = {"name": name, "namespace": "default", "uid": UID if kind == CAMPAIGN else name}
        more = {"generation": generation, "resourceVersion": "1", "creationTimestamp": "2026-11-01T10:00:00Z"}
        body: Object = {"metadata": {**base, **more, **metadata}, "spec": spec, "status": dict(status or {})}
        key = key_of(kind, body)
        before = self.api.objects.get(key.path)
        if before is not None:
            body["metadata"]["resourceVersion"] = str(1 + int(before["metadata"]["resourceVersion"]))
            body["status"] = before["status"]
        self.api.objects[key.path] = body
        self.runtime.watched.note(kind, body)
        return key

    async def look(self, key: Key) -> None:
        """Reconcile a campaign, and show what came of it."""
        await reconcile(self.runtime, key)
        await ActiveLoop(self.runtime).tick()

    async def order(
        self, name: str, kind: str, metadata: Mapping[str, Any] | None = None, **given: Any
    ) -> tuple[str, str]:
        """Apply an action; the reason and the message of its end."""
        spec = {**order(kind), **given}
        made = {"creationTimestamp": self.runtime.now().isoformat(), **(metadata or {})}
        key = self.put(ACTION, name, spec, **made)
        await reconcile_action(self.runtime, key)
        conditions = self.api.objects[key.path]["status"]["conditions"]
        found = next(one for one in conditions if one["type"] in {"Complete", "Stalled", "Reconciling"})
        return found["reason"], found["message"]

    async def known(self) -> KnownKey:
        found = await operating.find(self.world.conn, "default", "spring")
        assert found is not None
        return found

    async def owned(self, **wishes: Any) -> tuple[Campaign, dict[str, Any]]:
        """A campaign of two people that is this cluster's, and its spec."""
        campaign = await self.world.campaign(2, **wishes)
        row = await self.known()
        spec = CampaignSpec.from_wire(row.spec)
        given = {"metadata": {"name": "spring", "namespace": "default"}, "spec": dict(row.spec)}
        document = NotificationCampaign.from_wire(given)
        assert await operating.own(self.world.conn, row, document, spec, Owner(UID, 1, None))
        return campaign, json.loads(json.dumps(row.spec))


@pytest_asyncio.fixture
async def cast(world: World) -> AsyncIterator[Cast]:
    api: Any = Api({"/api/v1/namespaces/default": {"metadata": {}}})
    settings = OperatorSettings(world.dsn, "operator", Defaults("worker:1"))
    runtime = Runtime(settings, api, OperatorMetrics(CollectorRegistry()))
    yield Cast(world, api, runtime)
    await runtime.close()


async def test_a_resume_that_came_back_with_its_campaign_sends_nothing(cast: Cast) -> None:
    _, spec = await cast.owned()
    await cast.world.conn.execute("UPDATE sendonce.campaigns SET send_key = 'lost'")
    key = cast.put(CAMPAIGN, "spring", spec, annotations={LEDGER_ANNOTATION: "another"})
    assert (await cast.order("at-once", "Resume"))[0] == "Starting", "the campaign has not said what is wrong yet"
    await cast.look(key)
    olds: list[Object] = [{"annotations": HANDLED}, {"creationTimestamp": "2026-11-01T10:00:00Z"}]
    for no, old in enumerate(olds):
        reason, message = await cast.order(f"old-{no}", "Resume", metadata=old)
        assert reason == "NotApplicable"
        assert "make another action" in message
    assert cast.api.objects[key.path]["metadata"]["annotations"] == {LEDGER_ANNOTATION: "another"}
    assert (await cast.order("today", "Resume"))[0] == "Applied"
    assert LEDGER_ANNOTATION not in cast.api.objects[key.path]["metadata"].get("annotations", {})


async def test_the_copy_of_an_action_is_done_once_and_promotes_nothing(cast: Cast) -> None:
    canary = {"percent": 50, "minRecipients": 1, "observeSeconds": 600, "promotion": "Manual"}
    campaign, spec = await cast.owned(rollout={"canary": canary})
    await campaign.conduct()
    key = cast.put(CAMPAIGN, "spring", spec, status={"startTime": "2026-11-01T10:00:00Z"})
    await cast.look(key)
    copies = [cast.put(ACTION, name, order(name), annotations=HANDLED) for name in ("Promote", "Retry")]
    await look_at_actions(cast.runtime)
    promoted, retried = [cast.runtime.watched.actions[one].subject.status for one in copies]
    assert promoted is not None
    assert "the copy of an action" in str(promoted.conditions)
    assert retried is not None
    assert retried.completion_time is not None
    assert (retried.matched, (await campaign.record())["rollout_stage"]) == (0, "canary")


async def test_what_another_store_has_sent_since_is_not_gone_on_with_until_a_person_says_so(cast: Cast) -> None:
    _, spec = await cast.owned()
    key = cast.put(CAMPAIGN, "spring", spec, annotations={LEDGER_ANNOTATION: "another"})
    await cast.look(key)
    refused = cast.runtime.tracked[key].refusal
    assert refused is not None
    assert (refused.reason, refused.stalled) == ("LedgerMissing", True)
    assert (await cast.order("go-on", "Resume"))[0] == "Applied"
    await reconcile(cast.runtime, key)
    assert cast.runtime.tracked[key].refusal is None


async def test_an_edit_between_a_take_over_and_its_start_does_not_go_by_unseen(cast: Cast) -> None:
    campaign, spec = await cast.owned()
    await campaign.claim()
    spec["messages"][0]["template"]["subject"] = "Something else"
    key = cast.put(CAMPAIGN, "spring", spec, generation=2)
    await reconcile(cast.runtime, key)
    refused = cast.runtime.tracked[key].refusal
    assert refused is not None
    assert refused.reason == "SendKeyConflict"


async def expire(campaign: Campaign) -> None:
    await campaign.query("UPDATE sendonce.campaigns SET deadline = now() - interval '1 hour' WHERE id = %(id)s")
    await campaign.conduct()
    assert await campaign.states() == {"expired": 2}


async def test_a_retry_goes_by_a_deadline_that_was_moved_after_the_end(cast: Cast) -> None:
    campaign, spec = await cast.owned()
    await expire(campaign)
    cast.put(CAMPAIGN, "spring", {**spec, "schedule": MOVED, "uncertainPolicy": "Resend"}, generation=2)
    assert (await cast.order("late", "Retry", deliveries={"states": ["Expired"]}))[0] == "Applied"
    await campaign.conduct()
    assert await campaign.states() == {"pending": 2}
    row = await cast.known()
    assert (row.spec["schedule"]["deadline"], row.spec["uncertainPolicy"]) == (MOVED["deadline"], "Resend")


async def test_in_a_campaign_that_is_being_deleted_nothing_is_opened_again(cast: Cast) -> None:
    campaign, spec = await cast.owned()
    await expire(campaign)
    cast.put(CAMPAIGN, "spring", spec, deletionTimestamp="2026-11-01T10:00:00Z")
    reason, message = await cast.order("late", "Retry", deliveries={"states": ["Expired"]})
    assert (reason, message[:29]) == ("Starting", "the campaign is being deleted")
    assert await campaign.states() == {"expired": 2}


async def test_how_long_the_data_of_an_ended_campaign_is_kept_can_be_edited(cast: Cast) -> None:
    campaign, spec = await cast.owned()
    await expire(campaign)
    await campaign.query("UPDATE sendonce.campaigns SET completed_at = now() - interval '2 days' WHERE id = %(id)s")
    assert await retention.due_campaigns(cast.world.conn, "default") == []
    key = cast.put(CAMPAIGN, "spring", {**spec, "dataRetentionDays": 1}, generation=2)
    await reconcile(cast.runtime, key)
    assert await retention.due_campaigns(cast.world.conn, "default") == [campaign.id]


async def test_what_a_cancelled_spec_would_cancel_again_is_not_opened(cast: Cast) -> None:
    campaign, spec = await cast.owned()
    key = cast.put(CAMPAIGN, "spring", {**spec, "cancel": True}, generation=2, annotations={})
    await reconcile(cast.runtime, key)
    await campaign.conduct()
    assert await campaign.states() == {"cancelled": 2}
    reason, message = await cast.order("after-all", "Retry", deliveries={"states": ["Cancelled"]})
    assert reason == "NotApplicable"
    assert "apply it without spec.cancel" in message
    assert await campaign.states() == {"cancelled": 2}


async def test_a_campaign_that_another_cluster_has_taken_is_let_go_without_an_edit(cast: Cast) -> None:
    campaign, spec = await cast.owned()
    key = cast.put(CAMPAIGN, "spring", spec, status={"startTime": "2026-11-01T10:00:00Z"})
    await cast.look(key)
    assert cast.runtime.tracked[key].refusal is None
    await campaign.query("UPDATE sendonce.campaigns SET owner_uid = 'b', owner_seen_at = now() WHERE id = %(id)s")
    loop = ActiveLoop(cast.runtime)
    await loop.tick()
    await loop.tick()
    refused = cast.runtime.tracked[key].refusal
    assert refused is not None
    assert refused.reason == "SendKeyConflict"


async def test_a_spec_that_the_store_can_not_keep_is_refused_and_troubles_no_other(cast: Cast) -> None:
    await cast.world.provider()
    http = {"url": "http://127.0.0.1:9/send"}
    cast.put(PROVIDER, "far-end", {"type": "HTTP", "http": http})
    message = {"channel": "SMS", "providerRef": {"name": "far-end"}, "template": {"text": "a \x00 b"}}
    spec = {"category": "Transactional", "messages": [message], "recipients": {"inline": [{"phone": "+4915112345678"}]}}
    key = cast.put(CAMPAIGN, "hostile", spec)
    await ActiveLoop(cast.runtime).tick()
    refused = cast.runtime.tracked[key].refusal
    assert refused is not None
    assert (refused.reason, refused.stalled) == ("InvalidSpec", True)
    assert "take out NUL" in refused.message


async def test_a_row_that_somebody_holds_keeps_no_other_owner_from_being_noted(cast: Cast) -> None:
    campaign, _ = await cast.owned()
    await cast.world.adopt("summer")
    await cast.world.conn.execute(
        "UPDATE sendonce.campaigns SET owner_uid = 'b', owner_seen_at = NULL WHERE name = 'summer'"
    )
    other = await operating.find(cast.world.conn, "default", "summer")
    assert other is not None
    # the login of a namespace may lock what is its own
    async with cast.world.hands.transaction(), asyncio.timeout(5):
        await cast.world.hands.execute("SELECT FROM sendonce.campaigns WHERE id = %s FOR UPDATE", [campaign.id])
        await operating.seen(cast.world.conn, {campaign.id: UID, other.id: "b"})
    other = await operating.find(cast.world.conn, "default", "summer")
    assert other is not None
    assert other.owner_silent is not None


@pytest.mark.parametrize("again", [False, True])
async def test_a_provider_that_was_deleted_while_no_operator_was_there_is_suspended(cast: Cast, again: bool) -> None:
    _, spec = await cast.owned()
    key = cast.put(CAMPAIGN, "spring", spec, status={"startTime": "2026-11-01T10:00:00Z"})
    await cast.look(key)
    await resync(cast.runtime)
    if again:
        cast.put(PROVIDER, "far-end", {"type": "HTTP", "http": {"url": "http://127.0.0.1:9/send"}})
    await suspend_gone(cast.runtime)
    (state,) = await operating.provider_states(cast.world.conn)
    assert state.suspended is not again


async def test_people_in_a_spec_go_with_the_other_data(cast: Cast) -> None:
    inline = [{"id": "p1", "email": "ada@example.com"}]
    campaign, _ = await cast.owned(recipients={"inline": inline})
    await expire(campaign)
    await retention.delete_data(cast.world.conn, campaign.id)
    row = await campaign.record()
    assert "ada@example.com" not in json.dumps(row["spec"])
    assert CampaignSpec.from_wire(row["spec"]).messages, "it can still be read"


async def test_refused_rows_whose_deletion_broke_off_go_too(cast: Cast) -> None:
    campaign, _ = await cast.owned()
    await expire(campaign)
    await campaign.query("UPDATE sendonce.campaigns SET completed_at = now() - interval '1 year' WHERE id = %(id)s")
    await retention.delete_data(cast.world.conn, campaign.id)
    assert await retention.due_campaigns(cast.world.conn, "default") == []
    await campaign.query(
        "INSERT INTO sendonce.import_rejects VALUES (%(id)s, 7, 'default', 'email', 'is bad', 'ada@example')"
    )
    assert await retention.due_campaigns(cast.world.conn, "default") == [campaign.id]
