"""The projects of `bench lsp`: one per server, of a hundred files or more."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import app

MODULES = 120


@dataclass(frozen=True, slots=True)
class Project:
    """`use` is a place (path, line, column) where a name is used, `heavy` one (path, the beginning of a
    line, column) where a name that is used in many places stands, `few` one where a name that is used
    in three places stands; `edited` is a file of some hundred
    lines, as people edit them, and `contents` two texts for it, of which the second has an error."""

    language: str
    language_id: str
    make: Callable[[Path], None]
    use: tuple[str, int, int]
    heavy: tuple[str, str, int]
    few: tuple[str, int, int]
    edited: str
    contents: tuple[str, str]

    def heavy_line(self, root: Path) -> int:
        """Return the line of `heavy`, counted from 1."""
        path, beginning, _ = self.heavy
        lines = (root / path).read_text().splitlines()
        return next(number for number, line in enumerate(lines, 1) if line.startswith(beginning))


def _python(root: Path) -> None:
    """Copy the source of kaged itself."""
    home = Path(app.__file__).resolve().parent
    shutil.copytree(home, root / "app", ignore=shutil.ignore_patterns("__pycache__", "static"))
    (root / "pyrightconfig.json").write_text('{"typeCheckingMode": "basic"}')
    (root / "edited.py").write_text(_PYTHON[0])
    (root / "use.py").write_text(
        "from app.errors import ToolError\n\nprint(ToolError)\nfew = 1\nprint(few + few)\n"
    )


def _typescript(root: Path) -> None:
    (root / "tsconfig.json").write_text('{"compilerOptions": {"strict": true, "target": "es2022"}}')
    (root / "heavy.ts").write_text("export function heavy(x: number): number {\n  return x;\n}\n")
    for number in range(MODULES):
        (root / f"m{number}.ts").write_text(
            f'import {{ heavy }} from "./heavy";\n\nexport function f{number}(x: number): number {{\n'
            + "".join(f"  x += heavy(x + {line});\n" for line in range(20))
            + "  return x;\n}\n"
        )
    (root / "use.ts").write_text(
        'import { heavy } from "./heavy";\n\nheavy(1);\nconst few = 1;\nheavy(few + few);\n'
    )
    (root / "edited.ts").write_text(_TYPESCRIPT[0])


def _go(root: Path) -> None:
    (root / "go.mod").write_text("module bench\n\ngo 1.21\n")
    (root / "heavy.go").write_text("package bench\n\nfunc Heavy(x int) int { return x }\n")
    for number in range(MODULES):
        (root / f"m{number}.go").write_text(
            f"package bench\n\nfunc F{number}(x int) int {{\n"
            + "".join(f"\tx += Heavy(x + {line})\n" for line in range(20))
            + "\treturn x\n}\n"
        )
    (root / "use.go").write_text("package bench\n\nvar Used = Heavy(1)\nvar few = 1\nvar More = few + few\n")
    (root / "edited.go").write_text(_GO[0])


def _cpp(root: Path) -> None:
    (root / "compile_flags.txt").write_text("-std=c++17\n")
    (root / "heavy.h").write_text("#pragma once\n\nint heavy(int x);\n")
    (root / "use.cpp").write_text(
        '#include "heavy.h"\n\nint use(int x) {\n'
        + "  x += heavy(x);\n" * 500
        + "  return x;\n}\nint few = 1;\nint more = few + few;\n"
    )
    (root / "edited.cpp").write_text(_CPP[0])


_SERVICE = (Path(app.__file__).resolve().parent / "tools" / "dispatch" / "service.py").read_text()
_PYTHON = (_SERVICE + "\nx: int = 1\n", _SERVICE + '\nx: int = "one"\n')
_FUNCTIONS = 'import { heavy } from "./heavy";\n' + "".join(
    f"""
export function edited{number}(names: Map<string, number[]>): string[] {{
  const found = [...names].filter(([name, counts]) => counts.length > heavy({number}) && name !== "");
  return found.map(([name, counts]) => `${{name}}: ${{counts.reduce((sum, one) => sum + one, 0)}}`);
}}
"""
    for number in range(60)
)
_TYPESCRIPT = (_FUNCTIONS + "export const x: number = 1;\n", _FUNCTIONS + 'export const x: number = "one";\n')
_GO = ("package bench\n\nvar Edited int = 1\n", 'package bench\n\nvar Edited int = "one"\n')
_CPP = ('#include "heavy.h"\nint edited = heavy(1);\n', '#include "heavy.h"\nint edited = heavy("one");\n')

PROJECTS = (
    Project(
        "python",
        "python",
        _python,
        ("use.py", 3, 6),
        ("app/errors.py", "class ToolError", 6),
        ("use.py", 4, 0),
        "edited.py",
        _PYTHON,
    ),
    Project(
        "typescript",
        "typescript",
        _typescript,
        ("use.ts", 3, 0),
        ("heavy.ts", "export function", 16),
        ("use.ts", 4, 6),
        "edited.ts",
        _TYPESCRIPT,
    ),
    Project(
        "go", "go", _go, ("use.go", 3, 11), ("heavy.go", "func Heavy", 5), ("use.go", 4, 4), "edited.go", _GO
    ),
    Project(
        "cpp",
        "cpp",
        _cpp,
        ("use.cpp", 4, 7),
        ("use.cpp", "  x += heavy", 7),
        ("use.cpp", 506, 4),
        "edited.cpp",
        _CPP,
    ),
)
