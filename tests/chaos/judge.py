"""All rules over one run's evidence; and the rows and lines that belong to a violation, for whoever looks into it."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from tests.chaos import rules_books, rules_handoff, rules_wishes
from tests.chaos.evidence import Evidence, Violation, Who

Rule = Callable[[Evidence], Iterator[Violation]]
RULES: tuple[Rule, ...] = rules_handoff.RULES + rules_books.RULES + rules_wishes.RULES
# of one rule: the rest of a broken run says the same again
_MOST = 5


def judge(evidence: Evidence) -> list[Violation]:
    """Every violation, rule by rule."""
    return [violation for rule in RULES for violation in rule(evidence)]


def shortened(violations: list[Violation]) -> list[Violation]:
    """A few of each rule."""
    seen: dict[str, int] = {}
    kept = []
    for violation in violations:
        seen[violation.rule] = seen.get(violation.rule, 0) + 1
        if seen[violation.rule] <= _MOST:
            kept.append(violation)
    return kept


def exhibits(evidence: Evidence, who: Who) -> Iterator[str]:
    """Everything that is known of one delivery, in words."""
    delivery = evidence.by_who.get(who)
    if delivery is not None:
        shown = (
            "batch_id",
            "no",
            "state",
            "reason",
            "attempt_seq",
            "tries",
            "maybe_accepted",
            "evidence",
            "worker",
            "key_text",
        )
        yield "delivery  " + " ".join(f"{name}={delivery[name]}" for name in shown)
    for move in evidence.moves_of.get(who, []):
        yield (
            f"move      {move['moved']:.3f} (began {move['begun']:.3f}) {move['before']} -> {move['after']} "
            f"seq={move['seq']} reason={move['reason']} maybe={move['maybe_accepted']} ordered={move['ordered']} "
            f"by {move['writer']!r}"
        )
    noted = evidence.attempts_of.get((delivery["batch_id"], delivery["no"]), []) if delivery is not None else []
    for attempt in noted:
        yield (
            f"attempt   {attempt['at'].timestamp():.3f} seq={attempt['seq']} {attempt['outcome']} "
            f"late={attempt['late']} {attempt['code']} {attempt['message']} by {attempt['worker']}"
        )
    for row in evidence.hand_offs.get(who, []):
        arrived, lost = f"{row.ts:.3f} (arrived {row.arrived:.3f})", f"lost={row.answer_lost}"
        yield f"ledger    {arrived} {row.outcome} {row.cause} {lost} key={row.key}"
