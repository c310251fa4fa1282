"""Write the generated modules: `python -m generator`; `--check` compares and exits 1 when they are stale."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from generator import events, operations, types

FOLDER = Path(__file__).resolve().parents[1]
DOCUMENTS = FOLDER.parents[1] / "openapi"
TARGET = FOLDER / "kaged_client" / "_generated"

_MODELS = '''"""Bodies and answers. Written by `python -m generator`; change the generator instead."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal

from kaged_client._model import Model, absent
'''


def modules() -> dict[str, str]:
    """Return each file's name and text."""
    document = json.loads((DOCUMENTS / "openapi.json").read_text())
    frames = json.loads((DOCUMENTS / "events.schema.json").read_text())
    lines = [_MODELS]
    for name in sorted(_reachable(document)):
        lines += types.model(name, document["components"]["schemas"][name])
    return {
        "__init__.py": '"""Generated modules; see `generator`."""\n',
        "models.py": _formatted("\n".join(lines) + "\n"),
        "events.py": _formatted(events.module(frames)),
        "resources.py": _formatted(operations.module(document, operations.SYNC)),
        "async_resources.py": _formatted(operations.module(document, operations.ASYNC)),
    }


def _reachable(document: types.Schema) -> set[str]:
    """Return the schemas that the operations use, without the error and without pages that are only read."""
    schemas = document["components"]["schemas"]
    found: set[str] = set()
    left = [json.loads(json.dumps(one.described)) for one in operations.operations(document)]
    while left:
        value = left.pop()
        if isinstance(value, list):
            left += value
        elif isinstance(value, dict):
            left += value.values()
            name = types.reference(value)
            if name in schemas and name not in found:
                found.add(name)
                left.append(schemas[name])
    written = json.dumps([one.described for one in operations.operations(document) if one.method != "GET"])
    return {
        name
        for name in found
        if name != "ErrorAnswer" and (not operations.is_page(schemas[name]) or f'/{name}"' in written)
    }


def _formatted(text: str) -> str:
    options = ["--isolated", "--line-length", "110", "--target-version", "py311"]
    options += ["--config", "lint.isort.known-first-party = ['kaged_client']"]
    ruff = [sys.executable, "-m", "ruff"]
    fixes = ["check", "--quiet", "--fix", "--select", "I,F401", *options, "-"]
    sorted_ = subprocess.run([*ruff, *fixes], input=text, capture_output=True, text=True, check=True).stdout
    done = subprocess.run(
        [*ruff, "format", *options, "-"], input=sorted_, capture_output=True, text=True, check=True
    )
    return done.stdout


def main() -> int:
    written = modules()
    if sys.argv[1:] == ["--check"]:
        stale = [name for name, text in written.items() if not _same(TARGET / name, text)]
        if stale:
            print(f"stale: {', '.join(stale)}; run `make clients`", file=sys.stderr)
        return 1 if stale else 0
    TARGET.mkdir(exist_ok=True)
    for name, text in written.items():
        (TARGET / name).write_text(text)
    return 0


def _same(file: Path, text: str) -> bool:
    return file.exists() and file.read_text() == text


if __name__ == "__main__":
    sys.exit(main())
