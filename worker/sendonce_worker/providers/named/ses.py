"""Amazon SES, API version 2: SendEmail."""

from __future__ import annotations

from datetime import datetime
from typing import ClassVar

from sendonce_store.spec.provider import ProviderSpec
from sendonce_worker.providers.api.base import Api, Call, Credentials, needed
from sendonce_worker.providers.api.bodies import JSON, MIB, at_most, json_body
from sendonce_worker.providers.api.email import ascii_mailbox, mailboxes, sender_of
from sendonce_worker.providers.api.facts import Facts
from sendonce_worker.providers.api.reading import json_object, text
from sendonce_worker.providers.api.sigv4 import AwsKeys, Signer
from sendonce_worker.providers.api.table import HOUR, P, Reading, Row, S, W
from sendonce_worker.providers.base import Message
from sendonce_worker.providers.http1.connection import Answer
from sendonce_worker.providers.http1.target import parse_target

PATH = "/v2/email/outbound-emails"


class Ses(Api):
    """See ``Api``."""

    facts: ClassVar[Facts] = Facts(
        title="Amazon SES",
        credentials=("accessKeyID", "secretAccessKey"),
        keys="None are known: a lost answer is `uncertain`.",
        before="4xx exceptions; mail over a limit is dropped, not queued.",
        batch="`outbound-bulk-emails` is not used: it fills in templates of its own after it has accepted them, and "
        "ours are finished mails.",
        sizes="40 MB for the whole mail, 15 headers of the template's own.",
        pace="None of ours: each account and region has its own (`GetAccount`: SendQuota; 1/s and 200 a day in the "
        "sandbox); set `limits` to it.",
        metadata="`EmailTags`: sendonce-delivery.",
        probe="`aws sesv2 get-account` with the same keys and region.",
        source="botocore sesv2 model 2019-09-27; docs.aws.amazon.com/ses/latest/dg/manage-sending-quotas-errors.html",
    )
    table: ClassVar[tuple[Row, ...]] = (
        Row(W, "the day's quota is used up", words="daily (message|sending) quota", wait=HOUR),
        Row(W, "too many requests", code="TooManyRequestsException|LimitExceededException|Throttling(Exception)?"),
        Row(S, "the account may not send", code="AccountSuspendedException|SendingPausedException"),
        Row(S, "the sender's domain", code="MailFromDomainNotVerifiedException"),
        Row(S, "the content, or an address that is not verified (in the sandbox any)", code="MessageRejected"),
        Row(S, "no such configuration set", code="NotFoundException"),
        Row(S, "keys, signature or rights", status=(401, 403)),
        Row(P, "the address, or content that SES does not take", code="BadRequestException"),
    )

    def __init__(self, spec: ProviderSpec, credentials: Credentials) -> None:
        """See ``Api``."""
        block = needed(spec.ses, "ses")
        self.origin = block.base_url or f"https://email.{block.region}.amazonaws.com"
        self.headers = {"Content-Type": JSON}
        self._set = block.configuration_set
        session = credentials.word_or_none("sessionToken")
        keys = AwsKeys(credentials.word("accessKeyID"), credentials.word("secretAccessKey"), session)
        target = parse_target(self.origin)
        self._signer = Signer(keys, block.region, "ses", target.authority, target.path.rstrip("/") + PATH)

    def call(self, message: Message, now: datetime, /) -> Call:
        """See ``Api``."""
        content = message.content
        parts = {"Text": content.text, "Html": content.html}
        simple = {
            "Subject": {"Data": content.subject or "", "Charset": "UTF-8"},
            "Body": {name: {"Data": data, "Charset": "UTF-8"} for name, data in parts.items() if data is not None},
            "Headers": [{"Name": name, "Value": value} for name, value in content.headers],
        }
        at_most(len(content.headers), 15, "headers", "SES")
        request = {
            "FromEmailAddress": ascii_mailbox(sender_of(message), "template.from"),
            "Destination": {"ToAddresses": [message.to]},
            "ReplyToAddresses": mailboxes(content.reply_to, "template.replyTo"),
            "Content": {"Simple": simple},
            "EmailTags": [{"Name": "sendonce-delivery", "Value": message.delivery_id}],
        }
        body = json_body(request | ({"ConfigurationSetName": self._set} if self._set else {}))
        at_most(len(body), 40 * MIB, "bytes", "SES")
        return Call(PATH, body, self._signer.sign(body, now, content_type=JSON))

    def read(self, answer: Answer, _now: datetime, /) -> Reading:
        """See ``Api``."""
        found = json_object(answer)
        message_id = text(found, "MessageId")
        if answer.status == 200 and message_id:  # noqa: PLR2004 - HTTP
            return Reading(accepted=True, message_id=message_id)
        kind = answer.header(b"x-amzn-errortype") or text(found, "__type") or text(found, "code")
        return Reading(kind.partition(":")[0].rpartition("#")[2], text(found, "message") or text(found, "Message"))


API = Ses
