"""The fifteen rules of docs/rules.md and the other parts of the engine, and the ways in which each is taken out.

A mutant is a small exact replacement in one file. The tests of its rule must fail with it.
"""

# ruff: noqa: E501 - a rule and a mutant are a line each, and what they replace is quoted as it stands

from __future__ import annotations

from dataclasses import dataclass

_STORE, _SQL = "store/sendonce_store", "store/sendonce_store/sql"
_WORKER, _SENDING = "worker/sendonce_worker", "worker/sendonce_worker/sending"
_ENGINE = "tests/integration/engine"


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule (by number) or part (by name): what it says in short, where it stands, and the files with its tests."""

    key: str
    name: str
    where: str
    tests: str


@dataclass(frozen=True, slots=True)
class Mutant:
    """One way to leave a rule out. `old` stands in `path` exactly once; `k` selects among the rule's tests."""

    rule: str
    name: str
    path: str
    old: str
    new: str
    k: str = ""


_TURN = f"{_STORE}/migrations/0002_turn.sql"

RULES = (
    Rule("1", "Key at creation", "`import_rows.py: Target.digest`, `take_turn()` in the schema, `handoff.py`", f"{_ENGINE}/test_rule_01_key_at_creation.py"),
    Rule("2", "`sending` first", "`queue.py: take_turn`, `session.py: _begin`", f"{_ENGINE}/test_rule_02_sending_first.py"),
    Rule("3", "The lease guards every write, by lock", "`hold_lease()`, `take_turn()` in the schema, `queue.py`, `imports.py`, `session.py: _hand_over`", f"{_ENGINE}/test_rule_03_lease_guards_writes.py"),
    Rule("4", "`attempt_seq`", "`take_turn()` in the schema, `actions.sql`", f"{_ENGINE}/test_rule_04_attempt_seq.py"),
    Rule("5", "Evidence is never thrown away", "`take_turn()` in the schema, `queue.sql: late_evidence, accept_late, recover`, `session.py: _hand_over, _after`", f"{_ENGINE}/test_rule_05_evidence.py"),
    Rule("6", "`maybe_accepted`", "every statement that ends a row, and a CHECK", f"{_ENGINE}/test_rule_06_maybe_accepted.py"),
    Rule("7", "Key window", "`take_turn()` in the schema, `queue.sql: recover`", f"{_ENGINE}/test_rule_07_key_window.py"),
    Rule("8", "Unknown or refused", "`answers.py`, `smtp/provider.py`, `outcomes.py`", f"{_ENGINE}/test_rule_08_unknown_or_refused.py"),
    Rule("9", "Time", "`clock.py`, `plan.py`, `session.py: _turn`, both providers", f"{_ENGINE}/test_rule_09_time.py tests/unit/test_clock.py"),
    Rule("10", "Takeover needs nobody", "`queue.sql: claim, recover, park, renew`, `queue.py: claim`, `parking.py`, `settings.py`", f"{_ENGINE}/test_rule_10_takeover.py"),
    Rule("11", "Release and Retry", "`queue.py: release`, `queue.sql: release`, `actions.sql: reopen_batch`", f"{_ENGINE}/test_rule_11_release.py"),
    Rule("12", "Small groups; unclear commits", "`plan.py: rows_ahead`, `session.py: _next_group, _find_out`", f"{_ENGINE}/test_rule_12_small_groups.py"),
    Rule("13", "SIGTERM", "`main.py`, `loop.py: drain`, `session.py: drain`", f"{_ENGINE}/processes/test_rule_13_sigterm.py"),
    Rule("14", "People", "`actions.sql: retry_rows, resend_rows, resolve_rows`", f"{_ENGINE}/test_rule_14_people.py"),
    Rule("15", "Deleting and cancelling", "`deletion.py`, `deletion.sql`, `import_rows.py: Fate`", f"{_ENGINE}/test_rule_15_deletion.py"),
)  # fmt: skip

PARTS = (
    Rule("claim", "What may be claimed", "`queue.sql: claim`, `take_turn()` in the schema", f"{_ENGINE}/test_queue_claim.py"),
    Rule("consent", "Consent at hand-off", "`take_turn()` in the schema", f"{_ENGINE}/test_store_consent.py"),
    Rule("fallbacks", "Fallbacks", "`fallbacks.sql`", f"{_ENGINE}/test_store_fallbacks.py"),
    Rule("actions", "Orders of people", "`actions.py`, `actions.sql`", f"{_ENGINE}/test_actions_orders.py"),
    Rule("conduct", "The campaign as a whole", "`conduct.py`, `conduct.sql`", f"{_ENGINE}/test_conduct_campaign.py"),
    Rule("imports", "Import", "`imports.py`, `import_rows.py`, `imports.sql`", f"{_ENGINE}/test_imports_store.py"),
    Rule("pace", "Pace and pause", "`lease_slots()` in the schema, `pace.sql`", f"{_ENGINE}/test_pace_slots.py {_ENGINE}/test_pace_pause.py"),
    Rule("schema", "Counters, constraints, migrations", "the schema, `migrate.py`", f"{_ENGINE}/test_store_counters.py {_ENGINE}/test_store_constraints.py {_ENGINE}/test_store_migrations.py"),
    Rule("session", "A worker's session", "`session.py`, `prepare.py`, `outcomes.py`", f"{_ENGINE}/test_worker_session.py"),
    Rule("process", "A worker's process", "`main.py`, `campaign.py`, `link.py`", f"{_ENGINE}/processes/test_worker_exits.py {_ENGINE}/processes/test_worker_trouble.py"),
)  # fmt: skip

MUTANTS = (
    Mutant("1", "the key is made at random", f"{_STORE}/import_rows.py", "return sha256(self.key_prefix + address).digest()", 'return __import__("uuid").uuid4().bytes'),
    Mutant("1", "a fallback's key is made at random", f"{_SQL}/fallbacks.sql", "sendonce.delivery_key((SELECT id FROM sendonce.store), c.namespace, c.send_key, f.channel, r.addresses -> f.channel ->> 1)", "gen_random_uuid()"),
    Mutant("1", "each attempt has a key of its own", f"{_SENDING}/handoff.py", "key=row.key,", "key=f'{row.key[:-1]}{started.attempt_seq % 10}',"),
    Mutant("1", "each attempt has a date of its own", f"{_SENDING}/handoff.py", "date=started.first_attempt_at or utc_now(),", "date=utc_now(),"),
    Mutant("1", "other bytes go out under the same key", _TURN, "WHEN d.maybe_accepted AND d.digest IS NOT NULL AND d.digest <> a.digest THEN 'content_changed'", ""),
    Mutant("2", "the group is not committed before the hand-off", f"{_STORE}/queue.py", "            return _outcome(await _one(conn, SQL", "            async with conn.transaction(force_rollback=True):\n                return _outcome(await _one(conn, SQL"),
    Mutant("2", "nor is it with a turn that has more to do", f"{_STORE}/queue.py", 'await conn.execute("COMMIT")', 'await conn.execute("ROLLBACK")'),
    Mutant("2", "what did not come back as `sending` goes out too", f"{_SENDING}/session.py", 'for row in started if row.state == "sending")', "for row in started)"),
    Mutant("3", "a turn does not look at its lease", _TURN, "  PERFORM sendonce.hold_lease(batch, token);\n", ""),
    Mutant("3", "the lease is looked at without a lock", f"{_STORE}/migrations/0001_queue_and_ledger.sql", "WHERE id = batch AND lease_token = token FOR UPDATE;", "WHERE id = batch AND lease_token = token;"),
    Mutant("3", "the lock does not ask for the token", f"{_STORE}/migrations/0001_queue_and_ledger.sql", "WHERE id = batch AND lease_token = token FOR UPDATE;", "WHERE id = batch FOR UPDATE;"),
    Mutant("3", "an import's chunk does not look at its lease", f"{_STORE}/imports.py", '    await conn.execute(SQL["hold_lease"], {"batch": batch.id, "token": batch.token})', "    del conn, batch"),
    Mutant("3", "a session that lost its lease goes on handing off", f"{_SENDING}/session.py", "        self._lease.lose()\n", ""),
    Mutant("4", "a result does not say which attempt it ends", _TURN, " AND d.attempt_seq = r.seq", ""),
    Mutant("4", "a result may end what has ended", _TURN, "AND d.no = r.no AND d.state = 'sending' AND d.attempt_seq = r.seq", "AND d.no = r.no AND d.attempt_seq = r.seq"),
    Mutant("4", "the number does not grow", _TURN, "attempt_seq = d.attempt_seq + CASE WHEN a.obstacle IS NULL THEN 1 ELSE 0 END", "attempt_seq = 1"),
    Mutant("4", "a Retry sets the number back", f"{_SQL}/actions.sql", "SET state = 'pending', reason = NULL, code = NULL, error = NULL, finished_at = NULL, tries = 0,", "SET state = 'pending', reason = NULL, code = NULL, error = NULL, finished_at = NULL, tries = 0, attempt_seq = 0,"),
    Mutant("5", "answers that come after the lease was lost are dropped", f"{_SENDING}/session.py", "        await self._keep_evidence(self._done)\n", ""),
    Mutant("5", "answers that could not be written are dropped", f"{_SENDING}/session.py", "            await self._keep_evidence(unwritten)", "            pass"),
    Mutant("5", "a late acceptance settles no uncertain row", f"{_SQL}/queue.sql", "d.state IN ('uncertain', 'pending', 'sending')", "d.state IN ('pending', 'sending')"),
    Mutant("5", "a late acceptance settles no waiting row", f"{_SQL}/queue.sql", "d.state IN ('uncertain', 'pending', 'sending')", "d.state IN ('uncertain', 'sending')"),
    Mutant("5", "a late refusal leaves no trace", f"{_SQL}/queue.sql", "FROM answers a, held\n", "FROM answers a, held WHERE a.outcome = 'accepted'\n"),
    Mutant("5", "evidence does not outrank the answer to the repeat", _TURN, "SET state = CASE WHEN d.evidence THEN 'sent' ELSE r.state END", "SET state = r.state"),
    Mutant("5", "evidence is forgotten at a takeover", f"{_SQL}/queue.sql", "      WHEN d.evidence THEN 'sent'\n", ""),
    Mutant("6", "an unknown outcome is not remembered", _TURN, "maybe_accepted = d.maybe_accepted OR r.unknown", "maybe_accepted = d.maybe_accepted"),
    Mutant("6", "a later refusal takes it back", _TURN, "maybe_accepted = d.maybe_accepted OR r.unknown", "maybe_accepted = r.unknown"),
    Mutant("6", "a recovered attempt is not remembered", f"{_SQL}/queue.sql", "SET state = v.state, maybe_accepted = true,", "SET state = v.state, maybe_accepted = d.maybe_accepted OR v.state = 'uncertain',"),
    Mutant("6", "cancel and deadline say `never sent`", f"{_SQL}/conduct.sql", "SET state = CASE WHEN d.maybe_accepted THEN 'uncertain' ELSE %(state)s END", "SET state = %(state)s"),
    Mutant("6", "deadline and opt-out at the hand-off say `never sent`", _TURN, "WHEN d.maybe_accepted THEN 'uncertain'\n                          WHEN a.obstacle", "WHEN a.obstacle"),
    Mutant("6", "what can't be rendered says `never sent`", f"{_SQL}/queue.sql", "CASE WHEN d.maybe_accepted AND s.state <> 'pending' THEN 'uncertain' ELSE s.state END", "s.state"),
    Mutant("6", "exhausted attempts say `never sent`", f"{_SENDING}/outcomes.py", 'state = "uncertain" if attempt.maybe_accepted else "failed"', 'state = "failed"'),
    Mutant("6", "parking says `never sent`", f"{_SQL}/queue.sql", "SET state = CASE WHEN d.maybe_accepted THEN 'uncertain' ELSE 'failed' END,\n       reason = 'poison'", "SET state = 'failed',\n       reason = 'poison'"),
    Mutant("7", "a repeat goes out however old its key is", _TURN, "THEN 'key_window_passed'", "THEN NULL"),
    Mutant("7", "a repeat may end after the window", _TURN, "WHEN now() + make_interval(secs => patience) > d.key_first_used_at + make_interval(secs => key_window)\n                 THEN", "WHEN now() > d.key_first_used_at + make_interval(secs => key_window)\n                 THEN"),
    Mutant("7", "a takeover repeats however old the key is", f"{_SQL}/queue.sql", "        THEN CASE WHEN %(resend)s THEN 'pending' ELSE 'uncertain' END\n      ELSE 'pending' END AS state", "        THEN 'pending'\n      ELSE 'pending' END AS state"),
    Mutant("7", "the first use of a key is forgotten", _TURN, "WHEN d.key_first_used_at IS NULL THEN now()", "WHEN true THEN now()"),
    Mutant("7", "an ordered repeat may be repeated for ever", _TURN, "resend_ordered = false, next_attempt_at = NULL,", "next_attempt_at = NULL,"),
    Mutant("8", "5xx counts as refused", f"{_WORKER}/providers/http_api/answers.py", "StatusRule((range(500, 600),), Kind.UNKNOWN,", "StatusRule((range(500, 600),), Kind.TEMPORARY,"),
    Mutant("8", "409 counts as refused", f"{_WORKER}/providers/http_api/answers.py", "        (408, 409, 423, 424, 499),\n        Kind.UNKNOWN,", "        (408, 409, 423, 424, 499),\n        Kind.TEMPORARY,"),
    Mutant("8", "an unknown outcome is repeated without a key", f"{_SENDING}/outcomes.py", "safe = repeats.key_window is not None or repeats.resend", "safe = True"),
    Mutant("8", "a bug counts as a refusal", f"{_SENDING}/handoff.py", 'UnknownOutcomeError("bug"', 'TemporarySendError("bug"'),
    Mutant("9", "no look at the lease before the first byte", f"{_SENDING}/clock.py", "elif self.remaining() < self.patience:", "elif False:"),
    Mutant("9", "the lease counts from the answer", f"{_SENDING}/clock.py", "self.renewed_at, self._wall = asked_at", "self.renewed_at, self._wall = boot_clock(), asked_at.wall"),
    Mutant("9", "a renewal counts from its answer", f"{_SENDING}/session.py", "self._lease.renewed(asked_at)", "self._lease.renewed(Moment.now())"),
    Mutant("9", "clocks that disagree are believed", f"{_SENDING}/clock.py", "elif not self.clocks_agree():", "elif False:"),
    Mutant("9", "a pause before the answer is not seen", f"{_SENDING}/clock.py", "self.renewed_at, self._wall = asked_at", "self.renewed_at, self._wall = asked_at.boot, time.time()"),
    Mutant("9", "a clock that stops while the machine sleeps", f"{_SENDING}/clock.py", "time.clock_gettime(time.CLOCK_BOOTTIME)", "time.clock_gettime(time.CLOCK_MONOTONIC)"),
    Mutant("9", "the lease has no room for the time-out", f"{_SENDING}/plan.py", "return patience(timeout) + MISSED_HEARTBEATS * heartbeat", "return MISSED_HEARTBEATS * heartbeat"),
    Mutant("9", "the lease is not renewed while something is in flight", f"{_SENDING}/session.py", "return boot_clock() - self._lease.renewed_at >= self._around.heartbeat", "return False"),
    Mutant("10", "an expired lease is nobody's", f"{_SQL}/queue.sql", "b.state <> 'done' AND b.claimable_at <= now()\n           AND c.ended", "b.state = 'pending' AND b.claimable_at <= now()\n           AND c.ended"),
    Mutant("10", "stuck is judged by the start", f"{_SQL}/queue.sql", "   SET claimable_at = now() + make_interval(secs => %(lease)s), heartbeat_at = now()\n WHERE id", "   SET claimable_at = leased_at + make_interval(secs => %(lease)s), heartbeat_at = now()\n WHERE id"),
    Mutant("10", "a takeover leaves rows in `sending`", f"{_STORE}/queue.py", "            await recover(conn, batch, repeats[batch.channel])\n", "            pass\n"),
    Mutant("10", "a takeover repeats without a key", f"{_SQL}/queue.sql", "IS NULL THEN CASE WHEN %(resend)s THEN 'pending' ELSE 'uncertain' END", "IS NULL THEN 'pending'"),
    Mutant("10", "a takeover uses up no attempt", f"{_SQL}/queue.sql", "maybe_accepted = true, tries = d.tries + 1,", "maybe_accepted = true,"),
    Mutant("10", "a takeover resends at once without a key", f"{_SQL}/queue.sql", "now() + make_interval(secs => CASE WHEN %(key_window)s::float8 IS NULL THEN %(patience)s ELSE 0 END) END", "now() END"),
    Mutant("10", "a batch that kills its workers goes round for ever", f"{_STORE}/queue.py", "if batch.crashes >= MAX_CRASHES:", "if False:"),
    Mutant("10", "an import that kills its workers goes round for ever", f"{_STORE}/queue.py", "        if batch.crashes >= MAX_CRASHES:", "        if batch.kind != 'import' and batch.crashes >= MAX_CRASHES:"),
    Mutant("10", "a worker is known by its pod's name", f"{_WORKER}/settings.py", 'f"{os.uname().nodename}-{uuid.uuid4().hex[:16]}"', "os.uname().nodename"),
    Mutant("11", "release is decided without the lock", f"{_STORE}/queue.py", '            await conn.execute(SQL["hold_lease"], {"batch": batch.id, "token": batch.token})\n            cursor = await conn.execute(SQL["release"]', '            cursor = await conn.execute(SQL["release"]'),
    Mutant("11", "release believes that all is done", f"{_SQL}/queue.sql", "SET state = CASE WHEN open.rows = 0 THEN 'done' ELSE 'pending' END", "SET state = 'done'"),
    Mutant("11", "release does not count what is in `sending`", f"{_SQL}/queue.sql", "WHERE d.batch_id = %(batch)s AND d.state IN ('pending', 'sending')) open", "WHERE d.batch_id = %(batch)s AND d.state IN ('pending')) open"),
    Mutant("11", "Retry does not reopen the batch", f"{_STORE}/actions.py", '    await conn.execute(SQL["reopen_batch"], parameters)\n', ""),
    Mutant("11", "Retry takes the batch away from its holder", f"{_SQL}/actions.sql", "SET state = CASE WHEN state = 'done' THEN 'pending' ELSE state END,\n       claimable_at = CASE WHEN state = 'leased' THEN claimable_at\n", "SET state = CASE WHEN state = 'done' THEN 'pending' ELSE state END,\n       claimable_at = CASE WHEN state = 'leased' THEN now()\n"),
    Mutant("12", "groups ahead without keys", f"{_SENDING}/plan.py", "if paced or key_window is None or key_window < SAFE_WINDOW_LEASES * lease:", "if paced:"),
    Mutant("12", "a group may be larger than what is in flight", f"{_SENDING}/session.py", "wanted = min(room, len(self._todo))", "wanted = len(self._todo) if room > 0 else 0"),
    Mutant("12", "an unclear commit is believed to have failed", f"{_SENDING}/session.py", "        self._begin(mine, [rows[one.row.no] for one in mine])\n", ""),
    Mutant("12", "an unclear commit is believed to have held", f"{_SENDING}/session.py", "self._done = [r for r in turn.results if _still_open(rows.get(r.no), r.seq)] + self._done", "pass"),
    Mutant("13", "SIGTERM stops at once", f"{_WORKER}/main.py", "        worker.drain()\n", "        work.cancel()\n", "asked_to_go"),
    Mutant("13", "SIGTERM waits for the whole batch", f"{_WORKER}/loop.py", "        for session in self._sessions:\n            session.drain()\n", "", "asked_to_go"),
    Mutant("13", "SIGTERM leaves the batch to its lease", f"{_SENDING}/session.py", "            await self._around.link.insist(lambda conn: release(conn, self._batch))\n", "", "asked_to_go"),
    Mutant("13", "the second SIGTERM waits too", f"{_WORKER}/main.py", "            work.cancel()\n            return\n", "            return\n", "second_sigterm"),
    Mutant("13", "the grace period has no end", f"{_WORKER}/main.py", "        loop.call_later(max(0.0, settings.grace - GRACE_RESERVE), work.cancel)\n", "", "grace_period"),
    Mutant("14", "Retry takes uncertain rows", f"{_SQL}/actions.sql", " AND d.state IN ('failed', 'expired', 'cancelled')\n", "\n"),
    Mutant("14", "Resolve takes any row", f"{_SQL}/actions.sql", "   SET state = %(state)s, reason = 'resolved', finished_at = now()\n WHERE d.batch_id = %(batch)s AND d.no = ANY (%(nos)s) AND d.state = 'uncertain'", "   SET state = %(state)s, reason = 'resolved', finished_at = now(), next_attempt_at = NULL\n WHERE d.batch_id = %(batch)s AND d.no = ANY (%(nos)s)"),
    Mutant("14", "Resend does not wait for the attempt's end", f"{_SQL}/actions.sql", "         now(), d.last_attempt_at + make_interval(secs => %(patience)s),\n         CASE", "         now(),\n         CASE"),
    Mutant("14", "Resend does not wait for a process that vanished", f"{_SQL}/actions.sql", "CASE WHEN d.reason = 'recovered' THEN", "CASE WHEN false THEN"),
    Mutant("14", "Resend waits for a process that is known to be gone", f"{_SQL}/actions.sql", " AND w.stopped_at IS NULL) END)", ") END)"),
    Mutant("14", "an ordered repeat opens the way for more", _TURN, "resend_ordered = false, next_attempt_at = NULL,", "next_attempt_at = NULL,"),
    Mutant("15", "deleting does not wait for the lease", f"{_STORE}/deletion.py", '    if lease is not None and lease["seconds"] is not None:', "    if False:"),
    Mutant("15", "deleting takes what was renewed in the last moment", f"{_SQL}/deletion.sql", " AND (state <> 'leased' OR claimable_at <= now()) FOR UPDATE", " FOR UPDATE"),
    Mutant("15", "deleting calls what is in `sending` cancelled", f"{_SQL}/deletion.sql", "WHEN d.state = 'sending' OR d.maybe_accepted THEN 'uncertain'", "WHEN d.maybe_accepted THEN 'uncertain'"),
    Mutant("15", "deleting leaves rows open", f"{_STORE}/deletion.py", '        await conn.execute(SQL["settle"], here)\n', ""),
    Mutant("15", "who is imported after a cancel is sent to", f"{_STORE}/import_rows.py", "        if self.cancelled:\n", "        if False:\n"),
    Mutant("claim", "whichever batch comes first", f"{_SQL}/queue.sql", "         ORDER BY b.claimable_at\n         LIMIT 1", "         LIMIT 1"),
    Mutant("claim", "a locked batch is waited for", f"{_SQL}/queue.sql", "           FOR UPDATE OF b SKIP LOCKED) due", "           FOR UPDATE OF b) due"),
    Mutant("claim", "a batch is claimed before it is due", f"{_SQL}/queue.sql", "b.state <> 'done' AND b.claimable_at <= now()\n           AND c.ended", "b.state <> 'done'\n           AND c.ended"),
    Mutant("claim", "suspend and halt are not looked at", f"{_SQL}/queue.sql", "ELSE NOT c.suspended AND c.halt_reason IS NULL END", "ELSE true END"),
    Mutant("claim", "startAt is not looked at", f"{_SQL}/queue.sql", " OR c.start_at IS NULL OR c.start_at <= now())", " OR true)"),
    Mutant("claim", "a cancel is not looked at", f"{_SQL}/queue.sql", "WHEN c.cancelled_at IS NOT NULL THEN b.kind = 'import'", "WHEN false THEN b.kind = 'import'"),
    Mutant("claim", "a cancel ends the import", f"{_SQL}/queue.sql", "WHEN c.cancelled_at IS NOT NULL THEN b.kind = 'import'", "WHEN c.cancelled_at IS NOT NULL THEN false"),
    Mutant("claim", "a group of a stopped campaign is begun", _TURN, "         AND NOT c.suspended AND c.halt_reason IS NULL AND c.cancelled_at IS NULL\n", ""),
    Mutant("claim", "a group of a paused provider is begun", _TURN, "         AND NOT p.suspended AND (p.paused_until IS NULL OR p.paused_until <= now())\n    ), begun", "\n    ), begun"),
    Mutant("consent", "suppressions are not looked at", _TURN, "THEN 'suppression_list'", "THEN NULL"),
    Mutant("consent", "opt-outs are not looked at", _TURN, "THEN 'opted_out'", "THEN NULL"),
    Mutant("consent", "an opt-out holds for every category", _TURN, "AND o.category = c.category AND o.topic", "AND o.topic"),
    Mutant("consent", "an opt-out of a topic holds for all", _TURN, " AND o.topic IN ('', coalesce(c.topic, ''))", ""),
    Mutant("consent", "an opt-out of the category leaves its topics", _TURN, "o.topic IN ('', coalesce(c.topic, ''))", "o.topic IN (coalesce(c.topic, ''))"),
    Mutant("consent", "a suppression holds in every namespace", _TURN, "WHERE s.namespace = d.namespace AND s.channel", "WHERE s.channel"),
    Mutant("fallbacks", "a turn adds no fallbacks", f"{_STORE}/queue.py", "    for fallback in terms.fallbacks:\n", "    for fallback in ():\n"),
    Mutant("fallbacks", "a settled batch adds no fallbacks", f"{_STORE}/conduct.py", 'if state != "cancelled":', "if False:"),
    Mutant("fallbacks", "resolved as failed does not fall back", f"{_STORE}/actions.py", "            await add_fallbacks(conn, target.campaign_id, batch)\n", ""),
    Mutant("fallbacks", "who falls back may do so twice", f"{_SQL}/fallbacks.sql", "ON CONFLICT (campaign_id, channel, address) DO NOTHING;", ";"),
    Mutant("fallbacks", "a fallback batch that was done stays so", f"{_SQL}/fallbacks.sql", "SET state = CASE WHEN batches.state = 'done' THEN 'pending' ELSE batches.state END", "SET state = batches.state"),
    Mutant("fallbacks", "a retry repeats whom the fallback reached", f"{_SQL}/actions.sql", "AND f.state IN ('pending', 'sending', 'sent', 'uncertain')", "AND f.state IN ('pending', 'sending', 'uncertain')"),
    Mutant("actions", "a name counts each time", f"{_STORE}/actions.py", '    if row["finished_at"] is not None:', "    if False:"),
    Mutant("actions", "an order that dies begins anew", f"{_SQL}/actions.sql", ", after_batch = %(batch)s", ""),
    Mutant("actions", "reasons are not looked at", f"{_SQL}/actions.sql", "   AND (%(reasons)s::text[] IS NULL OR d.reason = ANY (%(reasons)s))\n", ""),
    Mutant("actions", "codes are not looked at", f"{_SQL}/actions.sql", "   AND (%(codes)s::text[] IS NULL OR d.code = ANY (%(codes)s))\n", ""),
    Mutant("actions", "channels are not looked at", f"{_SQL}/actions.sql", "   AND (%(channels)s::text[] IS NULL OR d.channel = ANY (%(channels)s))\n", ""),
    Mutant("actions", "a campaign that had ended stays so", f"{_SQL}/actions.sql", "   SET ended = NULL, ended_reason = NULL, ended_message = NULL, completed_at = NULL,\n       cancelled_at", "   SET cancelled_at"),
    Mutant("actions", "a retry leaves the cancel", f"{_SQL}/actions.sql", "CASE WHEN %(uncancel)s THEN NULL ELSE cancelled_at END", "cancelled_at"),
    Mutant("actions", "resume leaves the breaker's base", f"{_SQL}/campaigns.sql", "SET halt_reason = NULL, halt_message = NULL, base_failed = n.failed, base_final = n.final", "SET halt_reason = NULL, halt_message = NULL"),
    Mutant("conduct", "the end is told from the counters", f"{_STORE}/conduct.py", '    if row is None or row["open"]:\n        return False\n', ""),
    Mutant("conduct", "two conductors at a time wait for each other", f"{_SQL}/conduct.sql", "AND ended IS NULL FOR NO KEY UPDATE SKIP LOCKED", "AND ended IS NULL FOR NO KEY UPDATE"),
    Mutant("conduct", "the canary is the first lines", f"{_SQL}/conduct.sql", " GROUP BY recipient_no ORDER BY min(key::text) LIMIT %(people)s", " GROUP BY recipient_no ORDER BY recipient_no LIMIT %(people)s"),
    Mutant("conduct", "the rest does not wait for the canary", f"{_SQL}/imports.sql", "CASE WHEN c.held OR c.rollout_stage = 'importing' THEN 'infinity' ELSE now() END", "now()"),
    Mutant("conduct", "promotion releases nobody", f"{_STORE}/conduct.py", '    await conn.execute(SQL["release_held"], {"campaign": campaign_id})\n', ""),
    Mutant("conduct", "settling does not wait for the holder's turn", f"{_STORE}/conduct.py", '        await conn.execute(SQL["lock_batch"], parameters)\n', ""),
    Mutant("imports", "duplicates are not counted", f"{_STORE}/imports.py", '"duplicates": chunk.taken - len(chunk.people)', '"duplicates": 0'),
    Mutant("imports", "the last line wins", f"{_STORE}/import_rows.py", "                if identity not in rows:\n", "                if True:\n"),
    Mutant("imports", "who is left with no delivery stays", f"{_STORE}/import_rows.py", " if line in kept}", "}"),
    Mutant("imports", "a fallback row that came between ends the import", f"{_STORE}/imports.py", "if error.diag.constraint_name != NOBODY_TWICE or not more:", "if True:"),
    Mutant("imports", "the cursor is not kept", f"{_SQL}/imports.sql", "   SET cursor = %(cursor)s, claimable_at", "   SET claimable_at"),
    Mutant("imports", "people without an address are dropped", f"{_STORE}/import_rows.py", "        return new or not reachable\n", "        return new\n"),
    Mutant("imports", "numbers beyond 64 bits are lost", f"{_STORE}/import_rows.py", "        return _encode(value).encode()\n", '        return b"{}"\n'),
    Mutant("imports", "a spool of a run that died stays", f"{_STORE}/imports.py", "        if first_line == 1:\n", "        if False:\n"),
    Mutant("pace", "slots are given out up to the whole burst", f"{_STORE}/migrations/0001_queue_and_ledger.sql", "(l.burst + 1) / 2 AS ahead", "l.burst AS ahead"),
    Mutant("pace", "slots that were given out are not counted", f"{_STORE}/migrations/0001_queue_and_ledger.sql", "     SET tat = greatest(l.tat, t) + make_interval(secs => granted * l.period_seconds::float8 / l.messages)", "     SET tat = l.tat"),
    Mutant("pace", "askers do not wait for each other", f"{_STORE}/migrations/0001_queue_and_ledger.sql", "  PERFORM 1 FROM sendonce.pace_limits l WHERE l.provider_id = provider ORDER BY l.no FOR UPDATE;\n", ""),
    Mutant("pace", "one limit of several is enough", f"{_STORE}/migrations/0001_queue_and_ledger.sql", "greatest(0, max(l.backlog + (k - l.ahead) * l.step)) AS delay", "greatest(0, min(l.backlog + (k - l.ahead) * l.step)) AS delay"),
    Mutant("pace", "priorities are not looked at", f"{_STORE}/migrations/0001_queue_and_ledger.sql", "s.priority > asker\n", "s.priority > asker AND false\n"),
    Mutant("pace", "an edit gives a fresh burst", f"{_SQL}/campaigns.sql", "SET messages = excluded.messages, period_seconds = excluded.period_seconds, burst = excluded.burst", "SET messages = excluded.messages, period_seconds = excluded.period_seconds, burst = excluded.burst, tat = '-infinity'"),
    Mutant("pace", "a pause may be shortened", f"{_SQL}/pace.sql", "   SET paused_until = greatest(paused_until, now() + make_interval(secs => coalesce(\n         %(retry_after)s::float8, least(%(longest)s, %(first)s * power(2, least(pauses_in_row, 20)))))),\n       pauses_in_row = pauses_in_row + CASE WHEN paused_until > now() THEN 0 ELSE 1 END,\n       pause_code = %(code)s, pause_message = %(message)s, updated_at = now()\n WHERE id = %(provider)s\n   AND (paused_until IS NULL OR paused_until <= now()\n        OR now() + make_interval(secs => coalesce(%(retry_after)s::float8, 0)) > paused_until)\n", "   SET paused_until = (now() + make_interval(secs => coalesce(\n         %(retry_after)s::float8, least(%(longest)s, %(first)s * power(2, least(pauses_in_row, 20)))))),\n       pauses_in_row = pauses_in_row + CASE WHEN paused_until > now() THEN 0 ELSE 1 END,\n       pause_code = %(code)s, pause_message = %(message)s, updated_at = now()\n WHERE id = %(provider)s\n"),
    Mutant("pace", "a pause does not grow", f"{_SQL}/pace.sql", "power(2, least(pauses_in_row, 20))", "1"),
    Mutant("pace", "an acceptance leaves the pauses long", _TURN, "UPDATE sendonce.providers p SET pauses_in_row = 0", "UPDATE sendonce.providers p SET pauses_in_row = pauses_in_row"),
    Mutant("pace", "a throttled answer pauses nobody", f"{_WORKER}/alarms.py", "                seconds = await pace.pause(conn, plan.provider_id, error.retry_after, error.code, error.message)", "                seconds = 0.0"),
    Mutant("schema", "a state that is left is still counted", f"{_STORE}/migrations/0001_queue_and_ledger.sql", "UNION ALL SELECT batch_id, state, -count(*) FROM old_rows", "UNION ALL SELECT batch_id, state, 0 FROM old_rows"),
    Mutant("schema", "a failure without a reason", f"{_STORE}/migrations/0001_queue_and_ledger.sql", "(reason IS NOT NULL AND reason IN", "(reason IN"),
    Mutant("schema", "migrations don't wait for each other", f"{_STORE}/migrate.py", '        await conn.execute("SELECT pg_advisory_xact_lock(%s)", [ADVISORY_LOCK])\n', ""),
    Mutant("schema", "a newer schema is taken as it is", f"{_STORE}/migrate.py", "    if found > wanted:", "    if False:"),
    Mutant("session", "results wait for a heartbeat", f"{_SENDING}/session.py", "            self._loop.call_later(LINGER_SECONDS, self._wake.set)", "            pass"),
    Mutant("session", "quiet hours are not looked at", f"{_SENDING}/prepare.py", "    if plan.quiet is None:", "    if True:"),
    Mutant("session", "the deadline is not looked at", _TURN, "WHEN c.deadline <= now() THEN 'expired'", "WHEN false THEN 'expired'"),
    Mutant("session", "an account error burns an attempt", f"{_SENDING}/outcomes.py", 'return _again(attempt, error, "account", 0.0, used=0)', 'return _again(attempt, error, "account", 0.0, used=1)'),
    Mutant("session", "an account error stops nothing", f"{_WORKER}/alarms.py", '                await campaigns.halt(conn, self._campaign_id, "CredentialsRejected", message)', "                pass"),
    Mutant("session", "attempts never run out", f"{_SENDING}/outcomes.py", "    if attempt.tries + 1 >= rules.backoff.max_attempts:\n        return _final", "    if False:\n        return _final"),
    Mutant("session", "slots are not asked for", f"{_SENDING}/pacer.py", "        if not self.paced:\n            return wanted", "        if True:\n            return wanted"),
    Mutant("session", "draining begins what is left", f"{_SENDING}/session.py", "        self._todo.clear()\n", ""),
    Mutant("process", "a new Secret is not picked up", f"{_WORKER}/campaign.py", '        digest.update(f"{name}:{len(value)}:".encode() + value)', '        digest.update(f"{name}".encode())'),
    Mutant("process", "a store that goes away ends the worker", f"{_WORKER}/link.py", "STORE_ERRORS = (psycopg.Error, StoreUnavailableError)", "STORE_ERRORS = (psycopg.ProgrammingError,)"),
    Mutant("process", "no exit code of its own for the store", f"{_WORKER}/main.py", "CONFIGURATION, STORE, STOPPED_AT_ONCE = 2, 3, 143", "CONFIGURATION, STORE, STOPPED_AT_ONCE = 2, 2, 143"),
)  # fmt: skip
