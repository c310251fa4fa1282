"""Rename symbols of real projects, and have their languages' checkers look at what is left.

`python -m bench.renames [--names 5] [--seed 7] LANGUAGE:CHECKOUT ...` copies each checkout, renames
functions, classes and methods chosen at random, one after the other, and compares the errors before and
after. A refusal is false when the rename, made all the same by `confirm`, leaves no new error. What the check
for new errors costs is in the seconds of a rename. Languages: python, typescript, go, rust.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import re
import shutil
import subprocess
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest.mock import patch

from app.bridges.lsp.manager import Declarations, Declared
from app.tools.code import rename, rename_check
from bench.figures import report, spread
from tests.driver.language_servers import INSTALLED, server_command, server_environment, server_path
from tests.tools.code.conftest import CodeDesk, code_desk

ENDINGS: Mapping[str, tuple[str, ...]] = {
    "python": (".py",),
    "typescript": (".ts", ".tsx", ".js", ".mjs", ".cjs"),
    "go": (".go",),
    "rust": (".rs",),
}
SERVERS = {
    "python": "pyright",
    "typescript": "typescript-language-server",
    "go": "gopls",
    "rust": "rust-analyzer",
}
KINDS = {"function", "class", "method", "struct", "interface"}
FILES_TRIED = 40
NAMES, SEED = 5, 7
SUFFIX = "Anew"
SKIPPED = shutil.ignore_patterns(".git", "target", "__pycache__")
CONFIRMABLE = {"rename_incomplete", "rename_leaves_errors"}
_PLACE = re.compile(r"[:(]\d+[:,]\d+\)?")


@dataclass
class Tally:
    """What became of the renames of one checkout or of all."""

    accepted: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    confirmed: int = 0
    false_refusals: int = 0
    not_checked: int = 0
    new_errors: list[str] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    checking: list[float] = field(default_factory=list)

    def add(self, other: Tally) -> None:
        self.accepted += other.accepted
        self.refused += other.refused
        self.confirmed += other.confirmed
        self.false_refusals += other.false_refusals
        self.not_checked += other.not_checked
        self.new_errors += other.new_errors
        self.seconds += other.seconds
        self.checking += other.checking

    @property
    def all(self) -> int:
        return self.accepted + self.refused.total()


def main() -> None:
    """As one of the benchmarks, with the checkouts of the environment variable KAGED_CHECKOUTS."""
    checkouts = os.environ.get("KAGED_CHECKOUTS", "").split()
    if checkouts:
        measure(checkouts, NAMES, SEED)
    else:
        print("no checkouts to rename in: KAGED_CHECKOUTS='python:/path/to/one go:/path/to/another'")


def commanded() -> None:
    parser = argparse.ArgumentParser(prog="bench.renames", description=__doc__)
    parser.add_argument("--names", type=int, default=NAMES, help="how many renames to try in each checkout")
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("checkouts", nargs="+", metavar="LANGUAGE:CHECKOUT")
    given = parser.parse_args()
    measure(given.checkouts, given.names, given.seed)


def measure(checkouts: Sequence[str], names: int, seed: int) -> None:
    whole = Tally()
    for one in checkouts:
        language, _, path = one.partition(":")
        with tempfile.TemporaryDirectory() as folder:
            shutil.copytree(path, Path(folder) / "project", symlinks=True, ignore=SKIPPED)
            tally = asyncio.run(_checkout(Path(folder), language, names, random.Random(seed)))
        refused = ", ".join(f"{code} {count}" for code, count in tally.refused.items()) or "none"
        print(f"{one}: {tally.accepted} accepted, refused: {refused}", flush=True)
        for error in tally.new_errors[:5]:
            print(f"    new error: {error}", flush=True)
        whole.add(tally)
    refused = ", ".join(f"{code} {count}" for code, count in whole.refused.items()) or "none"
    print(f"{len(checkouts)} checkouts, {whole.accepted} accepted, {whole.confirmed} confirmed")
    print(f"refused: {refused}")
    print(f"in part or not checked for new errors: {whole.not_checked}")
    for name, values in (("a rename", whole.seconds), ("of that the check", whole.checking)):
        if values:
            print(f"{name}: {spread(values, 's')}")
    report("false refusals", 100 * whole.false_refusals / max(whole.all, 1), "%", at_most=2.0)
    report("errors that accepted renames left", float(len(whole.new_errors)), "errors", at_most=0.0001)


async def _checkout(base: Path, language: str, names: int, chance: random.Random) -> Tally:
    declared = Declared(language=language, command=server_command(SERVERS[language]))
    tally = Tally()
    async with code_desk(base, declarations=Declarations(project=(declared,))) as desk:
        before = await asyncio.to_thread(errors, language, desk.root, base / "home")
        tried = 0
        async for place in _places(desk, language, chance):
            await _try(desk, language, place, tally, before)
            tried += 1
            if tried == names:
                break
        after = await asyncio.to_thread(errors, language, desk.root, base / "home")
    tally.new_errors += list((after - before).elements())
    return tally


async def _places(desk: CodeDesk, language: str, chance: random.Random) -> Any:
    """Yield declarations, at most one of each file."""
    every = sorted(
        str(path.relative_to(desk.root))
        for path in desk.root.rglob("*")
        if path.suffix in ENDINGS[language] and path.is_file() and "node_modules" not in path.parts
    )
    for path in chance.sample(every, min(len(every), FILES_TRIED)):
        outline = await desk.call("code.lsp", action="symbols", path=path, limit=200)
        rows = list(_renamable(outline.data)) if outline.type != "error" else []
        if rows:
            yield {"path": path, **chance.choice(rows)}


def _renamable(data: Any) -> Iterator[dict[str, Any]]:
    """Names of special meaning (`__init__`, `main`, tests, those that are declared twice) are left out."""
    counts = Counter(one["name"] for one in data["symbols"])
    for one in data["symbols"]:
        name = one["name"]
        plain = name.isidentifier() and len(name) > 3 and not name.startswith(("__", "test", "Test", "main"))
        if one["kind"] in KINDS and plain and counts[name] == 1:
            yield {"symbol": name}


async def _try(
    desk: CodeDesk, language: str, place: dict[str, Any], tally: Tally, before: Counter[str]
) -> None:
    asked = {**place, "new_name": place["symbol"] + SUFFIX}
    with _timed(tally):
        done = await desk.call("code.lsp", action="rename", **asked)
    if done.type != "error":
        tally.accepted += 1
        tally.not_checked += "ew errors" in (done.data.get("note") or "")
        return
    if str(done.code).startswith("symbol_"):
        return  # no refusal to rename: the name says too little
    tally.refused[str(done.code)] += 1
    print(f"    {place['path']}: {(done.error_text or '')[:300]}", flush=True)
    if done.code not in CONFIRMABLE:
        return
    kept = {path: path.read_bytes() for path in desk.root.rglob("*") if path.is_file()}
    home = desk.root.parent / "home"
    known = await asyncio.to_thread(errors, language, desk.root, home)
    for _ in CONFIRMABLE:  # one list after the other
        if confirm := (done.detail or {}).get("confirm"):
            done = await desk.call("code.lsp", action="rename", **asked, confirm=confirm)
    if done.type == "error":
        print(f"    {place['path']}: {(done.error_text or '')[:300]}", flush=True)
        return
    tally.confirmed += 1
    if not (await asyncio.to_thread(errors, language, desk.root, home)) - (known | before):
        tally.false_refusals += 1
    for path, content in kept.items():
        if path.read_bytes() != content:
            path.write_bytes(content)


@contextmanager
def _timed(tally: Tally) -> Iterator[None]:
    """Take the time of a rename, and of what is checked before it is written."""
    check = rename_check.check_errors

    async def timed(*given: Any) -> str | None:
        began = time.perf_counter()
        try:
            return await check(*given)
        finally:
            tally.checking.append(time.perf_counter() - began)

    began = time.perf_counter()
    with patch.object(rename, "check_errors", timed):
        yield
    tally.seconds.append(time.perf_counter() - began)


def errors(language: str, root: Path, home: Path) -> Counter[str]:
    """Return the errors of a project, without their places and as if nothing had been renamed."""
    environment = server_environment(home) | {"PYRIGHT_PYTHON_IGNORE_WARNINGS": "1"}
    if language == "python":
        command = [str(server_path("pyright").with_name("pyright")), "--outputjson", "."]
    elif language == "typescript":
        compiler = INSTALLED / "npm" / "node_modules" / ".bin" / "tsc"
        own = ["--project", "."] if (root / "tsconfig.json").exists() else _loose(root)
        command = [str(compiler), "--noEmit", "--pretty", "false", *own]
    else:
        program = {
            "go": ("gopls", "go", "vet", "-tests=false", "./..."),
            "rust": ("rust-analyzer", "cargo", "check", "--tests"),
        }
        server, name, *arguments = program[language]
        command = [str(server_path(server).with_name(name)), *arguments]
    done = subprocess.run(command, cwd=root, env=environment, capture_output=True, text=True, check=False)
    said = (
        _of_pyright(done.stdout, root) if language == "python" else (done.stdout + done.stderr).splitlines()
    )
    lines = (_PLACE.sub("", line).replace(SUFFIX, "").strip() for line in said)
    return Counter(line for line in lines if "error" in line.lower() or language == "go")


def _loose(root: Path) -> list[str]:
    files = [str(one) for one in sorted(root.rglob("*.[jt]s")) if "node_modules" not in one.parts]
    return [
        "--allowJs",
        "--checkJs",
        "--skipLibCheck",
        "--module",
        "esnext",
        "--moduleResolution",
        "bundler",
        *files,
    ]


def _of_pyright(output: str, root: Path) -> list[str]:
    try:
        found = json.loads(output)["generalDiagnostics"]
    except (ValueError, KeyError):
        return [f"error: {output[:500]}"]
    return [
        f"{Path(one['file']).relative_to(root)}: error {one.get('rule', '')} {one['message']}"
        for one in found
        if one["severity"] == "error"
    ]


if __name__ == "__main__":
    commanded()
