"""Orders in a cluster: a NotificationAction, or a wish in the spec of the campaign's object; both say for whom.

The console's service account writes, after the API server has said that the viewer may (`web.handling`): the rights of
viewers are never used. What becomes of an order, the operator writes into the ledger and into the action's status.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from http import HTTPStatus
from typing import Any

from sendonce_console.access.cluster import ApiRefusalError, Cluster
from sendonce_console.levers.interface import Given, Wish, WishNote
from sendonce_console.web.problems import ProblemError
from sendonce_store.spec import ActionSpec
from sendonce_store.standing import Overview

__all__ = ["REQUESTED_BY", "KubernetesLevers", "action_body", "wish_body"]

REQUESTED_BY = "sendonce.dev/requested-by"
WISHED_BY = "sendonce.dev/wished-by"
_API = "sendonce.dev/v1alpha1"
_WISHED = re.compile(r"(suspend|go-on|cancel) at (\S{1,40}) by (.{1,255})", re.DOTALL)
_LONGEST_NAME = 255


class KubernetesLevers:
    """Writes objects."""

    def __init__(self, cluster: Cluster) -> None:
        """`cluster`: calls with the console's own service account."""
        self._cluster = cluster

    async def order(self, who: str, campaign: Overview, name: str, spec: ActionSpec) -> Given:
        """Make the action; one of that name is there already: it was given before."""
        await self._own_object(campaign)
        try:
            await self._cluster.create(_path(campaign, "notificationactions"), action_body(who, campaign, name, spec))
        except ApiRefusalError as error:
            if error.status != HTTPStatus.CONFLICT:
                raise _refused(error, campaign) from error
        return Given(name)

    async def wish(self, who: str, campaign: Overview, wish: Wish) -> Given:
        """Patch the campaign's spec. What has ended keeps it: a wish would hold for what is tried again later."""
        if campaign.ended is not None:
            detail = f"It has ended ({campaign.ended_reason}); there is nothing left to {wish.value}."
            raise ProblemError(HTTPStatus.CONFLICT, "The campaign has ended", detail)
        body = wish_body(who, wish, datetime.now(UTC))
        # the API server refuses the patch where another object has come in between
        body["metadata"]["uid"] = (await self._own_object(campaign))["metadata"]["uid"]
        try:
            await self._cluster.patch(_object_path(campaign), body)
        except ApiRefusalError as error:
            raise _refused(error, campaign) from error
        return Given(wish.value)

    async def _own_object(self, campaign: Overview) -> Mapping[str, Any]:
        """The object of that campaign. Raises ProblemError: its name may be another campaign's by now."""
        try:
            body = await self._cluster.get(_object_path(campaign))
        except ApiRefusalError as error:
            raise _refused(error, campaign) from error
        if send_key_of(body) != campaign.send_key:
            detail = (
                f"NotificationCampaign {campaign.name} now sends {send_key_of(body)}, and {campaign.send_key} has no "
                "object any more: nothing was ordered, neither of the one nor of the other."
            )
            raise ProblemError(HTTPStatus.CONFLICT, "The name is another campaign's now", detail)
        return body

    async def state_of(self, campaign: Overview, name: str) -> Given | None:
        """What the action's status says."""
        try:
            body = await self._cluster.get(_path(campaign, f"notificationactions/{name}"))
        except ApiRefusalError as error:
            if error.status == HTTPStatus.NOT_FOUND:
                return None
            raise _refused(error, campaign) from error
        return given_of(name, body)

    async def wishes(self, campaign: Overview) -> Sequence[WishNote]:
        """What the campaign's annotation says; nothing where its object is gone."""
        try:
            body = await self._cluster.get(_object_path(campaign))
        except ApiRefusalError:
            return ()
        return notes_of(body) if send_key_of(body) == campaign.send_key else ()

    async def close(self) -> None:
        """The door closes the connections that both use."""


def action_body(who: str, campaign: Overview, name: str, spec: ActionSpec) -> dict[str, Any]:
    """The object of an order."""
    metadata = {"name": name, "namespace": campaign.namespace, "annotations": {REQUESTED_BY: who[:_LONGEST_NAME]}}
    return {"apiVersion": _API, "kind": "NotificationAction", "metadata": metadata, "spec": spec.to_wire()}


def wish_body(who: str, wish: Wish, at: datetime) -> dict[str, Any]:
    """The patch of a wish."""
    note = f"{wish.value} at {at.isoformat(timespec='seconds')} by {who[:_LONGEST_NAME]}"
    spec = {"cancel": True} if wish is Wish.CANCEL else {"suspend": wish is Wish.SUSPEND}
    return {"metadata": {"annotations": {WISHED_BY: note}}, "spec": spec}


def given_of(name: str, body: Mapping[str, Any]) -> Given:
    """What the status of an action says."""
    conditions = (body.get("status") or {}).get("conditions") or ()
    found = {one.get("type"): one for one in conditions if one.get("status") == "True"}
    if stalled := found.get("Stalled") or found.get("Failed"):
        return Given(name, refused=f"{stalled.get('reason', '')}: {stalled.get('message', '')}")
    complete = found.get("Complete") or {}
    return Given(name, str(complete.get("message", "")))


def notes_of(body: Mapping[str, Any]) -> Sequence[WishNote]:
    """Who wished for the state that the spec has, as the annotation says; one that is not ours says nothing."""
    metadata = body.get("metadata") or {}
    written = _WISHED.fullmatch(str((metadata.get("annotations") or {}).get(WISHED_BY, "")))
    if written is None:
        return ()
    try:
        at = datetime.fromisoformat(written[2])
    except ValueError:
        return ()
    return (WishNote(written[1], written[3], at if at.tzinfo else at.replace(tzinfo=UTC)),)


def send_key_of(body: Mapping[str, Any]) -> str:
    """Which campaign an object is: its send key, by default its name."""
    return str((body.get("spec") or {}).get("sendKey") or (body.get("metadata") or {}).get("name"))


def _path(campaign: Overview, rest: str) -> str:
    return f"/apis/{_API}/namespaces/{campaign.namespace}/{rest}"


def _object_path(campaign: Overview) -> str:
    return _path(campaign, f"notificationcampaigns/{campaign.name}")


def _refused(error: ApiRefusalError, campaign: Overview) -> ProblemError:
    """The API server's own words are for people who write such objects: they name the field."""
    if error.status == HTTPStatus.NOT_FOUND:
        detail = f"NotificationCampaign {campaign.name} is no longer there; what was sent stays in the ledger."
        return ProblemError(HTTPStatus.CONFLICT, "The campaign was deleted", detail)
    if error.status == HTTPStatus.FORBIDDEN:
        detail = (
            "The console's own service account may not write this: its chart gives it the right with console.levers."
        )
        return ProblemError(HTTPStatus.FORBIDDEN, "The cluster refused it", detail)
    return ProblemError(HTTPStatus.CONFLICT, "The cluster refused it", f"{error}.")
