"""A program: a PDF on stdin, its text as lines of JSON on stdout.

Owns: calling pypdf within kernel limits of memory and time. Never: imports of this package: the PDF may be
hostile.

It runs as `python -I pdf_extract.py RANGES MOST`. Lines: `{"problem"}` or `{"total"}`, then `{"page", "text",
"pictures"}` each.
"""

from __future__ import annotations

import io
import json
import logging
import resource
import sys
from typing import Any

MEMORY = 1024 * 1024 * 1024
CPU_SECONDS = 30
MAX_PAGE_CHARACTERS = 200_000


def main() -> None:
    ranges, most = sys.argv[1], int(sys.argv[2])
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    logging.disable(logging.CRITICAL)
    try:
        extract(sys.stdin.buffer.read(), ranges, most)
    except MemoryError:
        emit({"problem": "it needs too much memory"})
    except Exception as problem:  # noqa: BLE001 - the edge: a hostile file makes a parser raise anything
        emit({"problem": f"it cannot be read ({type(problem).__name__})"})


def extract(content: bytes, ranges: str, most: int) -> None:
    # Only here: the program's limits come first.
    from pypdf import PdfReader

    reader = PdfReader(io.BytesIO(content))
    if reader.is_encrypted and not reader.decrypt(""):
        emit({"problem": "it is encrypted and needs a password"})
        return
    total = len(reader.pages)
    emit({"total": total})
    if last_of(ranges) > total:
        return
    for number in wanted(ranges, total, most):
        page = reader.pages[number - 1]
        text = page.extract_text()[:MAX_PAGE_CHARACTERS]
        emit({"page": number, "text": text, "pictures": has_pictures(page)})


def wanted(ranges: str, total: int, most: int) -> list[int]:
    """Return the page numbers to read, in the order asked, each once, at most `most`."""
    if not ranges:
        return list(range(1, min(total, most) + 1))
    numbers: dict[int, None] = {}
    for part in ranges.split(","):
        first, _, last = part.partition("-")
        for number in range(int(first), min(int(last or first), total) + 1):
            numbers[number] = None
            if len(numbers) >= most:
                return list(numbers)
    return list(numbers)


def last_of(ranges: str) -> int:
    return max((int(part.partition("-")[2] or part) for part in ranges.split(",") if part), default=0)


def has_pictures(page: Any) -> bool:
    try:
        resources = page["/Resources"]["/XObject"].get_object()
        return any(resources[name].get("/Subtype") == "/Image" for name in resources)
    except (KeyError, AttributeError, TypeError):
        return False


def emit(line: dict[str, Any]) -> None:
    sys.stdout.buffer.write(json.dumps(line).encode() + b"\n")
    sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
