"""Reads the text of a PDF page by page, in a child process.

Owns: starting `pdf_extract`, its deadline, and its answer. Never: parsing a PDF in the daemon.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson

from app.bridges.processes.child import Finished, SpawnFailed
from app.bridges.processes.child_starter import ChildStarter
from app.errors import ToolError, invalid_params

MAX_BYTES = 32 * 1024 * 1024
MAX_PAGES = 30
SECONDS = 20.0
MAX_OUTPUT = 16 * 1024 * 1024
PROGRAM = Path(__file__).with_name("pdf_extract.py")


@dataclass(frozen=True, slots=True)
class PdfText:
    """`lines` with a header line before each page; `notes` say what is missing and why."""

    total_pages: int | None
    lines: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


async def pdf_text(
    children: ChildStarter,
    environment: Mapping[str, str],
    content: bytes,
    pages: str | None,
    *,
    owner: str,
    seconds: float = SECONDS,
) -> PdfText:
    """Return the text of `pages`, else of the first pages. Raises ToolError `invalid_params` for a missing
    page, `tool_unavailable` when the program cannot be started."""
    wanted = (pages or "").replace(" ", "")
    try:
        done = await children.run(
            [sys.executable, "-I", str(PROGRAM), wanted, str(MAX_PAGES)],
            owner=owner,
            cwd=Path("/"),
            env=environment,
            input=content,
            seconds=seconds,
            max_output=MAX_OUTPUT,
        )
    except SpawnFailed as problem:
        raise ToolError("tool_unavailable", f"PDFs cannot be read here: {problem.reason}") from None
    return _text_of(_reports(done), done, pages)


def page_ranges(pages: str) -> list[tuple[int, int]]:
    """Return the first and last page of each part of a text such as `1-5,8`."""
    found = []
    for part in pages.split(","):
        first, _, last = part.partition("-")
        found.append((int(first), int(last or first)))
    return found


def _reports(done: Finished) -> list[dict[str, Any]]:
    """Return the whole lines that came; the last one may be cut off."""
    return [orjson.loads(line) for line in done.stdout.split(b"\n")[:-1]]


def _text_of(reports: list[dict[str, Any]], done: Finished, pages: str | None) -> PdfText:
    total = next((int(report["total"]) for report in reports if "total" in report), None)
    read = [report for report in reports if "page" in report]
    if total is not None and pages is not None:
        _check(pages, total)
    notes = [f"the PDF: {report['problem']}" for report in reports if "problem" in report]
    if not notes:
        notes += _shortfall(done, read, total, pages)
    return PdfText(total, [line for report in read for line in _page(report)], notes + _without_text(read))


def _check(pages: str, total: int) -> None:
    last = max(last for _, last in page_ranges(pages))
    if last > total:
        message = f"there is no page {last}: the PDF has {total} page{'' if total == 1 else 's'}"
        raise invalid_params(message, {}, total_pages=total)


def _shortfall(done: Finished, read: list[dict[str, Any]], total: int | None, pages: str | None) -> list[str]:
    """Say which pages are missing that were asked for."""
    last = read[-1]["page"] if read else 0
    if done.timed_out:
        return [f"reading was stopped for taking too long, {_after(last)}"]
    if done.truncated:
        return [f"reading was stopped because the text is too long, {_after(last)}"]
    if done.exit_code != 0:
        return [f"reading the PDF failed, {_after(last)}"]
    if pages is None and total is not None and total > len(read):
        return [f"these are the first {len(read)} of {total} pages; name others with pages"]
    if pages is not None and sum(b - a + 1 for a, b in page_ranges(pages)) > len(read) == MAX_PAGES:
        return [f"one answer holds {MAX_PAGES} pages, so it ends with page {last}"]
    return []


def _after(last: int) -> str:
    return f"after page {last}" if last else "before the first page"


def _page(report: dict[str, Any]) -> list[str]:
    text = str(report["text"]).strip("\n")
    return [f"=== page {report['page']} ===", *(text.split("\n") if text.strip() else [])]


def _without_text(read: list[dict[str, Any]]) -> list[str]:
    empty = [report for report in read if not str(report["text"]).strip()]
    scanned = [str(report["page"]) for report in empty if report["pictures"]]
    blank = [str(report["page"]) for report in empty if not report["pictures"]]
    notes = []
    if scanned:
        notes.append(f"no text but pictures on page {', '.join(scanned)}: scanned, as it seems")
    if blank:
        notes.append(f"no text on page {', '.join(blank)}")
    return notes
