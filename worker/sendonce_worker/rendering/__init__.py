"""Templates in, message contents out: sandboxed, bounded and deterministic. `message` tells the story."""

from sendonce_worker.rendering.attached import AttachedFile
from sendonce_worker.rendering.content import Content
from sendonce_worker.rendering.errors import RenderError, TemplateError
from sendonce_worker.rendering.message import CompiledMessage, compile_message
from sendonce_worker.rendering.meter import Limits
from sendonce_worker.rendering.template_parts import TemplateParts

__all__ = [
    "AttachedFile",
    "CompiledMessage",
    "Content",
    "Limits",
    "RenderError",
    "TemplateError",
    "TemplateParts",
    "compile_message",
]
