"""`spec.recipients`: who gets the campaign, and where the list comes from."""

from enum import StrEnum
from typing import Annotated, Any, ClassVar

from pydantic import Field, JsonValue

from sendonce_store.spec.base import SHA_256, Int, SpecModel
from sendonce_store.spec.channels import Channel
from sendonce_store.spec.metadata import ConfigMapKeyRef, SecretKeyRef, SecretRef
from sendonce_store.spec.recipients_rules import EXPECTED_RULES, HTTP_SOURCE_RULES, RECIPIENTS_RULES
from sendonce_store.spec.rules import Rule
from sendonce_store.spec.s3_source import S3Source

__all__ = [
    "PARQUET_BYTES",
    "Compression",
    "ExpectedCount",
    "HttpSource",
    "InlineRecipient",
    "MysqlSource",
    "PostgresSource",
    "RecipientFormat",
    "Recipients",
    "S3Source",
    "StreamSource",
]

PARQUET_BYTES = 2 * 1024**3
"""The most bytes that a Parquet file may have: it is kept on a worker's disk while it is read."""

HTTP_URL = r"^https?://\S+$"
QUIET = r"^([01][0-9]|2[0-3]):[0-5][0-9]-([01][0-9]|2[0-3]):[0-5][0-9]$"


class RecipientFormat(StrEnum):
    """How a file of recipients is written."""

    CSV = "CSV"
    NDJSON = "NDJSON"
    PARQUET = "Parquet"


class Compression(StrEnum):
    """How a file of recipients is compressed."""

    NONE = "None"
    GZIP = "Gzip"


class InlineRecipient(SpecModel):
    """One recipient, written in the campaign itself."""

    id: str | None = Field(
        default=None, min_length=1, max_length=255, description="The sender's own reference; unique."
    )
    email: str | None = Field(default=None, max_length=320, description="Address for the channel Email.")
    phone: str | None = Field(
        default=None, max_length=32, description="Address for the channel SMS, such as +15005550006."
    )
    line: str | None = Field(default=None, max_length=64, description="Address for the channel Line: the LINE user id.")
    push: str | None = Field(
        default=None, max_length=4096, description="Address for the channel Push: the device token."
    )
    slack: str | None = Field(
        default=None, max_length=255, description="Address for the channel Slack: channel or user id."
    )
    telegram: str | None = Field(
        default=None, max_length=64, description="Address for the channel Telegram: the chat id."
    )
    webpush: str | None = Field(
        default=None, max_length=4096, description="Address for the channel WebPush: the subscription."
    )
    webhook: str | None = Field(default=None, max_length=2048, description="Address for the channel Webhook: a URL.")
    timezone: str | None = Field(default=None, max_length=64, description="IANA time zone, used for quiet hours.")
    locale: str | None = Field(default=None, max_length=35, description="BCP 47 language tag, such as ja-JP.")
    quiet: Annotated[str, Field(pattern=QUIET, max_length=11)] | None = Field(
        default=None,
        description="The person's own quiet hours beside the campaign's, such as \"21:00-09:00\"; for Marketing.",
    )
    channels: Annotated[tuple[Channel, ...], Field(min_length=1, max_length=8)] | None = Field(
        default=None,
        description="The channels that the person wants to be written to over, the dearest first, and no others.",
    )
    variables: dict[Annotated[str, Field(min_length=1, max_length=128)], JsonValue] = Field(
        default={},
        max_length=50,
        description="Template variables of this recipient: any JSON.",
    )


class HttpSource(SpecModel):
    """A file that is fetched over HTTP; its ETag is pinned, so that a resumed import reads the same bytes."""

    url: Annotated[str, Field(pattern=HTTP_URL, max_length=2048)] | None = Field(
        default=None,
        description="URL of the file. A presigned URL is a credential: use urlSecretKeyRef.",
    )
    url_secret_key_ref: SecretKeyRef | None = Field(default=None, description="Key of a Secret that holds the URL.")
    headers_secret_ref: SecretRef | None = Field(
        default=None,
        description="Secret whose keys and values are sent as request headers, such as Authorization.",
    )
    sha256: Annotated[str, Field(pattern=SHA_256, max_length=64)] | None = Field(
        default=None,
        description="SHA-256 of the file as fetched, in 64 lower-case hex digits; another file is refused.",
    )

    RULES: ClassVar[tuple[Rule[Any], ...]] = HTTP_SOURCE_RULES


class PostgresSource(SpecModel):
    """A query on another PostgreSQL database; it runs read-only. Columns with other names become template variables."""

    dsn_secret_key_ref: SecretKeyRef = Field(description="Key of a Secret that holds the connection string.")
    query: str = Field(
        min_length=1, max_length=16384, description="One SELECT, such as `select id, email from readers`."
    )


class MysqlSource(SpecModel):
    """A query on a MySQL or MariaDB database; it runs read-only. Columns with other names become template variables."""

    dsn_secret_key_ref: SecretKeyRef = Field(
        description="Key of a Secret that holds the connection string: mysql://user:password@host:3306/database?tls=true."
    )
    query: str = Field(
        min_length=1, max_length=16384, description="One SELECT, such as `select id, email from readers`."
    )


class StreamSource(SpecModel):
    """Applications add recipients one by one, with `sendonce.enqueue`; the campaign goes on until spec.close."""


class ExpectedCount(SpecModel):
    """How many recipients there should be; outside of it nothing is sent."""

    min: Int | None = Field(default=None, ge=0, le=1_000_000_000, description="Least number of recipients.")
    max: Int | None = Field(default=None, ge=0, le=1_000_000_000, description="Greatest number of recipients.")

    RULES: ClassVar[tuple[Rule[Any], ...]] = EXPECTED_RULES


class Recipients(SpecModel):
    """Where the recipients come from (exactly one source) and what is expected of them."""

    inline: Annotated[tuple[InlineRecipient, ...], Field(min_length=1, max_length=50)] | None = Field(
        default=None,
        description="Recipients written here: for trials, at most 50.",
    )
    config_map_key_ref: ConfigMapKeyRef | None = Field(default=None, description="A file in a ConfigMap.")
    secret_key_ref: SecretKeyRef | None = Field(default=None, description="A file in a Secret.")
    http: HttpSource | None = Field(default=None, description="A file that is fetched over HTTP.")
    s3: S3Source | None = Field(default=None, description="A file in an object store.")
    postgres: PostgresSource | None = Field(default=None, description="A query on another PostgreSQL database.")
    mysql: MysqlSource | None = Field(default=None, description="A query on a MySQL or MariaDB database.")
    stream: StreamSource | None = Field(
        default=None,
        description="Applications add recipients, each with an idempotency key, until spec.close: write {}.",
    )
    format: RecipientFormat | None = Field(
        default=None,
        description="How the file is written: CSV, NDJSON or Parquet. Required for files; it is never guessed.",
    )
    compression: Compression = Field(default=Compression.NONE, description="How the file is compressed: None or Gzip.")
    expected: ExpectedCount | None = Field(
        default=None,
        description="Expected number of recipients; the first hand-off then waits for the whole import.",
    )
    max_rejected_percent: Int = Field(
        default=100,
        ge=0,
        le=100,
        description="Percentage of rows that may be refused before the campaign fails; below 100 the first hand-off "
        "waits for the whole import.",
    )

    RULES: ClassVar[tuple[Rule[Any], ...]] = RECIPIENTS_RULES

    def sources(self) -> list[str]:
        """Return the names (on the wire) of the sources that are given."""
        given = {
            "inline": self.inline,
            "configMapKeyRef": self.config_map_key_ref,
            "secretKeyRef": self.secret_key_ref,
            "http": self.http,
            "s3": self.s3,
            "postgres": self.postgres,
            "mysql": self.mysql,
            "stream": self.stream,
        }
        return [name for name, source in given.items() if source is not None]
