"""A model that is written out and read again is the same model."""

from __future__ import annotations

import json
from datetime import UTC
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from sendonce_store.spec import (
    NotificationCampaign,
    NotificationProvider,
    SpecError,
    canonical_json,
    content_hash,
    load_documents,
    to_yaml,
)

NAMES = st.from_regex(r"[a-z]([-a-z0-9]{0,20}[a-z0-9])?", fullmatch=True)
# what YAML can carry; of the rest a reader knows nothing
TEXT = st.one_of(
    st.sampled_from(["y", "N", "22:00", "1e3", "~", "", ".inf", "a: b", "{{ x }}", "<<", "=", "a\n  b\n", " a", "#"]),
    # a few characters that YAML does not allow unescaped are left to the other tests
    st.text(st.characters(exclude_categories=["Cs", "Cc"], exclude_characters="\ufeff\ufffe\uffff"), max_size=60),
)
LINE = TEXT.filter(bool)
REF = st.fixed_dictionaries({"name": NAMES, "key": NAMES})
TIMES = st.datetimes(timezones=st.just(UTC)).map(lambda time: time.isoformat()).filter(lambda text: text[:4] > "0001")
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=8,
)


def some(**optional: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries({}, optional=optional)


def need(
    required: dict[str, st.SearchStrategy[Any]], **optional: st.SearchStrategy[Any]
) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries(required, optional=optional)


INLINE = need({"email": LINE}, phone=TEXT, timezone=TEXT, variables=st.dictionaries(LINE, JSON, max_size=3))
FILE_OPTIONS = {
    "format": st.sampled_from(["CSV", "NDJSON"]),
}
RECIPIENTS = st.one_of(
    need({"inline": st.lists(INLINE, min_size=1, max_size=3)}),
    need({"configMapKeyRef": REF, **FILE_OPTIONS}, maxRejectedPercent=st.integers(0, 100)),
    need({"secretKeyRef": REF, **FILE_OPTIONS}, compression=st.sampled_from(["None", "Gzip"])),
    need({"http": need({"urlSecretKeyRef": REF}), **FILE_OPTIONS}, expected=some(min=st.integers(0, 10**9))),
    need({"s3": need({"bucket": st.just("lists"), "key": NAMES}), **FILE_OPTIONS}),
    need({"postgres": need({"dsnSecretKeyRef": REF, "query": LINE})}),
    need({"mysql": need({"dsnSecretKeyRef": REF, "query": LINE})}),
)
TEMPLATE = need(
    {"subject": LINE, "text": TEXT}, replyTo=LINE, headers=st.dictionaries(NAMES, TEXT, max_size=2), **{"from": LINE}
)
PROVIDER_REF = need(
    {"name": NAMES},
    kind=st.sampled_from(["NotificationProvider", "ClusterNotificationProvider"]),
)
FIRST = need({"channel": st.just("Email"), "providerRef": PROVIDER_REF, "template": TEMPLATE})
SECOND = need(
    {"channel": st.sampled_from(["SMS", "Line", "Push"]), "providerRef": PROVIDER_REF, "template": TEMPLATE},
    after=need({"channel": st.just("Email")}, outcomes=st.just(["Suppressed"])),
)
MESSAGES = st.one_of(st.tuples(FIRST).map(list), st.tuples(FIRST, SECOND).map(list))
SPEC = need(
    {"category": st.just("Marketing"), "recipients": RECIPIENTS, "messages": MESSAGES},
    sendKey=NAMES,
    topic=NAMES,
    suspend=st.booleans(),
    schedule=st.one_of(
        need({"startAt": TIMES.map(lambda text: text.replace("+00:00", "+09:00"))}),
        need({"deadline": TIMES.map(lambda text: text.replace("+00:00", "Z"))}),
        need({"quietHours": st.just({"from": "21:00", "to": "09:00", "defaultTimezone": "Asia/Tokyo"})}),
    ),
    rollout=some(canary=some(percent=st.integers(1, 99), promotion=st.sampled_from(["Manual", "Automatic"]))),
    retry=some(maxAttempts=st.integers(1, 50), factor=st.integers(1, 100)),
    workers=some(
        max=st.integers(1, 1000),
        resources=some(limits=st.dictionaries(NAMES, st.sampled_from([2, "2", "500m", "1.5Gi"]), max_size=2)),
        tolerations=st.lists(some(key=NAMES, effect=st.just("NoSchedule")), max_size=2),
    ),
    ttlSecondsAfterFinished=st.integers(0, 2**31 - 1),
)
CAMPAIGNS = st.builds(
    lambda name, spec: NotificationCampaign.from_wire({"metadata": {"name": name}, "spec": spec}),
    NAMES,
    SPEC,
)
HTTP = need(
    {"url": NAMES.map(lambda n: f"https://{n}.example.com/")},
    headers=st.dictionaries(NAMES, TEXT, max_size=2),
    bodyTemplate=TEXT,
    messageIdPath=st.sampled_from(["data.id", "messages.0.id", "header:X-Message-Id"]),
    errorRules=st.lists(
        need({"as": st.sampled_from(["Permanent", "Account"]), "status": st.integers(100, 599)}, code=LINE),
        max_size=3,
    ),
)
PROVIDERS = st.builds(
    lambda name, spec: NotificationProvider.from_wire({"metadata": {"name": name}, "spec": spec}),
    NAMES,
    need(
        {"type": st.just("HTTP"), "http": HTTP},
        limits=st.lists(need({"messages": st.integers(1, 10**6), "periodSeconds": st.integers(1, 86400)}), max_size=3),
        timeoutSeconds=st.integers(1, 600),
    ),
)


@given(CAMPAIGNS | PROVIDERS)
@settings(max_examples=150, deadline=None)
def test_a_model_that_is_written_out_and_read_again_is_the_same(
    model: NotificationCampaign | NotificationProvider,
) -> None:
    wire = model.to_wire()
    as_json = canonical_json(model).decode()
    for text in (as_json, to_yaml(wire), json.dumps(wire, indent="\t")):
        (document,) = load_documents(text, "x.yaml")
        assert document.resource == model
        assert canonical_json(document.resource).decode() == as_json


@given(CAMPAIGNS)
@settings(max_examples=50, deadline=None)
def test_the_content_hash_does_not_depend_on_how_a_campaign_is_written(model: NotificationCampaign) -> None:
    short = model.model_dump(mode="json", by_alias=True, exclude_defaults=True)
    assert content_hash(NotificationCampaign.from_wire(short)) == content_hash(model)


@given(st.text(max_size=200) | st.binary(max_size=200))
@settings(max_examples=300, deadline=None)
def test_any_text_gives_documents_or_problems_and_nothing_else(text: str | bytes) -> None:
    try:
        load_documents(text, "x.yaml")
    except SpecError as error:
        assert error.problems  # noqa: PT017 - either way is right
