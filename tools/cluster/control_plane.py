"""The command lines of the control plane: etcd, API server, controllers, scheduler.

In: folders and a record. Out: command lines by name, in the order of their start. Pure.
"""

from tools.cluster.addresses import LOOPBACK, SERVICES_NOWHERE
from tools.cluster.places import Places
from tools.cluster.record import Record


def etcd(places: Places, record: Record, program: str) -> list[str]:
    """Return etcd's command line. It listens on the loopback interface only."""
    client, peer = (f"http://{LOOPBACK}:{port}" for port in record.etcd)
    return [
        program,
        f"--data-dir={places.state / 'etcd'}",
        f"--listen-client-urls={client}",
        f"--advertise-client-urls={client}",
        f"--listen-peer-urls={peer}",
        f"--initial-advertise-peer-urls={peer}",
        f"--initial-cluster=default={peer}",
    ]


def _bindings(record: Record) -> list[str]:
    """Return where the API server listens, and the address by which Pods find it: none without Pods."""
    at = record.addresses
    if at is not None:
        return [
            "--bind-address=0.0.0.0",
            f"--advertise-address={at.gateway}",
            f"--service-cluster-ip-range={at.services}",
        ]
    return [
        f"--bind-address={LOOPBACK}",
        f"--advertise-address={LOOPBACK}",
        f"--service-cluster-ip-range={SERVICES_NOWHERE}",
        "--endpoint-reconciler-type=none",
    ]


def _api_files(places: Places) -> list[str]:
    server, server_key = places.certificate("apiserver")
    kubelet, kubelet_key = places.certificate("apiserver-to-kubelet")
    _, accounts_key = places.certificate("service-accounts")
    return [
        f"--cert-dir={places.state / 'api'}",
        f"--client-ca-file={places.authority}",
        f"--tls-cert-file={server}",
        f"--tls-private-key-file={server_key}",
        f"--kubelet-client-certificate={kubelet}",
        f"--kubelet-client-key={kubelet_key}",
        f"--kubelet-certificate-authority={places.authority}",
        f"--service-account-key-file={accounts_key}",
        f"--service-account-signing-key-file={accounts_key}",
    ]


def api_server(places: Places, record: Record) -> list[str]:
    """Return the API server's command line."""
    return [
        str(places.programs / "kube-apiserver"),
        f"--etcd-servers=http://{LOOPBACK}:{record.etcd[0]}",
        f"--secure-port={record.port}",
        *_bindings(record),
        *_api_files(places),
        "--authorization-mode=Node,RBAC",
        "--allow-privileged=true",
        "--kubelet-preferred-address-types=InternalIP",
        "--service-account-issuer=https://kubernetes.default.svc",
    ]


def controller_manager(places: Places) -> list[str]:
    """Return the controllers' command line. Nothing asks them, so that they listen nowhere."""
    _, accounts_key = places.certificate("service-accounts")
    return [
        str(places.programs / "kube-controller-manager"),
        f"--kubeconfig={places.kubeconfig('kube-controller-manager')}",
        f"--root-ca-file={places.authority}",
        f"--service-account-private-key-file={accounts_key}",
        "--use-service-account-credentials=true",
        "--leader-elect=false",
        "--secure-port=0",
    ]


def scheduler(places: Places) -> list[str]:
    """Return the scheduler's command line."""
    return [
        str(places.programs / "kube-scheduler"),
        f"--kubeconfig={places.kubeconfig('kube-scheduler')}",
        "--leader-elect=false",
        "--secure-port=0",
    ]


def commands(places: Places, record: Record, etcd_program: str) -> dict[str, list[str]]:
    """Return all command lines by name."""
    return {
        "etcd": etcd(places, record, etcd_program),
        "kube-apiserver": api_server(places, record),
        "kube-controller-manager": controller_manager(places),
        "kube-scheduler": scheduler(places),
    }
