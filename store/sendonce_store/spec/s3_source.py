"""`spec.recipients.s3`: a file in an object store that speaks the protocol of S3."""

from typing import Annotated

from pydantic import Field

from sendonce_store.spec.base import SpecModel
from sendonce_store.spec.metadata import SecretRef

__all__ = ["S3_PATTERNS", "S3Source"]

BUCKET = r"^[A-Za-z0-9][A-Za-z0-9._-]*[A-Za-z0-9]$"
KEY = r"^[^/ ][^/]*(/[^/]+)*$"
ENDPOINT = r"^https?://[^\s/?#@]+/?$"
REGION = r"^[A-Za-z0-9-]+$"

S3_PATTERNS: dict[str, str] = {
    BUCKET: "must be the name of a bucket: letters, digits, '-', '.' and '_', first and last a letter or digit",
    KEY: "must be the key of an object, such as lists/readers.csv, without a space before it, '/' at its ends or '//'",
    ENDPOINT: "must be the URL of an object store without path and user, such as https://s3.example.com:9000",
    REGION: "must be a region, such as eu-west-1",
}


class S3Source(SpecModel):
    """An object in Amazon S3 or a store that speaks its protocol; its ETag is pinned, as that of `http` is."""

    bucket: Annotated[str, Field(pattern=BUCKET, min_length=3, max_length=255)] = Field(
        description="Name of the bucket."
    )
    key: Annotated[str, Field(pattern=KEY, max_length=1024)] = Field(
        description="Key of the object, such as lists/readers.csv."
    )
    endpoint_url: Annotated[str, Field(pattern=ENDPOINT, max_length=512)] | None = Field(
        default=None,
        description="URL of the object store, for others than Amazon's; the bucket is then a part of the path.",
    )
    region: Annotated[str, Field(pattern=REGION, max_length=64)] = Field(
        default="us-east-1", description="Region of the bucket; other stores than Amazon's mostly take the default."
    )
    credentials_secret_ref: SecretRef | None = Field(
        default=None,
        description="Secret with the keys `accessKeyID`, `secretAccessKey`, perhaps `sessionToken`. Without it "
        "requests are not signed, which public buckets allow.",
    )
