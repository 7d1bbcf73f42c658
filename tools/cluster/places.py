"""Where things are: the cache of programs, and the state of one cluster.

In: the environment (XDG folders). Out: paths. Nothing here is inside the checkout.
"""

import os
from dataclasses import dataclass
from pathlib import Path

KUBERNETES = "v1.36.3"
COREDNS = "v1.12.4"
CLI_UTILS = "v0.37.2"

ROOT = Path(__file__).resolve().parents[2]
MODULES = Path(__file__).resolve().parent / "modules"

# Where the node sees its state and the programs. Short, as the path of a socket ends at 108 bytes; fixed, because the
# node's own /run and /var lie over the machine's.
INSIDE_STATE = Path("/run/sendonce-state")
INSIDE_PROGRAMS = Path("/run/sendonce-programs")


def _base(variable: str, default: str) -> Path:
    return Path(os.environ.get(variable) or Path.home() / default) / "sendonce"


def cache() -> Path:
    """Return the user's cache folder."""
    return _base("XDG_CACHE_HOME", ".cache")


def programs() -> Path:
    """Return the folder of what was built for this version of Kubernetes."""
    return cache() / f"kubernetes-{KUBERNETES}"


def image_cache() -> Path:
    """Return the folder of image archives that are worth keeping."""
    return cache() / "images"


def linters() -> Path:
    """Return the folder of linters that are built here."""
    return _base("XDG_CACHE_HOME", ".cache") / "linters"


def far_ends() -> Path:
    """Return the folder of servers that tests import from."""
    return _base("XDG_CACHE_HOME", ".cache") / "far-ends"


def default_state(*, control_plane: bool) -> Path:
    """Return the state folder of `make cluster`, or of a control plane alone."""
    return _base("XDG_STATE_HOME", ".local/state") / ("control-plane" if control_plane else "cluster")


@dataclass(frozen=True)
class Places:
    """The folders of one cluster, as its programs see them. On the outside and inside the node they differ."""

    state: Path
    programs: Path

    def certificate(self, name: str) -> tuple[str, str]:
        """Return the files of a certificate and its key."""
        return str(self.pki / f"{name}.crt"), str(self.pki / f"{name}.key")

    @property
    def pki(self) -> Path:
        """The folder of certificates and keys."""
        return self.state / "pki"

    @property
    def authority(self) -> str:
        """The certificate that signs all others."""
        return str(self.pki / "ca.crt")

    def kubeconfig(self, user: str) -> Path:
        """Return the kubeconfig of one user of the cluster."""
        return self.state / "kubeconfigs" / user

    @property
    def logs(self) -> Path:
        """The folder of what the programs print."""
        return self.state / "logs"


def inside() -> Places:
    """Return the folders as the node's programs see them."""
    return Places(INSIDE_STATE, INSIDE_PROGRAMS)
