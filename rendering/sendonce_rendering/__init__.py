"""Templates in, message contents out: sandboxed, bounded and deterministic. `message` tells the story."""

from sendonce_rendering.attached import AttachedFile
from sendonce_rendering.checking import check_message
from sendonce_rendering.content import Content
from sendonce_rendering.errors import RenderError, TemplateError
from sendonce_rendering.message import CompiledMessage, compile_message
from sendonce_rendering.meter import Limits
from sendonce_rendering.template_parts import TemplateParts

__all__ = [
    "AttachedFile",
    "CompiledMessage",
    "Content",
    "Limits",
    "RenderError",
    "TemplateError",
    "TemplateParts",
    "check_message",
    "compile_message",
]
