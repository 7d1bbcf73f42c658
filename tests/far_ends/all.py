"""Every named far end."""

from __future__ import annotations

from tests.far_ends.email import MailgunFace, PostmarkFace, ResendFace, SendGridFace, SesFace
from tests.far_ends.face import Face
from tests.far_ends.messaging import LineFace, SlackFace, TelegramFace, TwilioFace, VonageFace
from tests.far_ends.push import FcmFace, StandardWebhooksFace, WebPushFace

FACES: tuple[type[Face], ...] = (
    SesFace,
    SendGridFace,
    MailgunFace,
    PostmarkFace,
    ResendFace,
    TwilioFace,
    VonageFace,
    LineFace,
    SlackFace,
    TelegramFace,
    FcmFace,
    WebPushFace,
    StandardWebhooksFace,
)
