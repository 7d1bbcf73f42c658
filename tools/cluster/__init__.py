"""A genuine Kubernetes on this machine, for people and for tests.

In: an order (`up`, `down`, `status`, `load`, `images`, `base-image`, `build`, `kind`) and the folder of a cluster's
state. Out: processes, and a kubeconfig whose context is `sendonce-local`. How the parts lie on each other, `__main__`
at the top:

    up, down                 the story: what is started, in which order, and how it ends
    control_plane, node      decide: the command lines and settings of each program
    sandbox, cgroups         the namespaces that the node lives in, and its control groups
    processes, record        start, recognise and end a process; what is remembered about it between two orders
    programs, needs          the programs: built once from pinned modules; what must be on the machine, and the cure
    pki, kubeconfig, api     certificates, credentials, and whether the API server answers
    images, base_image       images without an engine: archives that containerd loads
    product_images, engines  the product's own images, from its Dockerfiles
    leftovers                what is still there after `down`: nothing

Two levels. The control plane alone (etcd, API server, controllers, scheduler) needs no root and no fixed port, so that
several run side by side. The node adds a kubelet with containerd and lives in its own network, mount and process
namespaces, so that its end takes everything with it: interfaces, mounts, packet filter tables, containers.
"""
