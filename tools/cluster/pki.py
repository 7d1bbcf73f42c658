"""The cluster's own certificates.

In: a folder and the addresses that the API server answers at. Out: `ca.crt`, and a certificate with its key for each
server and each user. A user's name and groups are the certificate's common name and organisation
(kubernetes.io, "X509 client certificates").
"""

from pathlib import Path

import trustme

# common name, organisation
USERS = {
    "admin": ("sendonce-admin", "system:masters"),
    "kube-controller-manager": ("system:kube-controller-manager", "system:kube-controller-manager"),
    "kube-scheduler": ("system:kube-scheduler", "system:kube-scheduler"),
    "kubelet": ("system:node:sendonce-node", "system:nodes"),
    "kube-proxy": ("system:kube-proxy", "system:node-proxier"),
    # The DNS server only reads, but has no role by default; the cluster is for tests and nobody else's.
    "coredns": ("system:coredns", "system:masters"),
    "apiserver-to-kubelet": ("system:kube-apiserver", "system:masters"),
}
SERVICE_NAMES = ("kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local")


def _write(folder: Path, name: str, certificate: trustme.LeafCert) -> None:
    certificate.cert_chain_pems[0].write_to_path(folder / f"{name}.crt")
    key = folder / f"{name}.key"
    key.touch(mode=0o600)
    certificate.private_key_pem.write_to_path(key)


def make(folder: Path, *, server: tuple[str, ...], kubelet: tuple[str, ...]) -> None:
    """Write all certificates: for the servers under their addresses, for the users, and the service accounts' key."""
    folder.mkdir(mode=0o700)
    authority = trustme.CA()
    authority.cert_pem.write_to_path(folder / "ca.crt")
    _write(folder, "apiserver", authority.issue_cert(*server, *SERVICE_NAMES, common_name="kube-apiserver"))
    _write(folder, "kubelet-server", authority.issue_cert(*kubelet, common_name="kubelet"))
    # Only its key is used: to sign and to check service accounts' tokens.
    _write(folder, "service-accounts", authority.issue_cert("service-accounts", common_name="service-accounts"))
    for user, (name, group) in USERS.items():
        _write(folder, user, authority.issue_cert(user, common_name=name, organization_name=group))
