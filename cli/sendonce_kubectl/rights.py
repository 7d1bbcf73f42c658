"""What a refusal means: the API server's words in; which right is missing and who gives it out. Pure."""

from __future__ import annotations

import re

__all__ = ["missing_right", "role_for"]

_FORBIDDEN = re.compile(
    r'User "(?P<user>[^"]*)" cannot (?P<verb>\w+) resource "(?P<resource>[^"]+)"'
    r'(?: in API group "(?P<group>[^"]*)")?(?: in the namespace "(?P<namespace>[^"]*)")?'
)
_READING = ("get", "list", "watch")


def role_for(verb: str, resource: str) -> str:
    """The ClusterRole of the chart that holds a right; empty for what is not Sendonce's."""
    if resource == "notificationcampaigns/recipients":
        return "sendonce-recipients"
    if not resource.startswith(("notification", "clusternotification")):
        return ""
    return "sendonce-viewer" if verb in _READING else "sendonce-editor"


def missing_right(message: str) -> str:
    """`you may not patch notificationcampaigns in namespace shop: …`; the message itself where it is another one."""
    found = _FORBIDDEN.search(message)
    if found is None:
        return f"you may not do that: {message}"
    verb, resource, namespace = found["verb"], found["resource"], found["namespace"]
    where = f"in namespace {namespace}" if namespace else "in all namespaces (-n NAMESPACE asks for one)"
    what = f"you may not {verb} {resource} {where}"
    role = role_for(verb, resource)
    if not role:
        return f"{what}; whoever administers the cluster gives that right"
    least = f", or a Role with the verb {verb} alone," if role == "sendonce-editor" else ""
    return f"{what}: whoever administers the namespace binds ClusterRole {role}{least} to {found['user']}"
