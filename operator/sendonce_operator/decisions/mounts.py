"""What a worker finds as files: ConfigMaps and Secrets of its campaign and providers, and the store's address.

    /etc/sendonce/configmaps/<name>/<key>
    /etc/sendonce/secrets/<name>/<key>
    /etc/sendonce-store/<key>
    /etc/sendonce-ca/<key>                    where the operator's settings name a ConfigMap of certificate authorities
    /tmp                                      where the list is a Parquet file: an empty folder that it is fetched into

Each is mounted whole, never by subPath or key: a mount of that kind would not follow a rotation, and the worker could
not say which keys there are when one is missing.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from sendonce_operator.decisions.facts import Defaults, ProviderFacts
from sendonce_store.spec import CampaignSpec, RecipientFormat, Recipients
from sendonce_store.spec.recipients import PARQUET_BYTES

FILES = "/etc/sendonce"
STORE = "/etc/sendonce-store"
AUTHORITIES = "/etc/sendonce-ca"
_STORE_VOLUME = "store"
_AUTHORITIES_VOLUME = "ca"
_SCRATCH_VOLUME = "scratch"
_SCRATCH = "/tmp"  # noqa: S108 # a folder of the Pod's own
# a Pod that passes the limit is evicted: the worker refuses a larger file before
_SCRATCH_SIZE = f"{PARQUET_BYTES // 1024**2 + 64}Mi"


@dataclass(frozen=True, slots=True, order=True)
class _Mount:
    """One object that becomes a folder. `folder`: configmaps or secrets."""

    folder: str
    name: str

    @property
    def volume(self) -> str:
        """A name for the volume: the object's own may be too long for one."""
        digest = hashlib.sha256(f"{self.folder}/{self.name}".encode()).hexdigest()[:16]
        return f"{self.folder[:-1]}-{digest}"


def store_file(defaults: Defaults) -> str:
    """Where the worker finds the store's connection string."""
    return f"{STORE}/{defaults.store_secret_key}"


def authorities_file(defaults: Defaults) -> str | None:
    """Where the worker finds the certificate authorities to trust; None: the image's own are those."""
    return None if defaults.ca_config_map is None else f"{AUTHORITIES}/{defaults.ca_key}"


def volumes(spec: CampaignSpec, providers: Sequence[ProviderFacts], defaults: Defaults) -> list[dict[str, Any]]:
    """The Pod's volumes, in a fixed order."""
    found: list[dict[str, Any]] = [
        {"name": _STORE_VOLUME, "secret": {"secretName": defaults.store_secret, "optional": True}}
    ]
    if defaults.ca_config_map is not None:
        found.append({"name": _AUTHORITIES_VOLUME, "configMap": {"name": defaults.ca_config_map, "optional": True}})
    found += [_volume(mount) for mount in _mounts(spec, providers)]
    scratch = {"name": _SCRATCH_VOLUME, "emptyDir": {"sizeLimit": _SCRATCH_SIZE}}
    return [*found, scratch] if _needs_scratch(spec) else found


def volume_mounts(spec: CampaignSpec, providers: Sequence[ProviderFacts], defaults: Defaults) -> list[dict[str, Any]]:
    """The container's mounts, in the same order."""
    found = [(STORE, _STORE_VOLUME)]
    found += [(AUTHORITIES, _AUTHORITIES_VOLUME)] if defaults.ca_config_map is not None else []
    found += [(f"{FILES}/{mount.folder}/{mount.name}", mount.volume) for mount in _mounts(spec, providers)]
    mounts = [{"name": volume, "mountPath": path, "readOnly": True} for path, volume in found]
    return [*mounts, {"name": _SCRATCH_VOLUME, "mountPath": _SCRATCH}] if _needs_scratch(spec) else mounts


def _needs_scratch(spec: CampaignSpec) -> bool:
    """Whether the list is kept on disk while it is read."""
    return spec.recipients.format is RecipientFormat.PARQUET


def _volume(mount: _Mount) -> dict[str, Any]:
    if mount.folder == "configmaps":
        return {"name": mount.volume, "configMap": {"name": mount.name, "optional": True}}
    return {"name": mount.volume, "secret": {"secretName": mount.name, "optional": True}}


def _mounts(spec: CampaignSpec, providers: Sequence[ProviderFacts]) -> list[_Mount]:
    credentials = {_Mount("secrets", name) for provider in providers for name in provider.secrets}
    return sorted({*credentials, *_sources(spec.recipients), *_attachments(spec)})


def _attachments(spec: CampaignSpec) -> Iterator[_Mount]:
    for attachment in (one for message in spec.messages for one in message.template.attachments):
        if attachment.config_map_key_ref is not None:
            yield _Mount("configmaps", attachment.config_map_key_ref.name)
        if attachment.secret_key_ref is not None:
            yield _Mount("secrets", attachment.secret_key_ref.name)


def _sources(recipients: Recipients) -> Iterator[_Mount]:
    """Templates are not among them: the operator reads those once, when it freezes the content."""
    if recipients.config_map_key_ref is not None:
        yield _Mount("configmaps", recipients.config_map_key_ref.name)
    http, s3 = recipients.http, recipients.s3
    references = (
        recipients.secret_key_ref,
        http.url_secret_key_ref if http else None,
        http.headers_secret_ref if http else None,
        s3.credentials_secret_ref if s3 else None,
        recipients.postgres.dsn_secret_key_ref if recipients.postgres else None,
        recipients.mysql.dsn_secret_key_ref if recipients.mysql else None,
    )
    yield from (_Mount("secrets", reference.name) for reference in references if reference is not None)
