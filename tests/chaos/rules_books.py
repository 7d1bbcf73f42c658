"""Rules about the books: the import, the counters, the end of the campaign.

In: the evidence of a run. Out: violations. Each rule is one function; its first line says what must hold.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from tests.chaos.audience import Person
from tests.chaos.evidence import Evidence, Record, Violation, Who, who_of

STATES = ("pending", "sending", "sent", "failed", "uncertain", "suppressed", "expired", "cancelled")
_OPEN = ("pending", "sending")


def campaign_ended(evidence: Evidence) -> Iterator[Violation]:
    """The campaign ends: every row is final, no batch is open, no lease is left."""
    if evidence.hung or evidence.campaign["ended"] is None:
        yield Violation("campaign ended", f"it did not end: {_standing(evidence)}")
    for batch in evidence.batches:
        if batch["state"] != "done" or batch["lease_token"] is not None:
            yield Violation("campaign ended", f"batch {batch['id']} ({batch['kind']}) is {batch['state']} at the end")
    for row in evidence.deliveries:
        if row["state"] in _OPEN:
            yield Violation("campaign ended", f"still {row['state']}", who_of(row))


def _standing(evidence: Evidence) -> str:
    campaign = evidence.campaign
    words = ("import_state", "rollout_stage", "suspended", "halt_reason", "cancelled_at", "held")
    states = Counter(row["state"] for row in evidence.deliveries)
    return ", ".join(f"{word}={campaign[word]}" for word in words) + f", deliveries {dict(states)}"


def done_is_done(evidence: Evidence) -> Iterator[Violation]:
    """No batch that is done has an open row."""
    done = {batch["id"] for batch in evidence.batches if batch["state"] == "done"}
    for row in evidence.deliveries:
        if row["state"] in _OPEN and row["batch_id"] in done:
            yield Violation("done is done", f"{row['state']} in batch {row['batch_id']}, which is done", who_of(row))


def counters_are_true(evidence: Evidence) -> Iterator[Violation]:
    """A batch's counters are the numbers of its rows; every row has a batch."""
    counted: dict[int, Counter[str]] = {}
    for row in evidence.deliveries:
        counted.setdefault(row["batch_id"], Counter())[row["state"]] += 1
    for batch in evidence.batches:
        rows = counted.pop(batch["id"], Counter())
        said = {state: batch[state] for state in STATES if batch[state] or rows[state]}
        if said != {state: rows[state] for state in said}:
            yield Violation("counters are true", f"batch {batch['id']} says {said}, its rows are {dict(rows)}")
    for lost in counted:
        yield Violation("counters are true", f"rows of batch {lost}, which is not there")


def lines_add_up(evidence: Evidence) -> Iterator[Violation]:
    """People + refused + duplicates are the lines of the list, each as the list has them."""
    campaign, people = evidence.campaign, evidence.people
    if campaign["ended_reason"] == "DeadlineBeforeImport":
        return
    if campaign["import_state"] != "done":
        yield Violation("lines add up", f"the import is {campaign['import_state']}: {campaign['import_message']}")
        return
    expected = {
        "total": len(people.people) + len(people.unreachable),
        "duplicates": people.duplicates,
        "rejected": len(people.rejected),
        "unreachable": len(people.unreachable),
    }
    said = {name: campaign[name] for name in expected}
    if said != expected:
        yield Violation("lines add up", f"the campaign says {said}, the list has {expected}")
    if campaign["total"] + campaign["duplicates"] + campaign["rejected"] != people.lines:
        yield Violation("lines add up", f"{said} are not {people.lines} lines")
    refused = [row["line"] for row in evidence.rejects]
    if sorted(refused) != sorted(people.rejected):
        yield Violation("lines add up", f"refused are {len(refused)} lines, not {len(people.rejected)}")


def everyone_once(evidence: Evidence) -> Iterator[Violation]:
    """Everyone of the list is there exactly once, with a delivery on each channel that is theirs."""
    if evidence.campaign["ended_reason"] == "DeadlineBeforeImport":
        return
    expected_people = {person.line for person in evidence.people.people} | set(evidence.people.unreachable)
    there = [row["no"] for row in evidence.recipients]
    if sorted(there) != sorted(expected_people):
        lost, more = expected_people - set(there), set(there) - expected_people
        yield Violation("everyone once", f"lines {sorted(lost)[:5]} are missing, {sorted(more)[:5]} are too many")
    seen = Counter(who_of(row) for row in evidence.deliveries)
    wanted = {who for person in evidence.people.people for who in _channels(evidence, person)}
    for who in wanted - set(seen):
        yield Violation("everyone once", "no delivery", who)
    allowed = wanted | {("SMS", person.phone) for person in evidence.people.people if evidence.scenario.sms == "after"}
    for who, times in seen.items():
        if times > 1 or who not in allowed:
            yield Violation("everyone once", f"{times} deliveries, {int(who in allowed)} expected", who)


def _channels(evidence: Evidence, person: Person) -> Iterator[Who]:
    """The deliveries that the import makes for a person."""
    if person.email:
        yield "Email", person.email
    if person.phone and (evidence.scenario.sms == "both" or (evidence.scenario.sms == "after" and not person.email)):
        yield "SMS", person.phone


def fallbacks_follow(evidence: Evidence) -> Iterator[Violation]:
    """Who failed by mail has a delivery by SMS, and who was reached by mail has none, unless somebody tried again."""
    if evidence.scenario.sms != "after":
        return
    for person in evidence.people.people:
        if not (person.email and person.phone):
            continue
        mail, text = evidence.by_who.get(("Email", person.email)), evidence.by_who.get(("SMS", person.phone))
        if mail is None:
            continue
        once_failed = any(move["after"] == "failed" for move in evidence.moves_of.get(("Email", person.email), []))
        if mail["state"] == "failed" and text is None:
            yield Violation("fallbacks follow", "failed, and no SMS was made of it", who_of(mail))
        if text is not None and not once_failed:
            yield Violation(
                "fallbacks follow", f"an SMS was made of it though it never failed: {mail['state']}", who_of(text)
            )


def verdict_is_true(evidence: Evidence) -> Iterator[Violation]:
    """The campaign's own last word fits its rows."""
    campaign: Record = evidence.campaign
    states = Counter(row["state"] for row in evidence.deliveries)
    reason = campaign["ended_reason"]
    undelivered = sum(states.values()) - states["sent"] + campaign["unreachable"]
    if reason == "AllSent" and undelivered and campaign["total"]:
        yield Violation("verdict is true", f"AllSent, with {dict(states)} and {campaign['unreachable']} unreachable")
    if reason == "Cancelled" and not any(wish.what == "cancel" for wish in evidence.wishes):
        yield Violation("verdict is true", "Cancelled, and nobody ordered it")


def no_worker_crashed(evidence: Evidence) -> Iterator[Violation]:
    """A worker ends when it is told to, not by a bug."""
    for words in evidence.crashes:
        yield Violation("no worker crashed", words)


RULES = (
    campaign_ended,
    done_is_done,
    counters_are_true,
    lines_add_up,
    everyone_once,
    fallbacks_follow,
    verdict_is_true,
    no_worker_crashed,
)
