"""A campaign's Deployment: what is wanted and what is there in, at most one write out.

A Deployment of the same name that is not this object's is never touched: one of a deleted campaign of the same name is
about to be collected, and anybody else's stays theirs: the campaign's status then says so.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

from sendonce_operator import paths
from sendonce_operator.decisions.deployment import deployment, deployment_name, is_current
from sendonce_operator.objects import Campaign
from sendonce_operator.providing import all_known, facts_of
from sendonce_operator.runtime import Runtime

logger = logging.getLogger(__name__)


def current_replicas(runtime: Runtime, campaign: Campaign) -> int:
    """How many workers there are to be as the cluster has it now."""
    live = runtime.watched.deployments.get(campaign.key)
    return 0 if live is None or not _is_mine(live, campaign) else int(live["spec"]["replicas"])


async def deploy(runtime: Runtime, campaign: Campaign, replicas: int) -> None:
    """Bring the Deployment to what is wanted. Raises ClusterError."""
    live, tracked = runtime.watched.deployments.get(campaign.key), runtime.track(campaign)
    taken, tracked.name_taken = tracked.name_taken, None
    if campaign.spec is None or (live is None and replicas == 0):
        return
    if not all_known(runtime, campaign):
        await _send_home(runtime, campaign, replicas)
        return
    facts = facts_of(runtime, campaign)
    wanted = deployment(campaign.subject, campaign.spec, facts, replicas, runtime.settings.defaults)
    if live is not None and int(live["spec"]["replicas"]) == replicas and is_current(live, wanted):
        return
    path = paths.deployments(campaign.key.namespace, deployment_name(campaign.key.name))
    live = await runtime.cluster.find(path)
    if live is not None and not _is_mine(live, campaign):
        logger.warning("%s: the Deployment of this name belongs to somebody else", path)
        tracked.name_taken = taken or runtime.now()
        return
    runtime.metrics.writes.labels("deployment").inc()
    runtime.watched.note_deployment(await runtime.cluster.apply(path, wanted))


async def _send_home(runtime: Runtime, campaign: Campaign, replicas: int) -> None:
    """Nothing of the template can be told while a provider is not known, nor how many workers its pace can use.

    A template without that provider's Secret would restart every worker.
    """
    live = runtime.watched.deployments.get(campaign.key)
    if replicas or live is None or not _is_mine(live, campaign) or live["spec"]["replicas"] == 0:
        return
    path = paths.deployments(campaign.key.namespace, deployment_name(campaign.key.name))
    body = {"metadata": {"uid": live["metadata"]["uid"]}, "spec": {"replicas": 0}}
    runtime.metrics.writes.labels("deployment").inc()
    runtime.watched.note_deployment(await runtime.cluster.patch(path, body))


def _is_mine(live: Mapping[str, Any], campaign: Campaign) -> bool:
    owners = live["metadata"].get("ownerReferences") or []
    return any(owner["uid"] == campaign.subject.uid for owner in owners)
