"""Which Kubernetes the tests of a level run on.

In: what the environment names and what this machine can do. Out: a choice with a description, or the reason why the
level can't run here and what would cure it. The order: a context that somebody named on purpose, envtest's programs,
kind, and else a cluster of the tests' own. Nothing else is ever used: the current context of a kubeconfig may be
anybody's. Pure.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

# The names of the markers, in the order of what they need.
CONTROL_PLANE = "control_plane"
END_TO_END = "end_to_end"
# no cluster, but a program that is built as theirs are
KSTATUS = "kstatus"

CONTEXT_VARIABLE = "SENDONCE_TEST_KUBE_CONTEXT"
ASSETS_VARIABLE = "KUBEBUILDER_ASSETS"
REQUIRE_VARIABLE = "SENDONCE_REQUIRE_ALL_LEVELS"

_ASSETS = ("etcd", "kube-apiserver")


class Source(Enum):
    """Where a cluster comes from."""

    CONTEXT = "context"
    ASSETS = "assets"
    KIND = "kind"
    OWN = "own"
    BUILT = "built"


@dataclass(frozen=True)
class Surroundings:
    """What the choice depends on. A `…_missing` text says why something can't be used; empty means that it can."""

    context: str
    assets: str
    kind_missing: str
    control_plane_missing: str
    node_missing: str
    kstatus_missing: str = ""


@dataclass(frozen=True)
class Choice:
    """Where a level's cluster comes from, in words; no source means that the level can't run, for the reason given."""

    source: Source | None
    description: str


def _assets(folder: str) -> Choice:
    absent = [name for name in _ASSETS if not (Path(folder) / name).exists()]
    if absent:
        return Choice(None, f"{ASSETS_VARIABLE}={folder} has no {', '.join(absent)}: `setup-envtest use` gets it")
    return Choice(Source.ASSETS, f"the programs in {ASSETS_VARIABLE}={folder}")


def choose(level: str, here: Surroundings) -> Choice:
    """Return where the cluster for a level comes from."""
    if level == KSTATUS:
        built = Choice(Source.BUILT, "kstatus' own library, built here")
        return Choice(None, here.kstatus_missing) if here.kstatus_missing else built
    if here.context:
        return Choice(Source.CONTEXT, f"the context {here.context}, named by {CONTEXT_VARIABLE}")
    # Envtest has no kubelet: its Pods never run.
    if here.assets and level == CONTROL_PLANE:
        return _assets(here.assets)
    if not here.kind_missing:
        return Choice(Source.KIND, "the kind cluster `sendonce`")
    missing = here.control_plane_missing if level == CONTROL_PLANE else here.node_missing
    if missing:
        return Choice(None, f"{missing}\nor with kind: {here.kind_missing}")
    return Choice(Source.OWN, "a cluster of its own for each test process")


def environment_for_tests(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the changes that keep everything in a test from a cluster that nobody named.

    kubectl, kopf and client libraries take the current context of KUBECONFIG, or the cluster that they run in, unless
    told otherwise. Where a named context is looked up is kept aside.
    """
    kept = environment.get("SENDONCE_TEST_KUBECONFIG") or environment.get("KUBECONFIG") or ""
    named = kept or str(Path(environment.get("HOME", "/")) / ".kube/config")
    return {"SENDONCE_TEST_KUBECONFIG": named, "KUBECONFIG": "/dev/null", "KUBERNETES_SERVICE_HOST": ""}
