"""What the first bytes of a source look like when they are not what the spec says."""

_BOM_UTF16 = (b"\xff\xfe", b"\xfe\xff")
_HTML = (b"<!doctype html", b"<html", b"<head", b"<body", b"<?xml", b"<error>")
GZIP_MAGIC = b"\x1f\x8b"
ZIP_MAGIC = b"PK\x03\x04"


def foreign_format(head: bytes) -> str | None:
    """What is wrong with a source that begins so, and the fix; None if it may be text in UTF-8."""
    if head.startswith(GZIP_MAGIC):
        return "is gzip data; set compression: Gzip"
    if head.startswith(ZIP_MAGIC):
        return "is a ZIP archive, perhaps an Excel workbook; export it as CSV in UTF-8"
    if head.startswith(b"PAR1") and head[4:5] < b" ":
        return "is a Parquet file; set format: Parquet"
    if head.startswith(_BOM_UTF16) or head[:64].count(b"\x00") * 4 > len(head[:64]):
        return "is not UTF-8 but looks like UTF-16; save it as UTF-8"
    if looks_like_markup(head):
        return "is an HTML or XML page, perhaps of a login or an error, where a list was expected"
    return None


def looks_like_markup(head: bytes) -> bool:
    """Whether it begins as an HTML or XML page does."""
    return head.removeprefix(b"\xef\xbb\xbf").lstrip()[:20].lower().startswith(_HTML)
