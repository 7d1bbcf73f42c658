"""What the console's pages of people and levers say, without a server."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from tests.operator_cases.situations import SENDING

from sendonce_console.levers.asking import fresh_name, read_name, read_selection, spec_of
from sendonce_console.levers.interface import Wish
from sendonce_console.levers.kubernetes import KubernetesLevers, action_body, given_of, notes_of, wish_body
from sendonce_console.levers.wording import LEVERS, promise
from sendonce_console.views.deadletters import order_view, selection_of, undo_of
from sendonce_console.views.filtering import read_limit, read_place
from sendonce_console.views.person import kept_from, levers_for
from sendonce_console.views.reasons import REASONS, answer, reason_in_words
from sendonce_console.views.searching import Hit, one_person, refusal, understand
from sendonce_console.web.problems import ProblemError
from sendonce_store.consent import OptOut, Suppression
from sendonce_store.console_deadletters import Group, PlacedOrder, Reach
from sendonce_store.ordering import order_of
from sendonce_store.spec import ActionSpec, DeliveryReason

NOW = datetime(2026, 12, 1, 9, 30, tzinfo=UTC)


# --- search ----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("text", "email", "prefix"),
    [
        ("Mia@Example.com", "mia@example.com", "mia@example.com"),
        ("mia", None, "mia"),
        ("mi", None, None),
        ("+1 (500) 555-0006", None, "+1 (500) 555-0006"),
    ],
)
def test_a_text_is_understood_as_the_import_writes_it(text: str, email: str | None, prefix: str | None) -> None:
    found = understand(text)
    assert found.addresses.get("Email") == email
    assert found.prefixes.get("Email") == prefix


def test_a_number_may_be_begun_as_people_write_it() -> None:
    assert understand("+1 (500) 555").prefixes["SMS"] == "+1500555"
    assert understand("+1 (500) 555-0006").addresses["SMS"] == "+15005550006"
    assert "SMS" not in understand("mia").prefixes


@pytest.mark.parametrize(
    ("text", "words"),
    [("", "Give an address"), ("x" * 321, "321 characters long"), ("a\x00", "control character"), ("mia", None)],
)
def test_what_can_not_be_looked_for_is_told(text: str, words: str | None) -> None:
    refused = refusal(text)
    assert (refused is None) if words is None else (refused is not None and words in refused)


def hit(line: int, *addresses: str, namespace: str = "shop", ref: str = "c1") -> Hit:
    return Hit(namespace, f"c{line}", "c", line, ref, [("Email", one) for one in addresses])


def test_an_id_alone_makes_nobody_the_same_person() -> None:
    assert one_person([]) is None
    assert one_person([hit(1, "a@x"), hit(2, "a@x")]) == hit(1, "a@x")
    assert one_person([hit(1, "a@x"), hit(2, "b@x"), hit(3, "a@x", "b@x")]) == hit(1, "a@x")
    assert one_person([hit(1, "a@x"), hit(2, "b@x")]) is None
    assert one_person([hit(1, "a@x"), hit(1, "a@x", namespace="bank")]) is None


@pytest.mark.parametrize("text", ["x", "1-", "1-2-3", "\u0661-1", "9" * 20 + "-1", "1-" + "9" * 10])
def test_a_place_that_no_list_gave_is_refused(text: str) -> None:
    with pytest.raises(ProblemError, match="after: is no place in a list"):
        read_place(text)
    assert read_place("12-500") == (12, 500)


@pytest.mark.parametrize("text", ["0", "501", "-1", "1e3", "\u0661"])
def test_a_limit_that_can_not_be_is_refused(text: str) -> None:
    with pytest.raises(ProblemError, match="limit: "):
        read_limit(text)
    assert (read_limit("500"), read_limit("")) == (500, 100)


# --- words -----------------------------------------------------------------------------------------------------------
def test_every_reason_of_an_order_is_told_in_words() -> None:
    for reason in DeliveryReason:
        snake = "".join(f"_{c.lower()}" if c.isupper() else c for c in reason.value).strip("_")
        assert snake in REASONS, reason
    assert reason_in_words("failed", "brand_new") == "Reason: brand_new."


@pytest.mark.parametrize(
    ("state", "reason", "title", "sentence"),
    [
        ("sent", None, "Sent on 2026-12-01 09:30:00 UTC", "The provider accepted it over smtp."),
        ("failed", "permanent", "Not sent: failed on 2026-12-01 09:30:00 UTC", "The far end refused it for good."),
        ("suppressed", "opted_out", "Not sent: suppressed on 2026-12-01 09:30:00 UTC", "The person has opted out."),
        ("pending", "quiet_hours", "Not sent yet", "It is night where this person lives"),
        ("uncertain", "recovered", "Uncertain since 2026-12-01 09:30:00 UTC", "its worker was lost"),
        ("sending", None, "On its way", "It is being handed over over smtp now."),
    ],
)
def test_the_answer_is_one_look_away(state: str, reason: str | None, title: str, sentence: str) -> None:
    said = answer(state, reason, at=NOW, provider="smtp")
    assert said[0] == title
    assert sentence in said[1]


def test_what_may_have_arrived_says_so() -> None:
    for state in ("failed", "pending"):
        assert "may have arrived" in answer(state, None, at=NOW, provider=None, maybe_accepted=True)[1]


def test_only_what_an_order_has_suppressed_can_be_lifted_by_one() -> None:
    entries = [
        Suppression("Email", "a@x", "blocked", "order out by mia", NOW),
        Suppression("Email", "b@x", "bounced", "order out by mia", NOW),
        Suppression("Email", "c@x", "blocked", None, NOW),
    ]
    assert [one.lifts for one in kept_from(entries, [])] == [True, False, False]
    (wish,) = kept_from([], [OptOut("Email", "a@x", "Marketing", "news", "a form", NOW)])
    assert (wish.words, wish.source, wish.lifts) == ("Opted out of Marketing, topic news", "a form", False)


# --- levers ----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("state", ["failed", "expired", "cancelled", "uncertain", "sent", "suppressed", "pending"])
def test_a_lever_that_is_offered_takes_the_state_it_is_offered_for(state: str) -> None:
    for key in levers_for(state):
        lever = LEVERS[key]
        chosen = {"recipients": ["line:2"]} | ({} if key == "suppress" else {"states": [state.capitalize()]})
        assert order_of("a", spec_of(lever, "spring", chosen)).selection.recipients == ["line:2"]


@pytest.mark.parametrize("key", LEVERS)
def test_every_lever_says_what_it_will_do_and_whether_that_can_be_undone(key: str) -> None:
    lever = LEVERS[key]
    reach = Reach(1200, 1100, 3, missing=1) if lever.takes_rows else None
    said = " ".join(promise(lever, replace(SENDING, halt_message="too many failed"), reach))
    assert said
    assert lever.undo
    if lever.takes_rows:
        assert "1,200 deliveries" in said
        assert "1 recipient named are not in this campaign" in said


def test_a_resend_says_how_many_it_may_reach_twice() -> None:
    said = promise(LEVERS["resend"], SENDING, Reach(3, 2, 3))
    assert said[1] == "It may reach 2 people twice: the first message may have arrived."
    least = promise(LEVERS["resend"], SENDING, Reach(3, 1, 3, at_least=True))
    assert least[0].startswith("At least 3 deliveries")
    assert "at least 1 person twice" in least[1]


def test_a_retry_says_who_may_get_it_twice() -> None:
    assert any("2 of them may have arrived before" in one for one in promise(LEVERS["retry"], SENDING, Reach(5, 5, 2)))
    assert not any("twice" in one for one in promise(LEVERS["retry"], SENDING, Reach(5, 5, 0)))


def test_why_a_campaign_was_stopped_is_told_without_the_address_that_the_far_end_quoted() -> None:
    stopped = replace(SENDING, halt_message="Email over smtp: 5.7.1: 550 5.7.1 <ann@example.com>: Relay access denied")
    said = " ".join(promise(LEVERS["resume"], stopped, None))
    assert "Relay access denied" in said
    assert "ann@example.com" not in said


def test_a_selection_is_read_in_the_words_of_both() -> None:
    given = {"states": ["failed", "Failed"], "reasons": ["retries_exhausted", ""], "codes": ["5.1.1"], "other": ["x"]}
    assert read_selection(given) == {"states": ["Failed"], "reasons": ["RetriesExhausted"], "codes": ["5.1.1"]}


def test_a_lever_without_a_state_takes_those_it_is_made_for() -> None:
    assert order_of("a", spec_of(LEVERS["retry"], "spring", {})).selection.states == ["failed"]
    assert order_of("a", spec_of(LEVERS["sent"], "spring", {})).selection.states == ["uncertain"]
    with pytest.raises(ProblemError, match="must name recipients or states"):
        spec_of(LEVERS["suppress"], "spring", {})


def test_an_order_has_a_name_that_an_object_can_have() -> None:
    for lever in LEVERS.values():
        name = fresh_name(lever)
        assert read_name(name) == name
    for bad in ("", "A", "-a", "a-", "a" * 64, "a/b", "a\n"):
        with pytest.raises(ProblemError):
            read_name(bad)


def group(**changes: Any) -> Group:
    return replace(Group("failed", "Email", "permanent", "5.1.1", 3, "550", 9, NOW), **changes)


def test_a_group_is_selected_by_what_an_action_can_say() -> None:
    assert selection_of(group()) == {
        "states": ["Failed"], "channels": ["Email"], "reasons": ["Permanent"], "codes": ["5.1.1"],
    }  # fmt: skip
    assert "reasons" not in selection_of(group(reason="brand_new"))
    assert "codes" not in selection_of(group(code=None))


def test_an_order_is_told_with_who_and_of_what() -> None:
    spec = {"states": ["uncertain"], "resolveAs": "sent", "recipients": ["ada"], "requestedBy": "mia", "limit": 5}
    view = order_view(PlacedOrder("a", "Resolve", spec, 1, 1, "1 of 1 deliveries changed", NOW, NOW))
    assert (view.title, view.who, view.about) == ("Resolved as sent", "mia", "uncertain · 1 recipient · 5 at most")
    unknown = order_view(PlacedOrder("a", "Retry", {"requestedBy": 1}, 0, 3, None, NOW, None))
    assert (unknown.who, unknown.result) == (
        "by kubectl, a pipeline or the command line", "Under way: 3 changed so far.",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "spec", "lever", "selection"),
    [
        ("Suppress", {"recipients": ["line:2"], "channels": ["Email"], "states": None}, "unsuppress",
         {"recipients": ["line:2"], "channels": ["Email"]}),
        ("Unsuppress", {"states": ["failed"], "reasons": ["permanent"]}, "suppress",
         {"states": ["failed"], "reasons": ["permanent"]}),
        ("Suspend", {}, "go-on", {}),
        ("GoOn", {}, "suspend", {}),
        ("Cancel", {}, "retry", {"states": ["cancelled"], "reasons": ["cancelled"]}),
        ("Resolve", {"resolveAs": "failed", "recipients": ["a"]}, "retry",
         {"recipients": ["a"], "states": ["failed"], "reasons": ["resolved"]}),
    ],
)  # fmt: skip
def test_what_can_be_taken_back_says_by_which_lever(kind: str, spec: Any, lever: str, selection: Any) -> None:
    order = PlacedOrder("a", kind, spec, 1, 1, "", NOW, NOW)
    assert undo_of(order) == (lever, selection)
    if selection:
        spec_of(LEVERS[lever], "spring", read_selection(selection))


@pytest.mark.parametrize(("kind", "spec"), [("Retry", {}), ("Resolve", {"resolveAs": "sent"}), ("Promote", {})])
def test_what_can_not_be_taken_back_offers_nothing(kind: str, spec: Any) -> None:
    assert undo_of(PlacedOrder("a", kind, spec, 1, 1, "", NOW, NOW)) is None


# --- in a cluster ----------------------------------------------------------------------------------------------------
def test_an_action_names_who_asked_and_no_more_of_the_name_than_fits() -> None:
    spec = ActionSpec.from_wire({"campaignRef": {"name": "spring"}, "type": "Retry"})
    body = action_body("m" * 300, SENDING, "again", spec)
    assert body["metadata"]["annotations"] == {"sendonce.dev/requested-by": "m" * 255}
    assert (body["kind"], body["metadata"]["namespace"]) == ("NotificationAction", SENDING.namespace)


@pytest.mark.parametrize("wish", Wish)
def test_a_wish_is_signed_and_read_back(wish: Wish) -> None:
    body = wish_body("mia by night", wish, NOW)
    (note,) = notes_of(body)
    assert (note.what, note.who, note.at) == (wish.value, "mia by night", NOW)


class Objects:
    """An API server with one campaign's object, which writes down what it is asked to change."""

    def __init__(self, send_key: str | None) -> None:
        metadata = {"name": SENDING.name, "uid": "u1", **wish_body("mia", Wish.SUSPEND, NOW)["metadata"]}
        self.body = {"metadata": metadata, "spec": {} if send_key is None else {"sendKey": send_key}}
        self.changes: list[Any] = []

    async def get(self, path: str) -> Any:
        assert path.endswith(f"/namespaces/{SENDING.namespace}/notificationcampaigns/{SENDING.name}")
        return self.body

    async def create(self, path: str, body: Any) -> Any:
        self.changes.append(body)

    async def patch(self, path: str, body: Any) -> Any:
        self.changes.append(body)


async def test_an_order_for_a_campaign_never_reaches_the_next_one_of_its_name() -> None:
    last_months: Any = Objects("next-month")
    levers = KubernetesLevers(last_months)
    spec = ActionSpec.from_wire({"campaignRef": {"name": SENDING.name}, "type": "Retry"})
    for asked in (levers.order("mia", SENDING, "again", spec), levers.wish("mia", SENDING, Wish.CANCEL)):
        with pytest.raises(ProblemError, match=r"another campaign's now: .* now sends next-month") as refused:
            await asked
        assert refused.value.status == 409
    assert await levers.wishes(SENDING) == ()
    assert last_months.changes == []


@pytest.mark.parametrize("send_key", [None, SENDING.send_key])
async def test_an_order_goes_to_the_campaigns_own_object(send_key: str | None) -> None:
    own: Any = Objects(send_key)
    levers = KubernetesLevers(own)
    spec = ActionSpec.from_wire({"campaignRef": {"name": SENDING.name}, "type": "Retry"})
    await levers.order("mia", SENDING, "again", spec)
    await levers.wish("mia", SENDING, Wish.CANCEL)
    action, wish = own.changes
    assert action["kind"] == "NotificationAction"
    assert (wish["metadata"]["uid"], wish["spec"]) == ("u1", {"cancel": True})
    assert [note.who for note in await levers.wishes(SENDING)] == ["mia"]


async def test_nothing_is_wished_of_a_campaign_that_has_ended() -> None:
    own: Any = Objects(None)
    ended = replace(SENDING, ended="complete", ended_reason="SomeUndelivered")
    with pytest.raises(ProblemError, match="has ended"):
        await KubernetesLevers(own).wish("mia", ended, Wish.CANCEL)
    assert own.changes == []


@pytest.mark.parametrize("text", ["", "suspend", "suspend at noon by mia", "explode at 2026-12-01T00:00:00+00:00 by x"])
def test_an_annotation_that_is_not_ours_says_nothing(text: str) -> None:
    assert notes_of({"metadata": {"annotations": {"sendonce.dev/wished-by": text}}}) == ()
    assert notes_of({}) == ()


def test_what_an_actions_status_says() -> None:
    def status(kind: str, **more: str) -> dict[str, Any]:
        return {"status": {"conditions": [{"type": kind, "status": "True", **more}]}}

    assert given_of("a", status("Stalled", reason="NotApplicable", message="gone")).refused == "NotApplicable: gone"
    assert given_of("a", status("Complete", message="2 of 2 deliveries changed")).message.startswith("2 of 2")
    assert given_of("a", {}) == given_of("a", {"status": None})
