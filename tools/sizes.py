"""Hold functions and files to a size that can be read in one go.

In: the Python files of the source folders. Out: a line for each function above 40 lines and each file above 300, and
exit code 1 if there is one.
"""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = ("cli", "console", "gateway", "operator", "rendering", "store", "worker", "tools")
LONGEST_FUNCTION = 40
LONGEST_FILE = 300


def long_functions(tree: ast.Module) -> Iterator[tuple[int, str, int]]:
    """Yield line, name and length of each function that is too long; its docstring does not count."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            first = node.body[0]
            documented = ast.get_docstring(node) is not None
            docstring = (first.end_lineno or first.lineno) - first.lineno + 1 if documented else 0
            length = (node.end_lineno or node.lineno) - node.lineno + 1 - docstring
            if length > LONGEST_FUNCTION:
                yield node.lineno, node.name, length


def complaints(path: Path) -> Iterator[str]:
    """Yield what is too long in one file."""
    source = path.read_text(encoding="utf-8")
    lines = source.count("\n")
    if lines > LONGEST_FILE:
        yield f"{path}:1: {lines} lines, more than {LONGEST_FILE}: split the file by what changes together"
    for line, name, length in long_functions(ast.parse(source)):
        yield f"{path}:{line}: {name} has {length} lines, more than {LONGEST_FUNCTION}: name its steps"


def main() -> int:
    """Print every complaint; return 1 if there is one."""
    files = [file for folder in FOLDERS for file in sorted((ROOT / folder).rglob("*.py"))]
    found = [complaint for file in files for complaint in complaints(file)]
    print("\n".join(found) or f"Sizes are fine in {len(files)} files.")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
