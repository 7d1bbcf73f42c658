"""The chart's README.md: Chart.yaml and values in, a page with a table out. Pure."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tools.chart.comments import Value

_HEAD = """# sendonce

{description}

Version {version} of the chart, with Sendonce {app}. Kubernetes {kube}. Written by `make chart-docs` from values.yaml.

```sh
kubectl create namespace sendonce-system
kubectl create secret generic sendonce-store --namespace sendonce-system \\
  --from-literal=dsn=postgresql://OWNER:PASSWORD@HOST:5432/DATABASE
helm install sendonce charts/sendonce --namespace sendonce-system
helm test sendonce --namespace sendonce-system
```

Upgrade, rollback and uninstall with campaigns running: docs/install.md.

## Values
"""


def page(chart: Mapping[str, Any], found: Sequence[Value]) -> str:
    """Return the page."""
    kube = chart["kubeVersion"].removeprefix(">=").removesuffix("-0")
    head = _HEAD.format(
        description=chart["description"],
        version=chart["version"],
        app=chart["appVersion"],
        kube=f"{kube} or newer",
    )
    return head + "\n" + "\n".join(_rows(found)) + "\n"


def _rows(found: Sequence[Value]) -> Iterator[str]:
    yield "| value | default | |"
    yield "| --- | --- | --- |"
    for value in found:
        default = f"`{json.dumps(value.default, ensure_ascii=False)}`".replace("|", "\\|")
        yield f"| `{value.name}` | {default} | {value.description.replace('|', chr(92) + '|')} |"
