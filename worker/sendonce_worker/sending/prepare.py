"""Before the hand-off: quiet hours and rendering. A due row in, what to hand off, or why not, out; no I/O."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from sendonce_rendering import Content, RenderError
from sendonce_store.rows import Row, Unsent
from sendonce_store.spec.channels import Channel
from sendonce_store.variables import template_variables
from sendonce_worker.sending.phone_zones import zone_of_phone
from sendonce_worker.sending.plan import ChannelPlan
from sendonce_worker.sending.quiet_hours import QuietHours, own_hours, quiet_until


# not frozen: one for each delivery, and a frozen one takes twice as long to make
@dataclass(slots=True)
class Prepared:
    """A row with its finished content; `digest` goes into the ledger with the commit before the hand-off."""

    row: Row
    content: Content
    digest: bytes
    variables: Mapping[str, object]


def prepare(row: Row, plan: ChannelPlan, now: datetime) -> Prepared | Unsent:
    """Check the quiet hours of the recipient's own zone, then render."""
    waiting = quiet(row, plan, now)
    if waiting is not None:
        return waiting
    variables = template_variables(row, plan.links)
    try:
        content = plan.template.render(variables)
    except RenderError as error:
        return Unsent(row.no, "failed", "render_error", error.code, str(error)[:500])
    if plan.links is not None:
        content = plan.links.headed(content, row)
    return Prepared(row, content, content.digest(), variables)


def quiet(row: Row, plan: ChannelPlan, now: datetime) -> Unsent | None:
    """Wait until the campaign's and the person's own quiet hours end; without a known zone the policy decides."""
    windows = [plan.quiet] if plan.quiet is not None else []
    if row.quiet is not None and plan.own_quiet:
        windows.append(own_hours(row.quiet))
    if not windows:
        return None
    zone = row.timezone or _assumed_zone(row, plan.quiet)
    if zone is None:
        return Unsent(row.no, "suppressed", "unknown_timezone", error="no time zone, and none is assumed")
    end = quiet_until(windows, now, zone)
    if end is None:
        return None
    return Unsent(row.no, "pending", "quiet_hours", delay=(end - now).total_seconds())


def _assumed_zone(row: Row, hours: QuietHours | None) -> str | None:
    """The zone of somebody who names none, as the campaign's policy says."""
    if hours is None:
        return None
    phone = row.addresses.get(Channel.SMS.value) if hours.guess else None
    return (zone_of_phone(phone[0]) if phone else None) or hours.default_zone
