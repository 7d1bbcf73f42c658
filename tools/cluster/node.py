"""The command lines and settings of what makes a node: containerd, kubelet, kube-proxy, CoreDNS.

In: the folders as the node sees them. Out: files to write, and command lines by name. Pure.
"""

import json
from pathlib import Path

from tools.cluster.addresses import (
    BRIDGE,
    CLUSTER_DOMAIN,
    LOOPBACK,
    NODE_NAME,
    Addresses,
)
from tools.cluster.kubeconfig import CONTEXT
from tools.cluster.needs import CNI
from tools.cluster.places import Places

CONTAINERD_SOCKET = "/run/containerd/containerd.sock"
PAUSE_IMAGE = "localhost/sendonce-pause:1"

_KUBELET = "kubelet.json"
_PROXY = "kube-proxy.json"
_CONTAINERD = "containerd.toml"
_CNI = "cni/10-sendonce.conflist"
_DNS = "Corefile"
# Names outside the cluster that Pods are to find on this machine, as in /etc/hosts; read again when it changes.
HOSTS = "hosts"

# Disk and inodes of a developer's machine are none of the kubelet's business.
_NEVER = {"memory.available": "0%", "nodefs.available": "0%", "nodefs.inodesFree": "0%", "imagefs.available": "0%"}


def kubelet_settings(places: Places, at: Addresses) -> dict[str, object]:
    """Return the kubelet's settings: any kind of control groups, swap allowed, nobody evicted, no image removed."""
    certificate, key = places.certificate("kubelet-server")
    return {
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "authentication": {
            "anonymous": {"enabled": False},
            "webhook": {"enabled": True},
            "x509": {"clientCAFile": places.authority},
        },
        "authorization": {"mode": "Webhook"},
        "cgroupDriver": "cgroupfs",
        "cgroupRoot": f"/{at.group}",
        "clusterDNS": [at.gateway],
        "clusterDomain": CLUSTER_DOMAIN,
        "containerRuntimeEndpoint": f"unix://{CONTAINERD_SOCKET}",
        "enforceNodeAllocatable": [],
        "evictionHard": _NEVER,
        "failCgroupV1": False,
        "failSwapOn": False,
        # What the kubelet can't change about the machine (its /proc/sys is read-only) is no error.
        "featureGates": {"KubeletInUserNamespace": True},
        "imageGCHighThresholdPercent": 100,
        "imageGCLowThresholdPercent": 99,
        "localStorageCapacityIsolation": False,
        "resolvConf": "",
        "tlsCertFile": certificate,
        "tlsPrivateKeyFile": key,
    }


def proxy_settings(places: Places, at: Addresses) -> dict[str, object]:
    """Return kube-proxy's configuration. Masquerading brings answers between Pods of one bridge back through it."""
    return {
        "apiVersion": "kubeproxy.config.k8s.io/v1alpha1",
        "kind": "KubeProxyConfiguration",
        "mode": "nftables",
        "clientConnection": {"kubeconfig": str(places.kubeconfig("kube-proxy"))},
        "clusterCIDR": at.pods,
        "conntrack": {"maxPerCore": 0, "min": 0, "tcpCloseWaitTimeout": "0s", "tcpEstablishedTimeout": "0s"},
        "healthzBindAddress": f"{LOOPBACK}:10256",
        "hostnameOverride": NODE_NAME,
        "metricsBindAddress": f"{LOOPBACK}:10249",
        "nftables": {"masqueradeAll": True},
    }


def network_settings(at: Addresses) -> dict[str, object]:
    """Return the network of the Pods: the bridge, its addresses, and ports of Pods on the node."""
    subnet = {"subnet": at.pods, "gateway": at.gateway}
    addresses = {"type": "host-local", "ranges": [[subnet]], "routes": [{"dst": "0.0.0.0/0"}]}
    bridge = {"type": "bridge", "bridge": BRIDGE, "isGateway": True, "hairpinMode": True, "ipam": addresses}
    ports = {"type": "portmap", "capabilities": {"portMappings": True}}
    return {"cniVersion": "0.4.0", "name": "sendonce", "plugins": [bridge, ports]}


def containerd_settings(places: Places) -> str:
    """Return containerd's configuration."""
    return f"""\
version = 2
root = "/var/lib/containerd"
state = "/run/containerd"
[grpc]
address = "{CONTAINERD_SOCKET}"
[plugins."io.containerd.grpc.v1.cri"]
sandbox_image = "{PAUSE_IMAGE}"
restrict_oom_score_adj = true
disable_apparmor = true
[plugins."io.containerd.grpc.v1.cri".cni]
bin_dir = "{CNI}"
conf_dir = "{(places.state / _CNI).parent}"
[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
runtime_type = "io.containerd.runc.v2"
[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
SystemdCgroup = false
"""


def dns_settings(places: Places, at: Addresses) -> str:
    """Return CoreDNS's configuration: the cluster's names and those of the file, as nothing may reach anything else."""
    return f"""\
.:53 {{
    bind {at.gateway}
    errors
    hosts {places.state / HOSTS} {{
        ttl 5
        reload 1s
        fallthrough
    }}
    kubernetes {CLUSTER_DOMAIN} in-addr.arpa {{
        kubeconfig {places.kubeconfig("coredns")} {CONTEXT}
        ttl 5
    }}
    cache 5
    loadbalance
}}
"""


def files(places: Places, at: Addresses) -> dict[str, str]:
    """Return the settings to write into the state folder, by file name."""
    return {
        _KUBELET: json.dumps(kubelet_settings(places, at), indent=1),
        _PROXY: json.dumps(proxy_settings(places, at), indent=1),
        _CNI: json.dumps(network_settings(at), indent=1),
        _CONTAINERD: containerd_settings(places),
        _DNS: dns_settings(places, at),
        HOSTS: "",
    }


def commands(places: Places, at: Addresses) -> dict[str, list[str]]:
    """Return all command lines by name."""
    state: Path = places.state
    return {
        "containerd": ["containerd", f"--config={state / _CONTAINERD}"],
        "kubelet": [
            str(places.programs / "kubelet"),
            f"--config={state / _KUBELET}",
            f"--kubeconfig={places.kubeconfig('kubelet')}",
            f"--hostname-override={NODE_NAME}",
            f"--node-ip={at.gateway}",
            "--root-dir=/var/lib/kubelet",
        ],
        "kube-proxy": [str(places.programs / "kube-proxy"), f"--config={state / _PROXY}"],
        "coredns": [str(places.programs / "coredns"), f"-conf={state / _DNS}"],
    }
