"""A store, a login and a campaign as the version before makes them: run by its path, with that version's packages.

In: a database's DSN, a namespace, and perhaps documents as JSON (providers, then a campaign). Out, on standard output:
where the packages are, the schema's version, and the role and password of the namespace's login.
"""

from __future__ import annotations

import asyncio
import json
import sys

import sendonce_store
from sendonce_store import campaigns, migrate, tenancy
from sendonce_store.connection import connect
from sendonce_store.spec import CampaignSpec, NotificationCampaign, NotificationProvider, load_documents


async def make(dsn: str, namespace: str, text: str) -> tuple[str, str]:
    """Make it all, and return the login."""
    await migrate.migrate(dsn)
    conn = await connect(dsn)
    for document in load_documents(text, "campaign.yaml") if text else ():
        resource = document.resource
        if isinstance(resource, NotificationProvider):
            await campaigns.sync_provider(conn, resource)
        elif isinstance(resource, NotificationCampaign) and isinstance(resource.spec, CampaignSpec):
            await campaigns.adopt(conn, resource, resource.spec)
    login = await tenancy.add(conn, namespace)
    await conn.close()
    return login.role, login.password


def main(dsn: str, namespace: str, text: str = "") -> None:
    """Make it, and say what was made."""
    role, password = asyncio.run(make(dsn, namespace, text))
    made = {"packages": sendonce_store.__file__, "schema": migrate.newest(), "role": role, "password": password}
    sys.stdout.write(json.dumps(made))


if __name__ == "__main__":
    main(*sys.argv[1:])
