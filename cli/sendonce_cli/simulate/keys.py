"""The far end's memory of idempotency keys.

In: a key's scope, the payload's digest and the time. Out: whether the hand-off is new, a repeat,
or in conflict. Keys are remembered from their acceptance on; a refused hand-off leaves no trace.
"""

from dataclasses import dataclass
from enum import Enum, auto

Scope = tuple[str, str]
"""Path and key: two endpoints never share a key."""


class KeyState(Enum):
    """What a key means for the hand-off that brings it."""

    FRESH = auto()
    IN_USE = auto()
    REPEAT = auto()
    OTHER_PAYLOAD = auto()


@dataclass(frozen=True, slots=True)
class Claim:
    """The state of a key, and the message id of its first acceptance if there was one."""

    state: KeyState
    message_id: str | None = None


@dataclass(frozen=True, slots=True)
class _Accepted:
    payload_sha256: str
    message_id: str
    at: float


_FRESH = Claim(KeyState.FRESH)


class KeyMemory:
    """The keys of one protocol: those in use, and those accepted in the order of acceptance."""

    def __init__(self) -> None:
        self._in_use: set[Scope] = set()
        self._accepted: dict[Scope, _Accepted] = {}

    def claim(self, scope: Scope, payload_sha256: str, now: float, window: float) -> Claim:
        """Say what the key means at ``now``; a fresh one is in use until ``release``."""
        self._expire(now, window)
        if scope in self._in_use:
            return Claim(KeyState.IN_USE)
        known = self._accepted.get(scope)
        if known is None:
            self._in_use.add(scope)
            return _FRESH
        same = known.payload_sha256 == payload_sha256
        return Claim(KeyState.REPEAT if same else KeyState.OTHER_PAYLOAD, known.message_id)

    def release(self, scope: Scope) -> None:
        """End the use of a key; without ``accept`` before, it is as if it had never come."""
        self._in_use.discard(scope)

    def accept(self, scope: Scope, payload_sha256: str, message_id: str, now: float) -> None:
        """Remember an acceptance."""
        self._accepted.pop(scope, None)
        self._accepted[scope] = _Accepted(payload_sha256, message_id, now)

    def forget(self) -> None:
        """Forget every acceptance; keys in use stay in use."""
        self._accepted.clear()

    def _expire(self, now: float, window: float) -> None:
        """Forget what is past the window: the memory stays bounded by it."""
        while self._accepted:
            oldest = next(iter(self._accepted))
            if now - self._accepted[oldest].at < window:
                return
            del self._accepted[oldest]
