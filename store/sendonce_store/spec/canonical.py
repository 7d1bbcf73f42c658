"""The canonical bytes of a model, and the hash of a campaign's content.

The hash goes into the ledger beside the send key: a new object with a known send key goes on only with the same
content.
"""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING

from sendonce_store.spec.transitions import FROZEN_FIELDS

if TYPE_CHECKING:
    from sendonce_store.spec.base import SpecModel
    from sendonce_store.spec.campaign import CampaignSpec, NotificationCampaign

__all__ = ["HASH_VERSION", "canonical_json", "content_hash"]

HASH_VERSION = "v1"


def canonical_json(model: SpecModel) -> bytes:
    """Return the model as UTF-8 JSON: names on the wire, keys sorted, no white space, defaults written out."""
    return _encode(model.to_wire())


def content_hash(campaign: NotificationCampaign) -> str:
    """Return `v1:` and the SHA-256 (hex) of category, topic, recipients, messages and rollout.

    Defaults are left out, so that a field added later changes no hash; messages are sorted by channel, because their
    order means nothing.
    """
    return f"{HASH_VERSION}:{hashlib.sha256(_encode(_content(campaign.spec))).hexdigest()}"


def _content(spec: CampaignSpec) -> dict[str, object]:
    content = spec.model_dump(mode="json", by_alias=True, exclude_defaults=True, include=set(FROZEN_FIELDS))
    content["messages"] = sorted(content["messages"], key=lambda message: message["channel"])
    return content


def _encode(data: object) -> bytes:
    return json.dumps(data, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode()
