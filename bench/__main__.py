"""`python -m bench [NAME ...]`: run the named benchmarks, or all of them."""

from __future__ import annotations

import importlib
import pkgutil
import sys

import bench
from bench.figures import machine_now

SUPPORT = {
    "__main__",
    "processes",
    "figures",
    "clock_model",
    "source_tree",
    "stages",
    "openhands_server",
    "searching",
    "debug_client",
    "lsp_client",
    "lsp_projects",
    "recorded_session",
}


def names() -> list[str]:
    return sorted(m.name for m in pkgutil.iter_modules(bench.__path__) if m.name not in SUPPORT)


def main() -> int:
    wanted = sys.argv[1:] or names()
    unknown = [name for name in wanted if name not in names()]
    if unknown:
        print(f"no benchmark {', '.join(unknown)}; there are: {', '.join(names())}", file=sys.stderr)
        return 2
    for name in wanted:
        print(f"== {name} ({machine_now()})", flush=True)
        importlib.import_module(f"bench.{name}").main()
    return 0


if __name__ == "__main__":
    sys.exit(main())
