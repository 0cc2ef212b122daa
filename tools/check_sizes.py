"""Check that the code stays small: no file over 400 lines, no function over 60, half the files within 120.

python tools/check_sizes.py         exit 1 with a line for each that is too long
"""

from __future__ import annotations

import ast
import statistics
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
FILE_LINES = 400
FUNCTION_LINES = 60
MEDIAN_LINES = 120
_SKIPPED = {".venv", ".git", "build", "dist", "out", "node_modules"}


def python_files(root: Path) -> list[Path]:
    return sorted(path for path in root.rglob("*.py") if not _SKIPPED & set(path.relative_to(root).parts))


def long_functions(text: str) -> Iterator[tuple[str, int, int]]:
    """Yield name, first line and number of lines of each function that is too long."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            lines = (node.end_lineno or node.lineno) - node.lineno + 1
            if lines > FUNCTION_LINES:
                yield node.name, node.lineno, lines


def complaints(root: Path) -> Iterator[str]:
    source_lines = []
    for path in python_files(root):
        text = path.read_text(encoding="utf-8")
        lines = text.count("\n")
        shown = path.relative_to(root)
        if "src" in shown.parts and lines > 1:
            source_lines.append(lines)
        if lines > FILE_LINES:
            yield f"{shown}: {lines} lines, more than {FILE_LINES}"
        for name, line, length in long_functions(text):
            yield f"{shown}:{line}: {name} has {length} lines, more than {FUNCTION_LINES}"
    median = statistics.median(source_lines)
    if median > MEDIAN_LINES:
        yield f"the median file has {median:.0f} lines, more than {MEDIAN_LINES}"


def main() -> int:
    found = list(complaints(ROOT))
    for complaint in found:
        print(complaint)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
