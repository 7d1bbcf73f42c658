"""What the watches have shown: events in, the newest of each object out, and which campaigns they concern.

Lives in the operator's own loop; kopf's handlers hand events over to it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from sendonce_operator.decisions.facts import PodTrouble, Workforce
from sendonce_operator.objects import (
    ACTION,
    CAMPAIGN,
    CLUSTER_PROVIDER,
    PROVIDER,
    Action,
    AnySeen,
    Campaign,
    Provider,
    is_another,
    is_older,
    is_the_same,
    key_of,
    read,
)
from sendonce_operator.paths import CAMPAIGN_LABEL, DEPLOYMENT, Key
from sendonce_operator.pods import trouble_of, workforce
from sendonce_store.spec import Message, ProviderKind

Object = Mapping[str, Any]
# a Deployment or a Pod: of which campaign, and its uid
Worker = tuple[Key, str]


class Watched:
    """The newest of each object. `changed` is told of every key that something happened to."""

    def __init__(self, changed: Callable[[Key], None]) -> None:
        """Nothing is known yet."""
        self._changed = changed
        self.campaigns: dict[Key, Campaign] = {}
        self.providers: dict[Key, Provider] = {}
        self.actions: dict[Key, Action] = {}
        self.deployments: dict[Key, Object] = {}
        self._pods: dict[Key, dict[str, PodTrouble | None]] = {}

    def _table(self, kind: str) -> dict[Key, Any]:
        tables: dict[str, dict[Key, Any]] = {
            CAMPAIGN: self.campaigns,
            PROVIDER: self.providers,
            CLUSTER_PROVIDER: self.providers,
            ACTION: self.actions,
        }
        return tables[kind]

    def note(self, kind: str, body: Object, *, gone: bool = False) -> AnySeen | None:
        """Take in an object of ours; returns it as it is known now, None once it is gone."""
        table, key = self._table(kind), key_of(kind, body)
        known: AnySeen | None = table.get(key)
        if (is_another(body, known) and gone) or (is_the_same(body, known) and not gone):
            return known
        if not is_older(body, known):
            if gone:
                table.pop(key, None)
            else:
                table[key] = read(kind, body, known)
            if not _says_the_same(known, table.get(key)):
                self._changed(key)
        found: AnySeen | None = table.get(key)
        return found

    def forget(self, gone: Iterable[Key]) -> None:
        """Forget objects that are there no longer."""
        for key in gone:
            if self._table(key.kind).pop(key, None) is not None:
                self._changed(key)

    def note_deployment(self, body: Object, *, gone: bool = False) -> None:
        """Take in a Deployment of ours."""
        key = self._campaign_of(body)
        if key is None:
            return
        if gone:
            self.forget_workers(DEPLOYMENT, {(key, body["metadata"].get("uid"))})
        else:
            self.deployments[key] = {
                "metadata": {
                    name: body["metadata"].get(name)
                    for name in ("name", "namespace", "uid", "annotations", "ownerReferences", "deletionTimestamp")
                },
                "spec": {"replicas": body["spec"].get("replicas", 1)},
                "status": body.get("status") or {},
            }
        self._changed(key)

    def note_pod(self, body: Object, *, gone: bool = False) -> None:
        """Take in a worker's Pod."""
        key = self._campaign_of(body)
        if key is None:
            return
        pods = self._pods.setdefault(key, {})
        if gone:
            pods.pop(body["metadata"]["uid"], None)
        else:
            pods[body["metadata"]["uid"]] = trouble_of(body)
        if not pods:
            del self._pods[key]

    def workers(self, kind: str) -> set[Worker]:
        """The Deployments, or the Pods, that are known."""
        if kind == DEPLOYMENT:
            return {(key, live["metadata"]["uid"]) for key, live in self.deployments.items()}
        return {(key, uid) for key, pods in self._pods.items() for uid in pods}

    def forget_workers(self, kind: str, gone: Iterable[Worker]) -> None:
        """Forget Deployments, or Pods, that are there no longer: the watch may have missed that they went."""
        for key, uid in gone:
            if kind == DEPLOYMENT:
                if key in self.deployments and self.deployments[key]["metadata"]["uid"] == uid:
                    del self.deployments[key]
                    self._changed(key)
            elif uid in (pods := self._pods.get(key, {})):
                del pods[uid]
                if not pods:
                    del self._pods[key]

    def worker_of(self, body: Object) -> Worker | None:
        """Which one it is; None for one that is no campaign's."""
        key = self._campaign_of(body)
        return None if key is None else (key, body["metadata"]["uid"])

    @staticmethod
    def _campaign_of(body: Object) -> Key | None:
        name = (body["metadata"].get("labels") or {}).get(CAMPAIGN_LABEL)
        return Key(CAMPAIGN, body["metadata"]["namespace"], name) if name else None

    def workforce(self, key: Key) -> Workforce:
        """A campaign's workers."""
        return workforce(self.deployments.get(key), self._pods.get(key, {}).values())

    def users_of(self, provider: Key) -> list[Campaign]:
        """The campaigns that name a provider."""
        return [campaign for campaign in self.campaigns.values() if provider in providers_named(campaign)]


def _says_the_same(old: AnySeen | None, new: AnySeen | None) -> bool:
    """Whether nothing but the status differs, which the operator itself writes."""
    if old is None or new is None:
        return old is new
    before, after = old.subject, new.subject
    same = old.at == new.at and before.deleting == after.deleting and before.annotations == after.annotations
    return same and old.owned == new.owned


def provider_key(message: Message, namespace: str) -> Key:
    """Where the provider of a message is."""
    cluster = message.provider_ref.kind is ProviderKind.CLUSTER_NOTIFICATION_PROVIDER
    return Key(message.provider_ref.kind.value, "" if cluster else namespace, message.provider_ref.name)


def providers_named(campaign: Campaign) -> list[Key]:
    """Where the providers of a campaign are, each once."""
    messages = campaign.spec.messages if campaign.spec else ()
    return list(dict.fromkeys(provider_key(message, campaign.key.namespace) for message in messages))
