"""Text to phones and chats: Twilio, Vonage, LINE, Slack, Telegram."""

from __future__ import annotations

from base64 import b64encode
from dataclasses import dataclass, field
from typing import Any, ClassVar

from tests.far_ends.face import Case, Face, KeyMemory, P, Reply, Request, S, U, W, form_of, json_of, path_of

SMS: dict[str, Any] = {
    "sender": "+15005550006",
    "reply_to": None,
    "subject": None,
    "text": "Code 1 & 2 + é",
    "html": None,
}
CHAT: dict[str, Any] = SMS | {"sender": None, "text": "Hello Ann 👋"}
SID = "AC" + "0" * 32


@dataclass
class TwilioFace(Face):
    type: ClassVar[str] = "Twilio"
    channel: ClassVar[str] = "SMS"
    secrets: ClassVar[dict[str, str]] = {"apiKeySID": "SK1", "apiKeySecret": "good-api-key-secret"}
    bad_secrets: ClassVar[dict[str, dict[str, str]]] = {
        "wrong": {"apiKeySecret": "wrong-api-key-secret"},
        "revoked": {"apiKeySID": "SKrevoked"},
    }
    good_to: ClassVar[str] = "+15005550010"
    bad_to: ClassVar[str] = "+15005550001"
    content: ClassVar[dict[str, Any]] = SMS
    needs_sender: ClassVar[bool] = True
    too_long: ClassVar[dict[str, Any]] = {"text": "x" * 1601}

    def block(self) -> dict[str, Any]:
        return super().block() | {"accountSID": SID, "statusCallbackURL": "https://example.com/status?x=1"}

    def respond(self, request: Request) -> Reply:
        assert path_of(request) == f"/2010-04-01/Accounts/{SID}/Messages.json"
        if request.headers["Authorization"] != "Basic " + b64encode(b"SK1:good-api-key-secret").decode():
            return twilio(401, 20003, "Authenticate")
        sms = form_of(request)
        assert (sms["From"], sms["Body"]) == ("+15005550006", SMS["text"])
        before, _, delivery = sms["StatusCallback"].partition("&delivery=")
        assert before == "https://example.com/status?x=1"
        if sms["To"] == self.bad_to:
            return twilio(400, 21211, "The 'To' number +15005550001 is not a valid phone number.")
        return Reply(201, {"sid": f"SM{self.take(delivery)}", "status": "queued", "error_code": None})


def twilio(status: int, code: int, message: str, *headers: str) -> Reply:
    more = f"https://www.twilio.com/docs/errors/{code}"
    return Reply(status, {"code": code, "message": message, "more_info": more, "status": status}, headers)


TwilioFace.cases = (
    *(Case(f"recipient {code}", twilio(400, code, "x"), P, str(code)) for code in (21211, 21610, 21614, 21635, 21265)),
    *(Case(f"recipient {code}", twilio(400, code, "x"), P, str(code)) for code in (21408, 21612)),
    *(Case(f"sender {code}", twilio(400, code, "x"), S, str(code)) for code in (21606, 21601, 21608, 30034, 21212)),
    Case("content", twilio(400, 21617, "The concatenated message body exceeds the 1600 character limit"), P, "21617"),
    Case("credentials", twilio(401, 20003, "Authenticate"), S, "20003"),
    Case("suspended", twilio(403, 30002, "Account suspended"), S, "30002"),
    Case("no account", twilio(404, 20404, "The requested resource was not found"), S, "20404"),
    Case("throttled", twilio(429, 20429, "Too Many Requests"), W, "20429"),
    Case("throttled with a wait", twilio(429, 20429, "Too Many Requests", "Retry-After: 3"), W, "20429", 3),
    Case(
        "queue full", twilio(400, 21611, "This 'From' number has exceeded the maximum number of queued"), W, "21611", 60
    ),
    Case("internal", twilio(500, 20500, "Internal Server Error"), U, "20500"),
    Case("unavailable", twilio(503, 20503, "Service Unavailable"), U, "20503"),
)


@dataclass
class VonageFace(Face):
    type: ClassVar[str] = "Vonage"
    channel: ClassVar[str] = "SMS"
    secrets: ClassVar[dict[str, str]] = {"apiKey": "abcd1234", "apiSecret": "good-api-secret"}
    bad_secrets: ClassVar[dict[str, dict[str, str]]] = {
        "wrong": {"apiSecret": "wrong-api-secret"},
        "revoked": {"apiKey": "revoked1"},
    }
    good_to: ClassVar[str] = "+15005550010"
    bad_to: ClassVar[str] = "+15005550001"
    content: ClassVar[dict[str, Any]] = SMS
    needs_sender: ClassVar[bool] = True
    too_long: ClassVar[dict[str, Any]] = {"text": "x" * 3201}

    def respond(self, request: Request) -> Reply:
        assert path_of(request) == "/sms/json"
        sms = form_of(request)
        if (sms["api_key"], sms["api_secret"]) != ("abcd1234", "good-api-secret"):
            return vonage("4", "Bad Credentials")
        assert (sms["from"], sms["text"], sms["type"]) == ("15005550006", SMS["text"], "text")
        if sms["to"] == self.bad_to.removeprefix("+"):
            return vonage("6", "Unroutable message - rejected")
        no = self.take(sms["client-ref"])
        return Reply(200, {"message-count": "1", "messages": [{"status": "0", "message-id": f"vo-{no}"}]})


def vonage(*states: str) -> Reply:
    """The answer for one part with status and words, or for several parts by their states."""
    if len(states) == 2 and not states[1].isdecimal():
        parts = [{"status": states[0], "error-text": states[1]}]
    else:
        parts = [{"status": state, "message-id": f"p{no}"} for no, state in enumerate(states)]
    return Reply(200, {"message-count": str(len(parts)), "messages": parts})


VonageFace.cases = (
    *(Case(f"recipient {code}", vonage(code, "x"), P, code) for code in ("3", "6", "7")),
    *(Case(f"account {code}", vonage(code, "x"), S, code) for code in ("2", "4", "8", "9", "11", "14", "15")),
    *(Case(f"throttled {code}", vonage(code, "Throughput Rate Exceeded"), W, code) for code in ("1", "10")),
    Case("content", vonage("12", "Message Too Long"), P, "12"),
    Case("internal", vonage("5", "Internal Error"), U, "5"),
    Case("not listed", vonage("29", "Non-Whitelisted Destination"), P, "29"),
    Case("some parts", vonage("0", "1", "0"), U, "partial"),
    Case("no parts", Reply(200, {"message-count": "0", "messages": []}), U, "200"),
    Case("throttled by status", Reply(429, b"slow", ("Retry-After: 1",)), W, "429", 1),
    Case("unavailable", Reply(503, b""), U, "503"),
)


@dataclass
class LineFace(Face):
    type: ClassVar[str] = "Line"
    channel: ClassVar[str] = "Line"
    secrets: ClassVar[dict[str, str]] = {"channelAccessToken": "good/token+abc="}
    bad_secrets: ClassVar[dict[str, dict[str, str]]] = {
        "wrong": {"channelAccessToken": "wrong-token"},
        "expired": {"channelAccessToken": "expired-token"},
        "revoked": {"channelAccessToken": "revoked-token"},
    }
    good_to: ClassVar[str] = "U" + "1" * 32
    bad_to: ClassVar[str] = "U" + "f" * 32
    content: ClassVar[dict[str, Any]] = CHAT
    too_long: ClassVar[dict[str, Any]] = {"text": "👋" * 2501}
    keys: KeyMemory = field(default_factory=KeyMemory)

    def respond(self, request: Request) -> Reply:
        assert path_of(request) == "/v2/bot/message/push"
        if request.headers["Authorization"] != "Bearer good/token+abc=":
            return line(
                401, "Authentication failed. Confirm that the access token in the authorization header is valid."
            )
        push = json_of(request)
        assert push["messages"] == [{"type": "text", "text": CHAT["text"]}]
        if push["to"] == self.bad_to:
            return line(400, "Failed to send messages")
        key = request.headers["X-Line-Retry-Key"]
        known = self.keys.find(key, self.now)
        if known is not None:
            was = known[1].body["sentMessages"][0]["id"]
            body = {"message": "The retry key is already accepted", "sentMessages": known[1].body["sentMessages"]}
            return Reply(409, body, (f"x-line-accepted-request-id: {was}",))
        reply = Reply(200, {"sentMessages": [{"id": f"li-{self.take(key)}", "quoteToken": "q"}]})
        self.keys.known[key] = (self.now, request.body, reply)
        return reply


def line(status: int, message: str, *headers: str) -> Reply:
    return Reply(status, {"message": message}, headers)


LineFace.repeats = (line(409, "The retry key is already accepted", "x-line-accepted-request-id: r1"),)
_PROPERTY = {"message": "The request body has 1 error(s)", "details": [{"message": "Invalid", "property": "messages"}]}
LineFace.cases = (
    Case("nobody", line(400, "Failed to send messages"), P, "400"),
    Case("no id", line(400, "The property, 'to', in the request body is invalid (line: -, column: -)"), P, "400"),
    Case("content", Reply(400, _PROPERTY), P, "400"),
    Case("token", line(401, "Authentication failed"), S, "401"),
    Case("no right", line(403, "Access to this API is not available for your account"), S, "403"),
    Case("month", line(429, "You have reached your monthly limit."), S, "429"),
    Case("throttled", line(429, "The API rate limit has been exceeded. Try again later."), W, "429"),
    Case("throttled with a wait", line(429, "The API rate limit has been exceeded.", "Retry-After: 4"), W, "429", 4),
    Case("internal", line(500, "Internal server error"), U, "500"),
)


@dataclass
class SlackFace(Face):
    type: ClassVar[str] = "Slack"
    channel: ClassVar[str] = "Slack"
    secrets: ClassVar[dict[str, str]] = {"botToken": "xoxb-good-token"}
    bad_secrets: ClassVar[dict[str, dict[str, str]]] = {
        "wrong": {"botToken": "xoxb-wrong-token"},
        "expired": {"botToken": "xoxb-expired-token"},
        "revoked": {"botToken": "xoxb-revoked-token"},
    }
    good_to: ClassVar[str] = "C0123"
    bad_to: ClassVar[str] = "C0000"
    content: ClassVar[dict[str, Any]] = CHAT
    too_long: ClassVar[dict[str, Any]] = {"text": "x" * 40_001}

    def respond(self, request: Request) -> Reply:
        assert path_of(request) == "/api/chat.postMessage"
        given = request.headers["Authorization"].removeprefix("Bearer ")
        if given != "xoxb-good-token":
            return slack(
                {"xoxb-expired-token": "token_expired", "xoxb-revoked-token": "token_revoked"}.get(
                    given, "invalid_auth"
                )
            )
        post = json_of(request)
        assert post["text"] == CHAT["text"]
        if post["channel"] == self.bad_to:
            return slack("channel_not_found")
        no = self.take(post["metadata"]["event_payload"]["id"])
        return Reply(200, {"ok": True, "channel": post["channel"], "ts": f"1700000000.{no:06}"})


def slack(error: str, **more: str) -> Reply:
    return Reply(200, {"ok": False, "error": error} | more)


SlackFace.cases = (
    *(
        Case(f"channel: {code}", slack(code), P, code)
        for code in ("channel_not_found", "not_in_channel", "is_archived", "restricted_action_read_only_channel")
    ),
    *(Case(f"content: {code}", slack(code), P, code) for code in ("no_text", "msg_too_long", "invalid_blocks")),
    *(
        Case(f"account: {code}", slack(code), S, code)
        for code in (
            "not_authed",
            "invalid_auth",
            "account_inactive",
            "token_revoked",
            "access_denied",
            "accesslimited",
        )
    ),
    Case("scope", slack("missing_scope", needed="chat:write"), S, "missing_scope"),
    Case("not listed", slack("some_new_error"), P, "some_new_error"),
    Case("throttled", Reply(429, {"ok": False, "error": "ratelimited"}), W, "ratelimited"),
    Case("throttled with a wait", Reply(429, b"", ("Retry-After: 30",)), W, "429", 30),
    Case("throttled inside 200", slack("ratelimited"), W, "ratelimited"),
    Case("internal", slack("internal_error"), U, "internal_error"),
    Case("fatal", slack("fatal_error"), U, "fatal_error"),
    Case("gateway", Reply(502, b""), U, "502"),
)


@dataclass
class TelegramFace(Face):
    type: ClassVar[str] = "Telegram"
    channel: ClassVar[str] = "Telegram"
    secrets: ClassVar[dict[str, str]] = {"botToken": "123456:good-bot-token"}
    bad_secrets: ClassVar[dict[str, dict[str, str]]] = {
        "wrong": {"botToken": "123456:wrong-bot-token"},
        "revoked": {"botToken": "123456:revoked-bot-token"},
    }
    good_to: ClassVar[str] = "42"
    bad_to: ClassVar[str] = "43"
    content: ClassVar[dict[str, Any]] = CHAT
    too_long: ClassVar[dict[str, Any]] = {"text": "x" * 4097}

    def respond(self, request: Request) -> Reply:
        if path_of(request) != "/bot123456:good-bot-token/sendMessage":
            return telegram(401, "Unauthorized")
        post = json_of(request)
        if post["chat_id"] == self.bad_to:
            return telegram(400, "Bad Request: chat not found")
        assert post == {"chat_id": "42", "text": CHAT["text"]}
        return Reply(200, {"ok": True, "result": {"message_id": self.take(post["text"]), "chat": {"id": 42}}})


def telegram(status: int, description: str, *headers: str, **parameters: Any) -> Reply:
    body = {"ok": False, "error_code": status, "description": description}
    return Reply(status, body | ({"parameters": parameters} if parameters else {}), headers)


TelegramFace.cases = (
    Case("blocked", telegram(403, "Forbidden: bot was blocked by the user"), P, "403"),
    Case("gone", telegram(403, "Forbidden: user is deactivated"), P, "403"),
    Case("no chat", telegram(400, "Bad Request: chat not found"), P, "400"),
    Case(
        "moved",
        telegram(400, "Bad Request: group chat was upgraded to a supergroup chat", migrate_to_chat_id=-1001),
        P,
        "400",
    ),
    Case("content", telegram(400, "Bad Request: message is too long"), P, "400"),
    Case("token", telegram(401, "Unauthorized"), S, "401"),
    Case("no bot", telegram(404, "Not Found"), S, "404"),
    Case("throttled", telegram(429, "Too Many Requests: retry after 35", retry_after=35), W, "429", 35),
    Case("throttled by header", telegram(429, "Too Many Requests", "Retry-After: 6"), W, "429", 6),
    Case("internal", telegram(500, "Internal Server Error"), U, "500"),
    Case("gateway", Reply(502, b"<html>"), U, "502"),
    Case("an error inside 200", Reply(200, {"ok": False, "description": "odd"}), U, "200"),
)
