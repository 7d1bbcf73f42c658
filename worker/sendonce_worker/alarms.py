"""Answers that concern more than one recipient: a throttled provider, a rejected account. They go into the store."""

from __future__ import annotations

import logging

from sendonce_store import campaigns, pace
from sendonce_worker.link import STORE_ERRORS, Link
from sendonce_worker.providers.errors import SendError
from sendonce_worker.sending.plan import ChannelPlan

logger = logging.getLogger(__name__)


class StoreAlarms:
    """Tells every worker through the store. A store that can't be reached is no reason to lose the answer itself."""

    def __init__(self, control: Link, campaign_id: int) -> None:
        """`control` is the worker's connection for what is not a batch."""
        self._control = control
        self._campaign_id = campaign_id

    async def stands_still(self, plan: ChannelPlan, error: SendError) -> None:
        """Pause the provider for everybody, for as long as it asked, or for a growing while."""
        try:
            async with self._control.use() as conn:
                seconds = await pace.pause(conn, plan.provider_id, error.retry_after, error.code, error.message)
        except STORE_ERRORS as problem:
            logger.warning("could not pause the provider: %s", problem)
            return
        logger.warning("provider %s paused for %.1f s: %s", plan.provider_series.provider, seconds, error)

    async def account_problem(self, plan: ChannelPlan, error: SendError) -> None:
        """Stop the campaign until a person resumes: every further recipient would be refused as well."""
        message = f"{plan.channel} over {plan.provider_series.provider}: {error}"
        try:
            async with self._control.use() as conn:
                await campaigns.halt(conn, self._campaign_id, "CredentialsRejected", message)
        except STORE_ERRORS as problem:
            logger.warning("could not stop the campaign for CredentialsRejected: %s: %s", message, problem)
            return
        logger.error("campaign stopped, CredentialsRejected: %s", message)
