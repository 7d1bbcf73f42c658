"""What the API server says: a token in, who that is; who, where and what in, whether they may. Believed for seconds.

TokenReview and SubjectAccessReview; no impersonation, and no right of the viewer's is ever used by the console itself.
Answers are kept for at most ten seconds, and one question that many requests have at once is asked once.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Generic, TypeVar

from sendonce_console.access.cluster import ApiRefusalError, Cluster
from sendonce_console.access.viewer import What
from sendonce_console.web.problems import ProblemError

log = logging.getLogger(__name__)
T = TypeVar("T")
_TOKENS = "/apis/authentication.k8s.io/v1/tokenreviews"
_ACCESS = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
_OWN_ACCESS = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
_REVIEWING = {"group": "authentication.k8s.io", "resource": "tokenreviews", "verb": "create"}
_RESOURCES: Mapping[What, Mapping[str, str]] = {
    "campaigns": {"verb": "get", "resource": "notificationcampaigns"},
    "people": {"verb": "get", "resource": "notificationcampaigns", "subresource": "recipients"},
    "levers": {"verb": "create", "resource": "notificationactions"},
    "wishes": {"verb": "patch", "resource": "notificationcampaigns"},
}
_MOST = 20_000
# a scrape is given up after ten
_LOOK_SECONDS = 3.0
_NO_RIGHT = "the console's account may not create tokenreviews: bind it to the ClusterRole of the chart"


@dataclass(frozen=True)
class Identity:
    """Who the API server says it is; the parts go into an access review as they came."""

    name: str
    uid: str
    groups: tuple[str, ...]
    extra: tuple[tuple[str, tuple[str, ...]], ...]

    def subject(self) -> dict[str, Any]:
        """As an access review takes it."""
        extra = {name: list(values) for name, values in self.extra}
        return {"user": self.name, "uid": self.uid, "groups": list(self.groups), "extra": extra}


def identity_of(user: Mapping[str, Any]) -> Identity:
    """Read the user of a token review."""
    extra = tuple(sorted((name, tuple(values)) for name, values in (user.get("extra") or {}).items()))
    return Identity(user["username"], user.get("uid") or "", tuple(user.get("groups") or ()), extra)


class Remembered(Generic[T]):
    """Answers by question, for a few seconds; one that is being asked is not asked again, and errors are not kept."""

    def __init__(self, seconds: float) -> None:
        """`seconds`: how long an answer is good."""
        self._seconds = seconds
        self._kept: OrderedDict[object, tuple[float, asyncio.Task[T]]] = OrderedDict()

    async def answer(self, question: object, ask: Callable[[], Awaitable[T]]) -> T:
        """The answer of a moment ago, or a new one."""
        until, task = self._kept.get(question, (0.0, None))
        if task is None or (task.done() and (time.monotonic() >= until or _failed(task))):
            task = asyncio.ensure_future(_awaited(ask))
            self._kept[question] = (time.monotonic() + self._seconds, task)
            self._kept.move_to_end(question)
            while len(self._kept) > _MOST:
                self._kept.popitem(last=False)
        return await asyncio.shield(task)


async def _awaited(ask: Callable[[], Awaitable[T]]) -> T:
    return await ask()


def _failed(task: asyncio.Task[Any]) -> bool:
    return task.cancelled() or task.exception() is not None


class Reviews:
    """Asks the API server."""

    def __init__(self, cluster: Cluster, audience: str, *, any_audience: bool, seconds: float) -> None:
        """`audience`: what tokens for the console are made for; `any_audience`: those for the API server do too."""
        self._cluster = cluster
        self._audiences: Sequence[str | None] = (audience, None) if any_audience else (audience,)
        self._who: Remembered[Identity | None] = Remembered(seconds)
        self._may: Remembered[bool] = Remembered(seconds)

    async def who(self, token: str) -> Identity | None:
        """Whose token it is; None: nobody's, or made for somebody else. Raises ProblemError."""
        digest = hashlib.sha256(token.encode()).digest()
        return await self._who.answer(digest, lambda: self._review(token))

    async def may(self, who: Identity, namespace: str, what: What) -> bool:
        """Whether they may, in the namespace; '' asks for all namespaces at once. Raises ProblemError."""
        return await self._may.answer((who, namespace, what), lambda: self._access(who, namespace, what))

    async def problem(self) -> str | None:
        """Why nobody can be asked about now; None: the API server answers, and lets the console review tokens."""
        spec = {"resourceAttributes": _REVIEWING}
        body = {"apiVersion": _version(_OWN_ACCESS), "kind": "SelfSubjectAccessReview", "spec": spec}
        try:
            async with asyncio.timeout(_LOOK_SECONDS):
                answer = await self._cluster.create(_OWN_ACCESS, body)
        except ApiRefusalError as error:
            # where accounts may not ask about themselves it has answered, and says no more
            return None if error.status == HTTPStatus.FORBIDDEN else f"the API server answers {error.status}"
        except ProblemError:
            return "the API server can't be reached"
        except TimeoutError:
            return f"the API server has not answered within {_LOOK_SECONDS:g} s"
        return None if answer.get("status", {}).get("allowed") is True else _NO_RIGHT

    async def close(self) -> None:
        """Close the connections."""
        await self._cluster.close()

    async def _review(self, token: str) -> Identity | None:
        for audience in self._audiences:
            spec = {"token": token} | ({"audiences": [audience]} if audience else {})
            answer = await self._asked(_TOKENS, "TokenReview", spec)
            status = answer.get("status", {})
            # an authenticator that knows no audiences answers without them: then it is not known to be for us
            meant = audience is None or audience in (status.get("audiences") or ())
            if status.get("authenticated") and meant:
                return identity_of(status["user"])
        return None

    async def _access(self, who: Identity, namespace: str, what: What) -> bool:
        wanted = {"group": "sendonce.dev", "namespace": namespace, **_RESOURCES[what]}
        spec = {**who.subject(), "resourceAttributes": wanted}
        answer = await self._asked(_ACCESS, "SubjectAccessReview", spec)
        return answer.get("status", {}).get("allowed") is True

    async def _asked(self, path: str, kind: str, spec: Mapping[str, Any]) -> Mapping[str, Any]:
        """A review with its answer. Raises ProblemError also where the API server refuses the console itself."""
        try:
            return await self._cluster.create(path, {"apiVersion": _version(path), "kind": kind, "spec": spec})
        except ApiRefusalError as error:
            log.warning("the API server refuses a %s: it answers %s", kind, error.status)
            detail = f"It answers {error.status} to the console's own account, which must be allowed to create {kind}s."
            raise ProblemError(HTTPStatus.SERVICE_UNAVAILABLE, "The API server can't be asked", detail) from error


def _version(path: str) -> str:
    return path.removeprefix("/apis/").rpartition("/")[0]
