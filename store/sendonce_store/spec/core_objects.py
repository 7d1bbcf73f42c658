"""ConfigMap and Secret of the core API: a local run carries them beside the campaign that refers to them."""

import base64
import binascii
from typing import Annotated, Literal

from pydantic import AfterValidator, Field
from pydantic_core import PydanticCustomError

from sendonce_store.spec.base import Bool, DataKey, SpecModel
from sendonce_store.spec.metadata import Metadata

__all__ = ["ConfigMap", "Secret"]


def _decode(text: str) -> bytes:
    # base64 of a multi-line block has line breaks, which the API server takes too
    return base64.b64decode("".join(text.split()), validate=True)


def _check_base64(text: str) -> str:
    try:
        _decode(text)
    except (binascii.Error, ValueError):
        raise PydanticCustomError("base64", "is not valid base64; plain text belongs in data or stringData") from None
    return text


Base64 = Annotated[str, AfterValidator(_check_base64)]


class ConfigMap(SpecModel):
    """A ConfigMap: files of recipients and templates."""

    api_version: Literal["v1"] = "v1"
    kind: Literal["ConfigMap"] = "ConfigMap"
    metadata: Metadata
    data: dict[DataKey, str] = Field(default={})
    binary_data: dict[DataKey, Base64] = Field(default={})
    immutable: Bool | None = None

    def files(self) -> dict[str, bytes]:
        """Return the content of every key, as a Pod that mounts it sees it."""
        files = {key: text.encode() for key, text in self.data.items()}
        return files | {key: _decode(text) for key, text in self.binary_data.items()}


class Secret(SpecModel):
    """A Secret: credentials, or files of recipients. Its values are in no repr and in no error."""

    api_version: Literal["v1"] = "v1"
    kind: Literal["Secret"] = "Secret"
    metadata: Metadata
    type: str = "Opaque"
    data: dict[DataKey, Base64] = Field(default={}, repr=False)
    string_data: dict[DataKey, str] = Field(default={}, repr=False)
    immutable: Bool | None = None

    def files(self) -> dict[str, bytes]:
        """Return the content of every key, as a Pod that mounts it sees it; stringData comes first."""
        files = {key: _decode(text) for key, text in self.data.items()}
        return files | {key: text.encode() for key, text in self.string_data.items()}
