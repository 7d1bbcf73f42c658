"""How named far ends word their answers, as far as their own pages say.

In: what was decided. Out: HTTP status and JSON body. Pure. LINE, whose answers depend on its keys, is in ``answers``.
"""

from collections.abc import Mapping

from sendonce_cli.simulate.outcomes import Outcome
from sendonce_cli.simulate.settings import Style

_Refusal = tuple[int, int | str, str]
"""HTTP status, the far end's own code, its words."""
REFUSED: Mapping[Style, Mapping[Outcome, _Refusal]] = {
    # www.twilio.com/docs/api/errors
    Style.TWILIO: {
        Outcome.REFUSED: (400, 21211, "Invalid 'To' Phone Number"),
        Outcome.TRANSIENT: (503, 20503, "Service unavailable"),
        Outcome.THROTTLED: (429, 20429, "Too Many Requests"),
        Outcome.ACCOUNT: (401, 20003, "Authenticate"),
    },
    # postmarkapp.com/developer/api/overview
    Style.POSTMARK: {
        Outcome.REFUSED: (422, 406, "You tried to send to a recipient that has been marked as inactive."),
        Outcome.TRANSIENT: (503, 100, "Offline for maintenance"),
        Outcome.THROTTLED: (429, 429, "Rate limit exceeded"),
        Outcome.ACCOUNT: (401, 10, "Request does not contain a valid Server token."),
    },
    # firebase.google.com/docs/reference/fcm/rest/v1/ErrorCode
    Style.FCM: {
        Outcome.REFUSED: (404, "UNREGISTERED", "Requested entity was not found."),
        Outcome.TRANSIENT: (503, "UNAVAILABLE", "The service is currently unavailable."),
        Outcome.THROTTLED: (429, "QUOTA_EXCEEDED", "Quota exceeded."),
        Outcome.ACCOUNT: (401, "THIRD_PARTY_AUTH_ERROR", "Request had invalid authentication credentials."),
    },
}
"""Far ends that know no keys."""
TOKEN = {"access_token": "an-access-token", "expires_in": 3599, "token_type": "Bearer"}
"""Answer to a request for an access token (RFC 6749, section 5.1)."""


def taken(style: Style, message_id: str) -> tuple[int, dict[str, object]]:
    """Return the answer to a message that was accepted."""
    if style is Style.TWILIO:
        return 201, {"sid": message_id, "status": "queued"}
    if style is Style.POSTMARK:
        return 200, {"ErrorCode": 0, "Message": "OK", "MessageID": message_id}
    return 200, {"name": f"projects/simulated/messages/{message_id}"}


def refused(style: Style, outcome: Outcome) -> tuple[int, dict[str, object]]:
    """Return the answer to a message that was not."""
    status, code, words = REFUSED[style][outcome]
    if style is Style.TWILIO:
        return status, {"code": code, "message": words}
    if style is Style.POSTMARK:
        return status, {"ErrorCode": code, "Message": words}
    return status, {"error": {"code": status, "message": words, "details": [{"errorCode": code}]}}
