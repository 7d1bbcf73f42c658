"""When the object of a finished campaign is deleted (`ttlSecondsAfterFinished`). Facts in, a time out."""

from __future__ import annotations

from datetime import datetime, timedelta

from sendonce_operator.decisions.facts import Situation


def delete_at(situation: Situation) -> datetime | None:
    """The time from which the object may go; None: never, or the campaign has not ended.

    Its status says when it ended: the store need not be there. For an object that is younger than that end (it was made
    again after its campaign had ended) the time counts from its own creation: a tool that applies it would else see it
    vanish at once, and apply it for ever.
    """
    spec, ended, overview = situation.spec, situation.old.completion_time, situation.overview
    if spec is None or spec.ttl_seconds_after_finished is None or ended is None:
        return None
    if overview is not None and overview.ended is None:
        return None
    return max(ended, situation.subject.created_at) + timedelta(seconds=spec.ttl_seconds_after_finished)
