"""From checked documents to a campaign in the store: providers and campaign in one transaction, then the actions."""

from __future__ import annotations

from dataclasses import dataclass

import click

from sendonce_cli.bundle import Bundle
from sendonce_cli.checking import Checked
from sendonce_cli.exits import CliError, Exit
from sendonce_cli.orders import fresh_name, give
from sendonce_cli.stores import find
from sendonce_store import actions, campaigns, ledger
from sendonce_store.actions import Order
from sendonce_store.applied import APPLIED_BY, account
from sendonce_store.campaigns import Adopted, Adoption
from sendonce_store.connection import Connection
from sendonce_store.ordering import order_of
from sendonce_store.spec import (
    ClusterNotificationProvider,
    NotificationAction,
    NotificationCampaign,
    NotificationProvider,
)
from sendonce_store.standing import Overview

__all__ = ["Begun", "apply_actions", "begin"]


@dataclass(frozen=True, slots=True)
class Begun:
    """The campaign's row, and what it means for the documents."""

    adoption: Adoption
    campaign: Overview

    @property
    def already_sent(self) -> bool:
        """Whether there is nothing left to send."""
        return self.adoption.kind is Adopted.ALREADY_SENT

    @property
    def source_unreadable(self) -> bool:
        """Whether it ended because its recipients could not be read, which a person may have mended."""
        return self.campaign.ended_reason == "SourceUnreadable"


async def begin(conn: Connection, bundle: Bundle, checked: Checked, *, resume: bool) -> Begun:
    """Adopt the campaign, and do what the files' actions order. Raises CliError for a send key with other content."""
    begun = await _adopt(conn, checked)
    changed = await _act(conn, bundle, checked, begun.campaign)
    if resume and (begun.campaign.halt_reason is not None or begun.source_unreadable):
        click.echo(str(await give(conn, begun.campaign, Order(fresh_name("Resume"), "Resume"))), err=True)
        return await _adopt(conn, checked)
    # a Retry opens a finished campaign again
    return await _adopt(conn, checked) if changed and begun.already_sent else begun


async def _adopt(conn: Connection, checked: Checked) -> Begun:
    async with conn.transaction():
        for document in checked.providers.values():
            if isinstance(document.resource, NotificationProvider | ClusterNotificationProvider):
                await campaigns.sync_provider(conn, document.resource)
        adoption = await campaigns.adopt(conn, _signed(checked.source.campaign), checked.spec)
        if adoption.kind is Adopted.CONFLICT:
            raise CliError(adoption.message, Exit.CONFLICT)  # and the providers stay as they were
    if checked.spec.cancel and adoption.kind is not Adopted.ALREADY_SENT:
        await actions.cancel(conn, adoption.campaign_id)
    campaign = await ledger.overview(conn, checked.namespace, adoption.campaign_id)
    if campaign is None:
        raise CliError("the campaign's row is gone from the store", Exit.NOT_FOUND)
    return Begun(adoption, campaign)


def _signed(campaign: NotificationCampaign) -> NotificationCampaign:
    """With the account of this machine that applies it, unless the document names somebody."""
    told = {APPLIED_BY: account(), **campaign.metadata.annotations}
    return campaign.model_copy(update={"metadata": campaign.metadata.model_copy(update={"annotations": told})})


async def _act(conn: Connection, bundle: Bundle, checked: Checked, campaign: Overview) -> bool:
    changed = False
    for action in bundle.actions():
        mine = _means(action, checked)
        target = campaign if mine else await find(conn, action.metadata.namespace, action.spec.campaign_ref.name)
        result = await give(conn, target, order_of(action.metadata.name, action.spec))
        click.echo(str(result), err=True)
        changed = changed or (mine and result.changed > 0 and not result.again)
    return changed


def _means(action: NotificationAction, checked: Checked) -> bool:
    metadata = checked.source.campaign.metadata
    return (action.metadata.namespace, action.spec.campaign_ref.name) == (metadata.namespace, metadata.name)


async def apply_actions(conn: Connection, bundle: Bundle) -> None:
    """Files without a campaign: find the campaigns that their actions name, and apply them."""
    for action in bundle.actions():
        campaign = await find(conn, action.metadata.namespace, action.spec.campaign_ref.name)
        click.echo(str(await give(conn, campaign, order_of(action.metadata.name, action.spec))), err=True)
