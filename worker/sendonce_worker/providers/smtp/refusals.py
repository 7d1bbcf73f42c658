"""From a reply to the error that is raised for it.

In: a refusing reply and the command it answers. Out: a ``SendError`` with the server's code and words.
"""

from __future__ import annotations

from sendonce_worker.providers.errors import SendError, send_error
from sendonce_worker.providers.smtp.classification import Stage, classify, enhanced_code
from sendonce_worker.providers.smtp.replies import Reply


def refusal(stage: Stage, reply: Reply) -> SendError:
    """Classify; the error's code is the enhanced one where the server gave it, else the three digits."""
    text = reply.text
    enhanced = enhanced_code(text)
    verdict = classify(stage, reply.code, enhanced, text)
    return send_error(verdict.kind, enhanced or str(reply.code), f"{reply.code} {text}", verdict.retry_after)
