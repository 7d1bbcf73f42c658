"""Bodies in pieces: coded faster, and read back as the same text."""

from __future__ import annotations

from binascii import a2b_base64, a2b_qp

from hypothesis import example, given
from hypothesis import strategies as st

from sendonce_rendering import Content, compile_message
from sendonce_rendering.content import Pieces
from sendonce_worker.providers.smtp.coding import transfer_encoded

LITERALS = ["<p style='a=b'>\n" * 10, "long " * 40, "é = \n.\n" * 30, " trailing ", "日本語" * 60]
PIECES = st.lists(
    st.sampled_from(LITERALS) | st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\r"), max_size=90),
    max_size=8,
)


def decoded(coding: bytes, body: bytes) -> str:
    if coding == b"quoted-printable":
        body = a2b_qp(body)
    elif coding == b"base64":
        body = a2b_base64(body)
    return body.decode().replace("\r\n", "\n")


@given(parts=PIECES)
@example(parts=["é" * 12 + "x" * 4, LITERALS[0], "é" * 12 + "xy=", LITERALS[0]])
def test_a_body_in_pieces_is_read_back_as_the_same_text(parts: list[str]) -> None:
    text = "".join(parts)
    coding, body = transfer_encoded(text, Pieces(parts, frozenset(LITERALS), text.encode()))
    assert coding == transfer_encoded(text)[0], "the coding is chosen by what is said, not by its pieces"
    assert decoded(coding, body).removesuffix("\n") == text.removesuffix("\n")
    assert body.endswith(b"\r\n")
    assert body.isascii()
    assert b"\n" not in body.replace(b"\r\n", b"")
    assert coding == b"7bit" or max(map(len, body.split(b"\r\n"))) <= 76


def test_the_text_of_a_template_is_found_among_the_pieces() -> None:
    source = "ä" * 200 + "{{ a }}" + "x" * 127 + "{% for b in c %}" + "ö" * 128 + "{{ b }}{% endfor %}"
    content = compile_message({"subject": "s", "text": source}, "Email").render({"a": "1", "c": ["2", "3"]})
    assert content.text_pieces is not None
    assert content.text_pieces.literals == {"ä" * 200, "ö" * 128}
    assert "".join(content.text_pieces.parts) == content.text
    assert [part for part in content.text_pieces.parts if part in content.text_pieces.literals] == [
        "ä" * 200,
        "ö" * 128,
        "ö" * 128,
    ]


def test_pieces_say_nothing_more_than_the_text() -> None:
    content = compile_message({"subject": "s", "text": "é{{ a }}", "html": "<p>{{ a }}"}, "Email").render({"a": "ü"})
    plain = Content(subject="s", text="éü", html="<p>ü")
    assert content == plain
    assert content.digest() == plain.digest()
