"""A process of its own that measures how the CPU time of the daemon's patterns and readers grows.

Prints one line before each measurement, so that whoever ends it knows what it was, and one JSON line for
each that grows too fast. Usage: `python -m tests.growth.measured patterns|readers`.
"""

from __future__ import annotations

import ast
import importlib
import json
import pkgutil
import re
import signal
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import app
from tests.driver.rounds import NIGHT
from tests.growth.pumps import Pumps, text_of

SMALL, LARGE = 64 * 1024, 256 * 1024
SCREENED = 16 * 1024
CLEARLY_LINEAR = 0.006
"""CPU seconds that nothing whose time grows with the square gets by with at `SCREENED` characters."""
MAX_RATIO = 8
NEARLY_LINEAR = 4.8
"""From `SCREENED` to `SMALL`, four times the text. Time of a*n + b*n*n that stays below this ratio
stays below 7 from `SMALL` to `LARGE`. By day that is enough. By night all is measured."""
CHECKED_AGAIN = 3
HARD_STOP = 10
NOISE = 0.1
"""CPU seconds below which a ratio says nothing."""


def main() -> None:
    {"patterns": _patterns, "readers": _readers}[sys.argv[1]]()
    _say("done")


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def _patterns() -> None:
    for name, pattern, searches in all_patterns():
        encode = isinstance(pattern.pattern, bytes)
        for prefix, pump in Pumps(pattern.pattern, pattern.flags & ~re.UNICODE if encode else pattern.flags):
            made = partial(_text, prefix, pump, encode)
            _measure(f"{name} on {prefix!r} + {pump!r} * n", partial(_apply, pattern, searches), made)


def _readers() -> None:
    from tests.growth.readers import READERS, shapes

    for reader in READERS:
        for shape, make in shapes(reader):
            _measure(f"{reader.__name__} on {shape}", reader, make)


def _text(prefix: str, pump: str, encode: bool, size: int) -> str | bytes:
    text = text_of(prefix, pump, size)
    return text.encode("latin-1", "replace") if encode else text


def _apply(pattern: re.Pattern[Any], searches: bool, text: Any) -> None:
    pattern.match(text)
    pattern.fullmatch(text)
    if searches:
        for _ in pattern.finditer(text):
            pass


def _measure(name: str, run: Callable[[Any], object], make: Callable[[int], Any]) -> None:
    _say(name)
    signal.setitimer(signal.ITIMER_PROF, HARD_STOP)
    screened = _seconds(run, make(SCREENED))
    small = _seconds(run, make(SMALL)) if screened > CLEARLY_LINEAR else 0.0
    if small > (0.0 if NIGHT else screened * NEARLY_LINEAR):
        large = _seconds(run, make(LARGE))
        for _ in range(CHECKED_AGAIN):
            if large / max(small, NOISE) < MAX_RATIO:
                break
            # Neighbours on the machine cost cache and clock: the least of each is nearest to the truth.
            small, large = min(small, _seconds(run, make(SMALL))), min(large, _seconds(run, make(LARGE)))
        else:
            _say(json.dumps({"slow": name, "small": small, "large": large}))
    signal.setitimer(signal.ITIMER_PROF, 0)


def _seconds(run: Callable[[Any], object], text: Any) -> float:
    started = time.process_time()
    run(text)
    return time.process_time() - started


def all_patterns() -> Iterator[tuple[str, re.Pattern[Any], bool]]:
    """Yield every compiled pattern that a module of the daemon holds, each once, and whether it is looked
    for anywhere in a text, or only from its beginning."""
    seen: set[tuple[Any, int, bool]] = set()
    used: dict[str, set[str]] = {}
    root = Path(app.__path__[0])
    for path in root.rglob("*.py"):
        module_name = ".".join(path.relative_to(root.parent).with_suffix("").parts).removesuffix(".__init__")
        for name, method in _USE.findall(path.read_text(encoding="utf-8")):
            used.setdefault(f"{module_name}.{name}" if name.startswith("_") else name, set()).add(method)
        yield from _written_inline(path, module_name)
    for module in pkgutil.walk_packages(app.__path__, "app."):
        if module.name.rpartition(".")[2] == "__main__":
            continue
        for name, value in vars(importlib.import_module(module.name)).items():
            full = f"{module.name}.{name}"
            for pattern in _held(value, 0):
                searches = not used.get(full if name.startswith("_") else name, {"search"}) <= {
                    "match",
                    "fullmatch",
                }
                if (pattern.pattern, pattern.flags, searches) not in seen:
                    seen.add((pattern.pattern, pattern.flags, searches))
                    yield full, pattern, searches


_USE = re.compile(r"\b(\w+)\.(search|match|fullmatch|findall|finditer|subn?|split)\(")


def _written_inline(path: Path, module: str) -> Iterator[tuple[str, re.Pattern[Any], bool]]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.args):
            continue
        first, method = node.args[0], node.func.attr
        is_re = isinstance(node.func.value, ast.Name) and node.func.value.id == "re"
        if is_re and isinstance(first, ast.Constant) and _USE.match(f"re.{method}("):
            yield f"{module}:{node.lineno}", re.compile(first.value), method not in {"match", "fullmatch"}


def _held(value: Any, depth: int) -> Iterator[re.Pattern[Any]]:
    if isinstance(value, re.Pattern):
        yield value
    elif depth < 4 and isinstance(value, dict):
        for one in value.values():
            yield from _held(one, depth + 1)
    elif depth < 4 and isinstance(value, list | tuple | set | frozenset):
        for one in value:
            yield from _held(one, depth + 1)


if __name__ == "__main__":
    main()
