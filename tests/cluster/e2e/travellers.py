"""The people of `examples/four-channels.yaml`, and the Secrets of its providers.

In: nothing. Out: objects for one namespace, and who must get what on which channel. Everybody has an email address and
a LINE id but for one each, who lack it; one more has an email address that is refused.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Self

from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from tests.cluster.e2e.jobs import csv, secret
from tests.cluster.e2e.shop import Object, config_map

CAMPAIGN = "strike-2026-12-18"
WITH_APP, APP_GONE, WITHOUT_APP = 20, 10, 10
# how the far ends' paths end, by channel; mails of a batch are recorded as if each had come alone
PATHS = {"Push": "/messages:send", "SMS": "/Messages.json", "Email": "/email", "Line": "/v2/bot/message/push"}


@dataclass(frozen=True)
class Traveller:
    """One line of the list; an empty address is none."""

    no: int
    push: str
    phone: str
    email: str
    line: str

    @classmethod
    def of(cls, no: int) -> Self:
        """Each in one of three groups: with the app, with one that is gone from the device, without it."""
        push = f"app-{no}" if no < WITH_APP + APP_GONE else ""
        email = f"permanent+traveller{no}@example.com" if no == 2 else f"traveller{no}@example.com"
        return cls(
            no,
            f"permanent+{push}" if push and no >= WITH_APP else push,
            # the last one has no app and no telephone: for whom nothing is left to follow
            "" if no == WITH_APP + APP_GONE + WITHOUT_APP - 1 else f"+1500556{no:04d}",
            "" if no == 0 else email,
            "" if no == 1 else f"U{no}-traveller",
        )


PEOPLE = tuple(map(Traveller.of, range(WITH_APP + APP_GONE + WITHOUT_APP)))


def sent(channel: str) -> Iterator[str]:
    """The addresses that a channel must have reached, each once."""
    for person in PEOPLE:
        address = {"Push": person.push, "SMS": person.phone, "Email": person.email, "Line": person.line}[channel]
        reached_by_push = bool(person.push) and not person.push.startswith("permanent+")
        if address and not address.startswith("permanent+") and not (channel == "SMS" and reached_by_push):
            yield address


def objects() -> list[Object]:
    """The list and the Secrets."""
    rows = (f"t{one.no},Mia,{one.push},{one.phone},{one.email},{one.line}" for one in PEOPLE)
    return [
        config_map("travellers", **{"travellers.csv": csv("id,name,push,phone,email,line", rows)}),
        secret("app", serviceAccount=service_account()),
        secret("texts", apiKeySID="SK" + 32 * "0", apiKeySecret="the-texts-s"),
        secret("mail", serverToken="the-server-s"),
        secret("line-account", channelAccessToken="the-channel-s"),
    ]


def service_account() -> str:
    """The JSON file of a key, as Google's console gives it."""
    key = rsa.generate_private_key(65537, 2048).private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    return json.dumps(
        {
            "type": "service_account",
            "project_id": "railways",
            "private_key_id": "1",
            "private_key": key.decode(),
            "client_email": "app@railways.iam.example.com",
            "token_uri": "https://oauth2.googleapis.com/token",
        }
    )
