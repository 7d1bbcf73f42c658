"""What is known of the named far ends, and the pieces that they are made of; no sockets."""

from __future__ import annotations

import json
import tomllib
from base64 import b64decode, urlsafe_b64decode
from datetime import UTC, datetime
from email import charset
from functools import cache
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from tests.far_ends.all import FACES
from tests.far_ends.face import Face, Reply
from tests.far_ends.push import WebPushFace, ec_key, pem

from sendonce_rendering.content import Content
from sendonce_store.spec.channels import CHANNELS_OF_TYPE, ProviderType
from sendonce_store.spec.crd.definitions import schema_of
from sendonce_store.spec.crd.kinds import RESOURCES
from sendonce_store.spec.far_ends import BLOCKS
from sendonce_store.spec.named_messaging import LineProvider
from sendonce_worker.providers import named
from sendonce_worker.providers.api.base import Api, Credentials
from sendonce_worker.providers.api.batch import Bounds, Part, bundled
from sendonce_worker.providers.api.email import ascii_mailbox, mailbox, mailboxes
from sendonce_worker.providers.api.hosts import AllowedHosts
from sendonce_worker.providers.api.sealing import seal_with
from sendonce_worker.providers.api.sigv4 import AwsKeys, Signer
from sendonce_worker.providers.api.sms import fits_gsm_7
from sendonce_worker.providers.api.table import DEFAULTS, Reading, Row, classify
from sendonce_worker.providers.base import Accepted, Message
from sendonce_worker.providers.errors import Kind, PermanentSendError, ProviderConfigError
from sendonce_worker.providers.http1.connection import Answer
from sendonce_worker.providers.named.standard_webhooks import signature
from sendonce_worker.providers.registry import FACTORIES, NAMED, api_of, build_provider, facts_of
from sendonce_worker.providers.secrets_text import as_text

IDS = [kind.type for kind in FACES]
NOW = datetime(2026, 12, 1, tzinfo=UTC)


@cache
def api(name: str) -> Api:
    face = next(kind for kind in FACES if kind.type == name)()
    made = api_of(face.spec().type)
    return made(face.spec(), Credentials(as_text(face.secret()), made.facts))


def answer_of(reply: Reply, *, complete: bool = True) -> Answer:
    body = reply.body if isinstance(reply.body, bytes) else json.dumps(reply.body).encode()
    pairs = [line.partition(": ") for line in reply.headers]
    return Answer(reply.status, [(name.encode(), value.encode()) for name, _, value in pairs], body, complete)


def test_every_type_can_be_built_and_has_a_face() -> None:
    assert set(FACTORIES) == set(ProviderType)
    assert {kind.type for kind in FACES} == {kind.value for kind in NAMED}
    assert set(CHANNELS_OF_TYPE) == set(ProviderType)


def test_every_module_is_in_the_contract_of_independence() -> None:
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text("utf-8"))
    contracts = {one["name"]: one for one in project["tool"]["importlinter"]["contracts"]}
    modules = contracts["Provider modules do not import each other"]["modules"]
    folder = Path(named.__file__).parent
    there = {path.stem for path in folder.glob("*.py")} - {"__init__"}
    assert {one.rpartition(".")[2] for one in modules if ".named." in one} == there
    assert there == {*NAMED.values(), "apprise"}


@pytest.mark.parametrize("kind", FACES, ids=IDS)
def test_every_row_of_a_table_decides_about_some_answer(kind: type[Face]) -> None:
    far_end = api(kind.type)
    decided: set[Row] = set()
    for reply in [*(case.reply for case in kind.cases), *kind.repeats]:
        reading = far_end.read(answer_of(reply), NOW)
        decided.add(next(row for row in (*far_end.table, *DEFAULTS) if row.matches(reply.status, reading)))
    assert not [row for row in far_end.table if row not in decided]


@pytest.mark.parametrize("kind", FACES, ids=IDS)
@pytest.mark.parametrize(
    "body", [b"", b"\xff\xfe", b"null", b"[[]]", b'{"error": 3, "messages": {}, "errors": "x"}', b"{" * 99]
)
def test_no_answer_breaks_a_reading_or_passes_for_an_acceptance(kind: type[Face], body: bytes) -> None:
    far_end = api(kind.type)
    for status in (200, 400, 401, 404, 409, 429, 500, 999):
        answer = Answer(status, [], body, complete=True)
        verdict = classify(far_end.table, answer, far_end.read(answer, NOW))
        own_success = status == 200 and kind.per_recipient
        assert isinstance(verdict, Accepted) is own_success, (status, verdict)


@pytest.mark.parametrize(
    "parts", [("6", "5"), ("1", "5"), ("5", "6"), ("6", None), ("0", "1"), ("0", "5"), (None, "0"), ("5", "5")]
)
def test_a_text_of_which_a_part_may_have_been_taken_is_unknown(parts: tuple[str | None, ...]) -> None:
    reply = Reply(200, {"messages": [{} if part is None else {"status": part} for part in parts]})
    verdict = classify(api("Vonage").table, answer_of(reply), api("Vonage").read(answer_of(reply), NOW))
    assert not isinstance(verdict, Accepted)
    assert verdict.kind is Kind.UNKNOWN


def test_a_conflict_is_an_earlier_acceptance_only_where_line_names_it() -> None:
    reply = Reply(409, b"<html>conflict</html>")
    verdict = classify(api("Line").table, answer_of(reply), api("Line").read(answer_of(reply), NOW))
    assert not isinstance(verdict, Accepted), "somebody between us and LINE: nobody was sent to"
    assert verdict.kind is Kind.UNKNOWN


def test_a_refusal_without_slacks_own_no_is_unknown() -> None:
    reply = Reply(200, {"error": "channel_not_found"})
    verdict = classify(api("Slack").table, answer_of(reply), api("Slack").read(answer_of(reply), NOW))
    assert not isinstance(verdict, Accepted)
    assert verdict.kind is Kind.UNKNOWN


@pytest.mark.parametrize("wait", ["NaN", "Infinity", "-Infinity", "1e999", "1" + "0" * 400, '"60"', "true", "null"])
def test_a_wait_that_is_no_length_of_time_is_left_out(wait: str) -> None:
    reply = Reply(429, f'{{"ok": false, "error_code": 429, "parameters": {{"retry_after": {wait}}}}}'.encode())
    verdict = classify(api("Telegram").table, answer_of(reply), api("Telegram").read(answer_of(reply), NOW))
    assert not isinstance(verdict, Accepted)
    assert (verdict.kind, verdict.retry_after) == (Kind.RATE_LIMITED, None)


def test_a_success_that_was_cut_off_is_unknown() -> None:
    verdict = classify((), answer_of(Reply(200, {"id": "1"}), complete=False), Reading(accepted=True, message_id="1"))
    assert not isinstance(verdict, Accepted)
    assert (verdict.kind, verdict.code) == (Kind.UNKNOWN, "answer_cut")


@pytest.mark.parametrize("kind", [one for one in ProviderType if one not in {ProviderType.HTTP, ProviderType.SMTP}])
def test_what_kubectl_explains_names_the_keys_of_the_secret(kind: ProviderType) -> None:
    facts = facts_of(kind)
    provider = next(one for one in RESOURCES if one.kind == "NotificationProvider")
    explained = schema_of(provider)["properties"]["spec"]["properties"][BLOCKS[kind]]["description"]
    assert facts.credentials
    for key in facts.credentials:
        assert f"`{key}`" in explained


def test_a_provider_that_names_no_secret_is_told_which_keys_it_needs() -> None:
    spec = next(kind for kind in FACES if kind.type == "Twilio")().spec()
    with pytest.raises(ProviderConfigError, match="Twilio needs apiKeySID and apiKeySecret"):
        build_provider(spec, {})
    with pytest.raises(ProviderConfigError, match="no key 'apiKeySecret', only apiKeySID, api_key_secret"):
        build_provider(spec, {"apiKeySID": b"SK1", "api_key_secret": b"x"})
    with pytest.raises(ProviderConfigError, match="not UTF-8"):
        build_provider(spec, {"apiKeySID": b"SK1", "apiKeySecret": b"\xff"})


# --- pieces ----------------------------------------------------------------------------------------------------------
def test_signatures_are_those_of_the_test_vectors_of_aws() -> None:
    keys = AwsKeys("AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY")
    signer = Signer(keys, "us-east-1", "service", "example.amazonaws.com", "/")
    now = datetime(2015, 8, 30, 12, 36, tzinfo=UTC)
    scope = "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request, "
    plain = dict(signer.sign(b"", now))
    assert plain == {
        "x-amz-date": "20150830T123600Z",
        "Authorization": f"{scope}SignedHeaders=host;x-amz-date, "
        "Signature=5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b",
    }
    form = dict(signer.sign(b"Param1=value1", now, content_type="application/x-www-form-urlencoded"))
    assert form["Authorization"] == (
        f"{scope}SignedHeaders=content-type;host;x-amz-date, "
        "Signature=ff11897932ad3f4e8b18135d722051e5ac45fc38421b1da7b9d196a0fe09473a"
    )


def test_a_session_token_is_signed_too() -> None:
    lines = dict(Signer(AwsKeys("A", "b", "tok"), "eu-west-1", "ses", "h", "/").sign(b"", NOW))
    assert lines["x-amz-security-token"] == "tok"
    assert "host;x-amz-date;x-amz-security-token" in lines["Authorization"]


def test_webhooks_are_signed_as_the_specification_shows() -> None:
    key = b64decode("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
    signed = signature(key, "msg_p5jXN8AQM9LWM0D4loKWxJek", "1614265330", b'{"test": 2432232314}')
    assert signed == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="


@pytest.mark.parametrize(
    ("patterns", "url"),
    [
        (["*"], "https://hooks.example.com/a"),
        (["*.example.com"], "https://a.b.example.com:8443/x?y=1"),
        (["hooks.example.com"], "https://HOOKS.example.com/"),
        (["127.0.0.1"], "http://127.0.0.1:8080/"),
        (["receiver"], "https://receiver/"),
    ],
)
def test_a_host_that_the_list_allows_is_sent_to(patterns: list[str], url: str) -> None:
    assert AllowedHosts(patterns).check(url) == url


@pytest.mark.parametrize(
    ("patterns", "url", "code"),
    [
        (["*.example.com"], "https://example.com/", "host_not_allowed"),
        (["*.example.com"], "https://evilexample.com/", "host_not_allowed"),
        (["hooks.example.com"], "https://hooks.example.com.evil.test/", "host_not_allowed"),
        (["*"], "http://hooks.example.com/", "bad_address"),
        (["hooks.example.com"], "http://hooks.example.com/", "bad_address"),
        (["*"], "https://10.0.0.1/", "host_not_allowed"),
        (["*"], "https://127.1/", "host_not_allowed"),
        (["*"], "https://2130706433/", "host_not_allowed"),
        (["*"], "https://0x7f.0x1/", "host_not_allowed"),
        (["*"], "https://[::1]/", "host_not_allowed"),
        (["*"], "https://localhost/", "host_not_allowed"),
        (["*"], "https://kubernetes.default.svc/", "host_not_allowed"),
        (["*"], "https://metadata.google.internal/", "host_not_allowed"),
        (["*"], "https://metadata.google.internal./", "host_not_allowed"),
        (["*"], "https://a@hooks.example.com/", "bad_address"),
        (["*"], "https://hooks.example.com:99999/", "bad_address"),
        (["*"], "https://hooks.example.com/a b", "bad_address"),
        (["*"], "ftp://hooks.example.com/", "bad_address"),
        (["*"], "not a url", "bad_address"),
        (["*"], "https://", "bad_address"),
    ],
)
def test_a_host_that_the_list_does_not_allow_costs_only_its_recipient(patterns: list[str], url: str, code: str) -> None:
    with pytest.raises(PermanentSendError) as caught:
        AllowedHosts(patterns).check(url)
    assert caught.value.code == code


@pytest.mark.parametrize(
    ("text", "fits"),
    [("Hello @ £5 é Ñ {}[]~|^\\ €", True), ("it’s", False), ("a–b", False), ("`", False), ("ç", False), ("👋", False)],
)
def test_only_what_the_default_alphabet_has_needs_no_unicode(text: str, fits: bool) -> None:
    assert fits_gsm_7(text) is fits


def test_a_name_is_encoded_alike_whatever_a_library_has_done_to_all_encodings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(charset.CHARSETS, "utf-8", (charset.QP, charset.QP, "utf-8"))
    assert ascii_mailbox("Søren <news@example.com>", "f") == "=?utf-8?b?U8O4cmVu?= <news@example.com>"


def test_mailboxes_are_taken_apart() -> None:
    assert mailbox('"News, Inc." <news@example.com>', "template.from").to_json() == {
        "email": "news@example.com",
        "name": "News, Inc.",
    }
    assert mailboxes("a@example.com, B <b@example.com>", "template.replyTo") == ["a@example.com", "b@example.com"]
    assert ascii_mailbox("Søren <news@example.com>", "f") == "=?utf-8?b?U8O4cmVu?= <news@example.com>"
    with pytest.raises(PermanentSendError, match="in ASCII"):
        ascii_mailbox("søren@example.com", "template.from")
    for line in ("nobody", "a@example.com, b@example.com", ""):
        with pytest.raises(PermanentSendError, match=r"template\.from must be one address"):
            mailbox(line, "template.from")


# --- credentials that have a shape -----------------------------------------------------------------------------------
ACCOUNT = {
    "client_email": "a@example.com",
    "project_id": "shop-12",
    "private_key_id": "k",
    "private_key": "nonsense",
    "token_uri": "https://example.com/token",
}


@pytest.mark.parametrize(
    ("document", "words"),
    [
        ("not json", "is not the JSON file"),
        ("[]", "is not the JSON file"),
        ('{"type": "authorized_user"}', "client_email"),
        (json.dumps(ACCOUNT), "is not the JSON file"),
        (json.dumps(ACCOUNT | {"private_key": pem(ec_key("other"))}), "must be an RSA key"),
    ],
)
def test_a_service_account_that_is_none_is_said_at_the_start(document: str, words: str) -> None:
    spec = next(kind for kind in FACES if kind.type == "FCM")().spec()
    with pytest.raises(ProviderConfigError, match=words) as caught:
        build_provider(spec, {"serviceAccount": document.encode()})
    assert caught.value.field == "credentialsSecretRef"


def test_a_vapid_key_may_be_pem_or_base64url_and_must_be_of_the_curve() -> None:
    spec = WebPushFace().spec()
    build_provider(spec, {"vapidPrivateKey": pem(ec_key("vapid")).encode()})
    build_provider(spec, WebPushFace().secret())
    for wrong in (b"AAAA", b"-----BEGIN nonsense", b"%%%"):
        with pytest.raises(ProviderConfigError, match="P-256"):
            build_provider(spec, {"vapidPrivateKey": wrong})


@pytest.mark.parametrize("secret", [b"whsec_short", b"whsec_!!!!", b"whsec_" + b"A" * 120])
def test_a_signing_secret_of_another_length_or_form_is_refused(secret: bytes) -> None:
    spec = next(kind for kind in FACES if kind.type == "StandardWebhooks")().spec()
    with pytest.raises(ProviderConfigError, match="signingSecret"):
        build_provider(spec, {"signingSecret": secret})


def test_a_telegram_token_cannot_lead_elsewhere() -> None:
    spec = next(kind for kind in FACES if kind.type == "Telegram")().spec()
    for wrong in (b"123/../x:a", b"no-colon", b"1:a?b", b"1:%41"):
        with pytest.raises(ProviderConfigError, match="botToken must look like"):
            build_provider(spec, {"botToken": wrong})


def test_a_block_without_required_fields_may_be_left_out() -> None:
    face = next(kind for kind in FACES if kind.type == "Line")()
    spec = face.spec().model_copy(update={"line": None})
    far_end = api_of(spec.type)(spec, Credentials(as_text(face.secret()), api_of(spec.type).facts))
    assert far_end.origin == "https://api.line.me"
    assert LineProvider().notification_disabled is False


def test_parts_are_put_together_up_to_the_bounds_of_a_request() -> None:
    def sizes(lengths: list[int], bounds: Bounds) -> list[list[int]]:
        parts = [Part(no, made_for_nobody(), b"x" * length) for no, length in enumerate(lengths)]
        found = list(bundled(parts, bounds))
        assert [part.place for bundle in found for part in bundle] == list(range(len(lengths)))
        return [[len(part.body) for part in bundle] for bundle in found]

    assert sizes([], Bounds("/", messages=3, size=99)) == []
    assert sizes([1] * 7, Bounds("/", messages=3, size=99)) == [[1, 1, 1], [1, 1, 1], [1]]
    # as a list: [xxx,xxx] is 9 bytes
    assert sizes([3, 3, 3], Bounds("/", messages=9, size=9)) == [[3, 3], [3]]
    assert sizes([3, 3, 3], Bounds("/", messages=9, size=8)) == [[3], [3], [3]]
    assert sizes([50, 1], Bounds("/", messages=9, size=9)) == [[50], [1]]


def made_for_nobody() -> Message:
    content = Content(sender=None, reply_to=None, subject=None, text="x", html=None, headers=())
    return Message("k", "Email", "a@example.com", content, NOW, "7-1", {})


def test_a_push_payload_is_sealed_as_the_example_of_its_rfc() -> None:
    """RFC 8291, section 5, with the keys of its appendix A."""
    key = ec.derive_private_key(
        int.from_bytes(unpadded("yfWPiYE-n46HLnH0KqZOF1fJJU3MYrct3AELtAQ-oRw"), "big"), ec.SECP256R1()
    )
    browser = "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4"
    sealed = seal_with(
        b"When I grow up, I want to be a watermelon",
        unpadded(browser),
        unpadded("BTBZMqHH6r4Tts7J_aSIgg"),
        key,
        unpadded("DGv6ra1nlYgDCS1FRnbzlw"),
    )
    assert sealed == unpadded(
        "DGv6ra1nlYgDCS1FRnbzlwAAEABBBP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3jl7A"
        "_yl95bQpu6cVPTpK4Mqgkf1CXztLVBSt2Ks3oZwbuwXPXLWyouBWLVWGNWQexSgSxsj_Qulcy4a-fN"
    )


def unpadded(value: str) -> bytes:
    return urlsafe_b64decode(value + "=" * (-len(value) % 4))
