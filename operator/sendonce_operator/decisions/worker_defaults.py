"""How workers' Pods look where their campaign says nothing of it: the setting SENDONCE_WORKER_DEFAULTS.

JSON in, in the words of a Pod's spec; a checked value out. Affinity and spread constraints are passed on as they are:
the API server knows them, and says so in the Deployment's Events when one is wrong.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import Field, ValidationError

from sendonce_store.environment import SettingsError
from sendonce_store.spec.base import DnsSubdomain, SpecModel
from sendonce_store.spec.metadata import SecretRef
from sendonce_store.spec.workload import LABEL_VALUE, ResourceRequirements, Toleration

SETTING = "SENDONCE_WORKER_DEFAULTS"
Label = Annotated[str, Field(pattern=LABEL_VALUE, max_length=63)]


class WorkerDefaults(SpecModel):
    """What a campaign's own `spec.workers` wins over: labels and annotations one by one, everything else as a whole.

    Pull secrets are added to the campaign's. `env`: further variables of the worker; its own settings win.
    """

    resources: ResourceRequirements | None = None
    pod_labels: dict[str, Label] = Field(default={})
    pod_annotations: dict[str, str] = Field(default={})
    node_selector: dict[str, Label] = Field(default={})
    tolerations: tuple[Toleration, ...] = ()
    affinity: dict[str, Any] = Field(default={})
    topology_spread_constraints: tuple[dict[str, Any], ...] = ()
    priority_class_name: DnsSubdomain | None = None
    image_pull_secrets: tuple[SecretRef, ...] = ()
    env: dict[str, str] = Field(default={})

    @property
    def compute(self) -> Mapping[str, Mapping[str, Any]] | None:
        """Requests and limits as in a Pod; None: nothing is said."""
        given = self.resources
        return None if given is None else {"requests": dict(given.requests), "limits": dict(given.limits)}


def read_worker_defaults(text: str) -> WorkerDefaults:
    """Read the setting; empty: nothing is said. Raises SettingsError, which names the field."""
    try:
        return WorkerDefaults.model_validate_json(text or "{}")
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(map(str, first["loc"]))
        message = f"{SETTING}: {place or 'the whole'}: {first['msg']}"
        raise SettingsError(message) from None
