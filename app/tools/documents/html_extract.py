"""A program: an HTML page on stdin, its Markdown as one line of JSON on stdout.

Owns: calling html-to-markdown within kernel limits of memory and time. Never: imports of this package: the
page may be hostile.

It runs as `python -I html_extract.py BASE_URL`. The line is `{"title", "markdown"}` or `{"problem"}`.
"""

from __future__ import annotations

import json
import resource
import sys

MEMORY = 1024 * 1024 * 1024
CPU_SECONDS = 10
MAX_DEPTH = 500
MAX_TITLE = 500


def main() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    try:
        answer = convert(sys.stdin.buffer.read().decode("utf-8", "replace"), sys.argv[1])
    except MemoryError:
        answer = {"problem": "its conversion needs too much memory"}
    except Exception as problem:  # noqa: BLE001 - the edge: a hostile page makes a parser raise anything
        answer = {"problem": f"its conversion failed ({type(problem).__name__})"}
    sys.stdout.buffer.write(json.dumps(answer).encode())


def convert(page: str, base_url: str) -> dict[str, str | None]:
    # Only here: the program's limits come first.
    from html_to_markdown import ConversionOptions, PreprocessingOptions, convert

    options = ConversionOptions(
        base_url=base_url,
        max_depth=MAX_DEPTH,
        hidden_content="drop",
        inline_data_media="alt_text_only",
        extract_metadata=True,
        # Menus go; the library's own rule for them would take the headings in `<header>` along.
        preprocessing=PreprocessingOptions(remove_navigation=False),
        exclude_selectors=["nav"],
    )
    found = convert(page, options)
    title = found.metadata.document.title
    return {
        "title": title[:MAX_TITLE] if title else None,
        "markdown": without_front_matter(found.content or ""),
    }


def without_front_matter(markdown: str) -> str:
    """Return the text without the metadata that the library writes above it."""
    if not markdown.startswith("---\n"):
        return markdown
    head, end, rest = markdown[4:].partition("\n---\n")
    return rest.lstrip("\n") if end and all(":" in line for line in head.split("\n")) else markdown


if __name__ == "__main__":
    main()
