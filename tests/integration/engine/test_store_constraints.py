"""What the database itself never allows, whatever a program does: each CHECK, violated once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import psycopg
import pytest

if TYPE_CHECKING:
    from tests.integration.engine.conftest import World

_D = "UPDATE sendonce.deliveries SET "
_B = "UPDATE sendonce.batches SET "
_C = "UPDATE sendonce.campaigns SET "
_NOW = "next_attempt_at = NULL, finished_at = now()"

# of each constraint, statements that break it and nothing else; row 1 of one campaign is pending
VIOLATIONS: dict[str, list[str]] = {
    "deliveries_state": [f"{_D} state = 'lost', {_NOW}"],
    "pending_has_a_time": [
        f"{_D} next_attempt_at = NULL",
        f"{_D} state = 'cancelled', finished_at = now()",
    ],
    "final_has_an_end": [
        f"{_D} finished_at = now()",
        f"{_D} state = 'cancelled', next_attempt_at = NULL",
    ],
    "sending_has_an_attempt": [
        f"{_D} state = 'sending', next_attempt_at = NULL",
        f"{_D} state = 'sending', next_attempt_at = NULL, attempt_seq = 1, last_attempt_at = now()",
        f"{_D} state = 'sending', next_attempt_at = NULL, attempt_seq = 1, worker = 'w'",
    ],
    "uncertain_was_handed_off": [
        f"{_D} state = 'uncertain', {_NOW}",
        f"{_D} state = 'uncertain', {_NOW}, maybe_accepted = true",
        f"{_D} state = 'uncertain', {_NOW}, attempt_seq = 1",
    ],
    "sent_was_handed_off": [f"{_D} state = 'sent', {_NOW}"],
    "maybe_accepted_never_ends_as_unsent": [
        f"{_D} state = '{state}', {_NOW}, maybe_accepted = true, attempt_seq = 1"
        for state in ("suppressed", "expired", "cancelled")
    ]
    + [f"{_D} state = 'failed', reason = 'permanent', {_NOW}, maybe_accepted = true, attempt_seq = 1"],
    "failed_has_a_reason": [
        f"{_D} state = 'failed', {_NOW}",
        f"{_D} state = 'failed', reason = 'bad luck', {_NOW}",
    ],
    "batches_check": [f"{_B} state = 'leased' WHERE kind = 'send'"],
    "batches_check1": [f"{_B} worker = 'w' WHERE kind = 'send'"],
    "batches_check2": [f"{_B} channel = NULL WHERE kind = 'send'", f"{_B} provider_id = NULL WHERE kind = 'send'"],
    "batches_kind_check": [f"{_B} kind = 'other' WHERE kind = 'send'"],
    "batches_stage_check": [f"{_B} stage = 'other'"],
    "batches_state_check": [f"{_B} state = 'other' WHERE kind = 'send'"],
    "no_done_batch_with_an_open_row": [f"{_B} state = 'done' WHERE kind = 'send'"],
    "a_cap_has_a_period": [f"{_C} cap_messages = 1", f"{_C} cap_days = 1"],
    "campaigns_cap_days_check": [f"{_C} cap_messages = 1, cap_days = 0"],
    "campaigns_cap_messages_check": [f"{_C} cap_messages = 0, cap_days = 1"],
    "campaigns_check": [f"{_C} ended = 'complete'", f"{_C} completed_at = now()"],
    "campaigns_check1": [f"{_C} halt_reason = 'x'", f"{_C} halt_message = 'x'"],
    "campaigns_check2": [f"{_C} data_deleted_at = now()"],
    "campaigns_ended_check": [f"{_C} ended = 'other', completed_at = now()"],
    "campaigns_import_state_check": [f"{_C} import_state = 'other'"],
    "campaigns_priority_check": [f"{_C} priority = 3", f"{_C} priority = -1"],
    "campaigns_rollout_stage_check": [f"{_C} rollout_stage = 'other'"],
    "inbox_key_check": [
        "INSERT INTO sendonce.inbox (campaign_id, key, namespace, digest) VALUES (1, '', 'd', '')",
        "INSERT INTO sendonce.inbox (campaign_id, key, namespace, digest) VALUES (1, repeat('é', 128), 'd', '')",
    ],
    "pace_limits_burst_check": ["UPDATE sendonce.pace_limits SET burst = 0"],
    "pace_limits_messages_check": ["UPDATE sendonce.pace_limits SET messages = 0"],
    "pace_limits_period_seconds_check": ["UPDATE sendonce.pace_limits SET period_seconds = 0"],
    "deliveries_receipt_check": [f"{_D} receipt = 4", f"{_D} receipt = -1"],
    "receipts_event_id_check": [
        "INSERT INTO sendonce.receipts (namespace, provider, event_id) VALUES ('d', 'p', '')",
        "INSERT INTO sendonce.receipts (namespace, provider, event_id) VALUES ('d', 'p', repeat('e', 256))",
    ],
    "providers_kind_check": ["UPDATE sendonce.providers SET kind = 'Pod'"],
    "tenants_kind_check": ["INSERT INTO sendonce.tenants (role, namespace, no, kind) VALUES ('r', 'd', 9, 'other')"],
    "store_singleton_check": ["INSERT INTO sendonce.store (singleton) VALUES (false)"],
    "suppressions_reason_check": [
        "INSERT INTO sendonce.suppressions (namespace, channel, address, reason) VALUES ('d', 'Email', 'a', 'bored')"
    ],
    "link_keys_id_check": ["INSERT INTO sendonce.link_keys (id, namespace, key) VALUES ('x', 'n', sha512('x'))"],
    "link_keys_key_check": [
        "INSERT INTO sendonce.link_keys (id, namespace, key) VALUES ('12345678', 'n', sha256('x'))"
    ],
    "revoked_is_retired": [
        "INSERT INTO sendonce.link_keys (id, namespace, key, revoked_at) VALUES ('12345678', 'n', sha512('x'), now())"
    ],
    "campaigns_links_url_check": ["UPDATE sendonce.campaigns SET links_url = repeat('a', 256)"],
    "links_have_a_key": ["UPDATE sendonce.campaigns SET links_url = 'https://notify.example.com', links_key = NULL"],
    "gateway_tokens_digest_check": ["INSERT INTO sendonce.gateway_tokens VALUES ('n', 'a', 'short')"],
}


async def test_every_check_of_the_schema_refuses_what_it_forbids(world: World) -> None:
    await world.campaign(1, provider={"limits": [{"messages": 1, "periodSeconds": 1}]})
    cursor = await world.conn.execute(
        "SELECT conname FROM pg_constraint WHERE contype = 'c' AND connamespace = 'sendonce'::regnamespace"
    )
    assert {row["conname"] for row in await cursor.fetchall()} == set(VIOLATIONS)
    for constraint, statements in VIOLATIONS.items():
        for statement in statements:
            with pytest.raises(psycopg.errors.CheckViolation) as refused:
                await world.conn.execute(statement.encode())
            assert refused.value.diag.constraint_name == constraint, statement


async def test_nobody_is_there_twice_on_a_channel_of_a_campaign(world: World) -> None:
    campaign = await world.campaign(2)
    with pytest.raises(psycopg.errors.UniqueViolation):
        await campaign.query("UPDATE sendonce.deliveries SET address = 'user1@example.com' WHERE no = 2")


async def test_a_send_key_is_there_once_per_namespace(world: World) -> None:
    first = await world.campaign(1, name="spring")
    again = await world.adopt("spring")
    assert again.campaign_id == first.id
    with pytest.raises(psycopg.errors.UniqueViolation):
        await world.conn.execute(
            "INSERT INTO sendonce.campaigns (namespace, send_key, name, content_hash, spec, category)"
            " VALUES ('default', 'spring', 'other', 'x', '{}', 'Marketing')"
        )
