"""What the blocks of named providers share: where the far end is, and the patterns of their fields."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from sendonce_store.spec.base import SpecModel

__all__ = ["BASE_URL", "HOST_PATTERN", "NAME", "NAMED_PATTERNS", "NUMBER_OR_SID", "REGION", "SUBJECT", "NamedProvider"]

BASE_URL = r"^(https://[^\s/?#@]+|http://(localhost|127(\.[0-9]{1,3}){3}|\[::1\])(:[0-9]+)?)(/[^\s?#]*)?$"
ACCOUNT_SID = r"^AC[0-9a-fA-F]{32}$"
NUMBER_OR_SID = r"^MG[0-9a-fA-F]{32}$"
REGION = r"^[a-z]{2}(-[a-z]+)+-[0-9]{1,2}$"
NAME = r"^[A-Za-z0-9_.-]+$"
DOMAIN = r"^[A-Za-z0-9]([-A-Za-z0-9]*[A-Za-z0-9])?(\.[A-Za-z0-9]([-A-Za-z0-9]*[A-Za-z0-9])?)+$"
PROJECT = r"^[a-z][-a-z0-9:.]{4,61}[a-z0-9]$"
SUBJECT = r"^(mailto:[^\s@]+@[^\s@]+|https://\S+)$"
CALLBACK = r"^https://[^\s#@]+$"
HOST_PATTERN = r"^(\*|(\*\.)?[A-Za-z0-9]([-A-Za-z0-9.]*[A-Za-z0-9])?)$"

NAMED_PATTERNS: dict[str, str] = {
    BASE_URL: "must be a URL that begins with https://, without query; http:// is for this machine itself only",
    ACCOUNT_SID: "must be AC and 32 hex digits",
    NUMBER_OR_SID: "must be MG and 32 hex digits",
    REGION: "must be a region, such as eu-west-1",
    NAME: "must consist of letters, digits, '-', '_' and '.'",
    DOMAIN: "must be a domain name, such as mg.example.com",
    PROJECT: "must be the id of a project: 6 to 63 lower-case letters, digits and hyphens",
    SUBJECT: "must be mailto: and an address, or a URL that begins with https://",
    CALLBACK: "must be a URL that begins with https://",
    HOST_PATTERN: "must be a host such as hooks.example.com, *.example.com for all below a domain, or * for any",
}
"""What each of these patterns means to a person."""


class NamedProvider(SpecModel):
    """What every named provider has."""

    base_url: Annotated[str, Field(pattern=BASE_URL, max_length=512)] | None = Field(
        default=None,
        description="Another address of the API, such as that of a region or of a test double; https only, "
        "except on this machine itself.",
    )
