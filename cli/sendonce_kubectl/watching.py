"""Objects as they change: a path to watch in, one state after the other out, also across watches that break.

A watch ends when the API server says so, restarts or is gone; then the object is read anew, and watched from there.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sendonce_kubectl.failing import Exit, PluginError, tell
from sendonce_kubectl.kubectl import Kubectl, KubectlError, Object
from sendonce_kubectl.paths import one, several, watching

__all__ = ["View", "follow", "follow_all"]

FIRST_PAUSE, LONGEST_PAUSE = 0.2, 10.0
MOST_REFUSALS = 8
# the API server ends a watch by itself after half an hour or more
LONGEST_WATCH = 1800


@dataclass(frozen=True, slots=True)
class View:
    """What is watched: one object by its name, or all that a selector matches. `until`: by the monotonic clock."""

    kubectl: Kubectl
    plural: str
    namespace: str
    name: str = ""
    selector: str = ""
    until: float = math.inf

    def read(self) -> tuple[list[Object], str]:
        """The objects now, and the resourceVersion from which to watch."""
        if self.name:
            found = self.kubectl.get(one(self.plural, self.namespace, self.name))
            return [found], found["metadata"]["resourceVersion"]
        query = {"labelSelector": self.selector} if self.selector else {}
        found = self.kubectl.get(several(self.plural, self.namespace, query))
        return found["items"], found["metadata"]["resourceVersion"]

    def path(self, version: str) -> str:
        """The watch; it ends by itself."""
        left = min(LONGEST_WATCH, max(1, math.ceil(self.left))) if self.left < LONGEST_WATCH else LONGEST_WATCH
        where = watching(self.plural, self.namespace, version, name=self.name, selector=self.selector)
        return f"{where}&timeoutSeconds={left}"

    @property
    def left(self) -> float:
        """Seconds that are left."""
        return self.until - time.monotonic()


def follow(view: View, known: Object | None = None) -> Iterator[Object]:
    """Each state of one object, beginning with `known` if that was just read. Raises PluginError when it is deleted."""
    first = None if known is None else ([known], known["metadata"]["resourceVersion"])
    for kind, found in follow_all(view, first):
        if kind == "DELETED":
            raise PluginError(f"{view.name} was deleted", Exit.NOT_FOUND)
        yield found


def follow_all(view: View, first: tuple[list[Object], str] | None = None) -> Iterator[tuple[str, Object]]:
    """What happens to all of them: ADDED, MODIFIED or DELETED, and the object; until the view's end."""
    seen: dict[str, str] = {}
    for found, version in _patiently(view, first):
        now = dict(map(_version, found))
        yield from (("ADDED", item) for item in found if seen.get(_version(item)[0]) != _version(item)[1])
        seen = now
        for kind, item in _watched(view, version):
            seen |= [_version(item)]
            yield kind, item


def _version(item: Object) -> tuple[str, str]:
    """Which object, and which state of it."""
    return item["metadata"]["uid"], item["metadata"]["resourceVersion"]


def _patiently(view: View, first: tuple[list[Object], str] | None) -> Iterator[tuple[list[Object], str]]:
    """Read at once, and again whenever a watch has ended; a server that is away is waited for."""
    pause, known, failures = FIRST_PAUSE, first, list[KubectlError]()
    while True:
        began = time.monotonic()
        try:
            found = first or view.read()
        except KubectlError as error:
            failures.append(error)
            if known is None or not _may_pass(failures):
                raise
            if len(failures) == 1:
                tell(f"{error}; trying again")
        else:
            known, first, failures = found, None, []
            yield found
            # a watch that lasted was a good one
            pause = FIRST_PAUSE if time.monotonic() - began > LONGEST_PAUSE else pause
        if view.left <= 0:
            return
        time.sleep(min(pause, view.left))
        pause = min(LONGEST_PAUSE, pause * 2)


def _may_pass(failures: Sequence[KubectlError]) -> bool:
    """Whether to try again. A server that comes back refuses people for a moment: it has yet to read their roles."""
    last = next((no for no, error in enumerate(reversed(failures)) if error.passes), None)
    return last is not None and last < MOST_REFUSALS


def _watched(view: View, version: str) -> Iterator[tuple[str, Object]]:
    """The events of one watch, to its end; a watch that breaks has ended. Raises KubectlError where it is refused."""
    try:
        with view.kubectl.stream(view.path(version)) as events:
            for event in events:
                if event["type"] == "ERROR":
                    return
                if event["type"] != "BOOKMARK":
                    yield event["type"], event["object"]
    except KubectlError as error:
        if not error.passes and error.reason not in {"Expired", "Gone", "InternalError", ""}:
            raise
    except ValueError:
        # a line that broke off
        return
