"""`python -m tools.chart ORDER`.

    write   values.schema.json, README.md and the chart's copies of CRDs and Lua, anew
    check   that all of these are as they would be written, then `helm lint --strict`
    helm    prints where helm is

Exit code 1 when something is not as it should be, with the fix.
"""

import subprocess
import sys
from pathlib import Path

import yaml
from tools.chart import comments, readme, schema
from tools.chart.helm import program
from tools.cluster.errors import ClusterError
from tools.cluster.places import ROOT

CHART = ROOT / "charts" / "sendonce"
# what a chart must hold itself: it can't reach out of its folder
COPIES = {
    CHART / "files" / "crds": ROOT / "crds",
    CHART / "files" / "argocd": ROOT / "docs" / "argocd",
}


def wanted() -> dict[Path, str]:
    """Return what is generated: path → text."""
    found = comments.values((CHART / "values.yaml").read_text("utf-8"))
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text("utf-8"))
    written = {CHART / "values.schema.json": schema.text(found), CHART / "README.md": readme.page(chart, found)}
    copied = {
        target / file.name: file.read_text("utf-8") for target, source in COPIES.items() for file in source.iterdir()
    }
    return written | copied


def present() -> set[Path]:
    """Return the files that are there where only generated ones may be."""
    copies = {file for target in COPIES for file in target.glob("*")}
    return copies | {CHART / "values.schema.json", CHART / "README.md"}


def stale() -> list[Path]:
    """Return what differs from what would be written."""
    texts = wanted()
    return sorted(
        path
        for path in present() | texts.keys()
        if not path.exists() or texts.get(path) != path.read_text(encoding="utf-8")
    )


def write() -> int:
    """Write all of it anew, and remove copies of what is no more."""
    texts = wanted()
    for path in present() - texts.keys():
        path.unlink()
    for path, content in texts.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8")
    return 0


def check() -> int:
    """Look for drift, then lint."""
    if differing := stale():
        names = ", ".join(str(path.relative_to(ROOT)) for path in differing)
        print(f"not what values.yaml, crds/ and docs/argocd say: {names}; run `make chart-docs`", file=sys.stderr)
        return 1
    done = subprocess.run([program(), "lint", "--strict", "--quiet", str(CHART)], check=False)
    if done.returncode == 0:
        print("The chart is in step, and helm has nothing to say of it.")
    return done.returncode


def _where() -> int:
    print(program())
    return 0


def main(arguments: list[str]) -> int:
    """Carry out an order."""
    orders = {"write": write, "check": check, "helm": _where}
    if len(arguments) != 1 or arguments[0] not in orders:
        print(__doc__, file=sys.stderr)
        return 2
    try:
        return orders[arguments[0]]()
    except (ClusterError, comments.UndescribedError) as error:
        print(error, file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
