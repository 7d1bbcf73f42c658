"""Objects that the tests of the harness apply: a restricted web server with a Service, in a namespace of its own.

In: names. Out: documents as plain data. Pure.
"""

import json
from typing import Any

Object = dict[str, Any]

_SERVER = """
import http.server, signal, sys

class Greeter(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"hello")

def stop(*_):
    print("asked to stop")
    sys.exit(0)

signal.signal(signal.SIGTERM, stop)
print("serving")
http.server.HTTPServer(("", 8080), Greeter).serve_forever()
"""


def namespace(name: str) -> Object:
    """Return a namespace that takes restricted Pods only."""
    labels = {"pod-security.kubernetes.io/enforce": "restricted"}
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}}


def _container(image: str, command: list[str]) -> Object:
    restricted = {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    probe = {"httpGet": {"port": 8080}, "periodSeconds": 1}
    return {
        "name": "main",
        "image": image,
        "imagePullPolicy": "IfNotPresent",
        "command": command,
        "readinessProbe": probe,
        "securityContext": restricted,
    }


def web_deployment(name: str, image: str) -> Object:
    """Return a Deployment of one web server that says hello, and goodbye on SIGTERM."""
    labels = {"app": name}
    user = {"runAsNonRoot": True, "runAsUser": 10001, "seccompProfile": {"type": "RuntimeDefault"}}
    pod = {
        "automountServiceAccountToken": False,
        "securityContext": user,
        "containers": [_container(image, ["python3", "-u", "-c", _SERVER])],
    }
    template = {"metadata": {"labels": labels}, "spec": pod}
    spec = {"replicas": 1, "selector": {"matchLabels": labels}, "template": template}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name}, "spec": spec}


def web_service(name: str) -> Object:
    """Return the Service in front of the Deployment of that name."""
    spec = {"selector": {"app": name}, "ports": [{"port": 80, "targetPort": 8080}]}
    return {"apiVersion": "v1", "kind": "Service", "metadata": {"name": name}, "spec": spec}


def as_list(*objects: Object) -> str:
    """Return documents as one that kubectl takes."""
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": list(objects)})
