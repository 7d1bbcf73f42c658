"""The addresses of a node. All of them exist on this machine only, and end with the node.

    this machine  host ── sendonce<slot>-host ═ uplink ── node   the node's network namespace
                                                           │
                                                        gateway  sendonce0, the bridge of the Pods

Several nodes can be up: each has a slot, and with it its own sixteenth of 10.203.0.0/16.
"""

from dataclasses import dataclass

SLOTS = range(16)

# These are seen inside the node only.
NODE_LINK = "uplink"
BRIDGE = "sendonce0"

LOOPBACK = "127.0.0.1"
LINK_PREFIX = 30
POD_PREFIX = 24
API_PORT = 6443
ETCD_PORTS = (2379, 2380)
NODE_NAME = "sendonce-node"
CLUSTER_DOMAIN = "cluster.local"

# A control plane has no Pods; its Services have addresses that lead nowhere.
SERVICES_NOWHERE = "10.203.248.0/21"


@dataclass(frozen=True)
class Addresses:
    """The names and addresses of the node in one slot."""

    slot: int

    def _in(self, third: int, fourth: int) -> str:
        return f"10.203.{16 * self.slot + third}.{fourth}"

    @property
    def host_link(self) -> str:
        """The machine's end of the link to the node."""
        return f"sendonce{self.slot}-host"

    @property
    def group(self) -> str:
        """The control group of the node's Pods."""
        return f"sendonce{self.slot}"

    @property
    def host(self) -> str:
        """Where Pods reach what listens on this machine. This machine reaches Pods and Services directly."""
        return self._in(1, 1)

    @property
    def node(self) -> str:
        """Where this machine reaches the node."""
        return self._in(1, 2)

    @property
    def gateway(self) -> str:
        """The node, as Pods see it."""
        return self._in(0, 1)

    @property
    def pods(self) -> str:
        """The network of the Pods."""
        return f"{self._in(0, 0)}/{POD_PREFIX}"

    @property
    def services(self) -> str:
        """The network of the Services."""
        return f"{self._in(8, 0)}/21"

    @property
    def api_service(self) -> str:
        """The first address of the Services' network: the Service `kubernetes`."""
        return self._in(8, 1)
