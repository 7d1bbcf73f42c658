"""The process that shapes one template: a request in JSON on standard input, an answer in JSON on standard output.

    {"work": "mjml" | "css", "markup": "…"}  →  {"html": "…"} or {"error": "…"}

It is run by its path, with nothing of ours imported, so that it starts quickly. A library that recurses too deeply or
loops ends this process and no other.
"""

import json
import resource
import sys

CPU_SECONDS = 5
MEMORY_BYTES = 512 * 1024 * 1024


def shaped(work: str, markup: str) -> str:
    """Return the HTML. Raises ValueError and its kin of the libraries."""
    if work == "mjml":
        import mjml  # noqa: PLC0415  # the other library is not needed

        return str(mjml.mjml2html(markup))
    import css_inline  # noqa: PLC0415

    inliner = css_inline.CSSInliner(load_remote_stylesheets=False, keep_style_tags=True)
    return inliner.inline(markup)


def main() -> None:
    """Answer one request."""
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    request = json.load(sys.stdin)
    try:
        answer = {"html": shaped(request["work"], request["markup"])}
    except Exception as error:  # noqa: BLE001  # whatever it is, it is the template's
        answer = {"error": " ".join(str(error).split())[:300]}
    json.dump(answer, sys.stdout)


if __name__ == "__main__":
    main()
