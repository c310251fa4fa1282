"""Classes that must have the same name for a method, although no server renames it in all of them.

Owns: the projects. Never: what a rename makes of them.
"""

from __future__ import annotations

STRUCTURAL_PYTHON = {
    "pyproject.toml": '[project]\nname = "depot"\nversion = "1"\n',
    "depot/__init__.py": "",
    "depot/scales.py": "from typing import Protocol\n\n\nclass Scale(Protocol):\n"
    "    def weigh(self, load: int) -> int: ...\n\n\n"
    "def total(scale: Scale) -> int:\n    return scale.weigh(2)\n",
    "depot/iron.py": "class Iron:\n    def weigh(self, load: int) -> int:\n        return load\n",
    # The error is in a file that does not have the name.
    "depot/yard.py": "from depot.iron import Iron\nfrom depot.scales import total\n\nfull = total(Iron())\n",
    "depot/apart.py": "wrong: int = ''\n",
}
INHERITED_PYTHON = {
    "pyproject.toml": '[project]\nname = "depot"\nversion = "1"\n',
    "cranes.py": "from abc import ABC, abstractmethod\n\n\nclass Crane(ABC):\n    @abstractmethod\n"
    "    def lift(self) -> int: ...\n\n\ndef use(crane: Crane) -> int:\n    return crane.lift()\n",
    "big.py": "from cranes import Crane, use\n\n\nclass Big(Crane):\n    def lift(self) -> int:\n"
    "        return 1\n\n\nused = use(Big())\n",
}
STRUCTURAL_TYPESCRIPT = {
    "package.json": '{"name": "depot"}\n',
    "tsconfig.json": '{"compilerOptions": {"strict": true, "module": "esnext", "target": "es2022", '
    '"moduleResolution": "bundler", "noEmit": true}, "include": ["src"]}\n',
    "src/scales.ts": "export interface Scale {\n  weigh(load: number): number;\n}\n\n"
    "export function total(scale: Scale): number {\n  return scale.weigh(2);\n}\n",
    "src/iron.ts": "export class Iron {\n  weigh(load: number): number {\n    return load;\n  }\n}\n",
    "src/yard.ts": 'import { Iron } from "./iron";\nimport { total } from "./scales";\n\n'
    "export const full = total(new Iron());\n",
}
COLLIDING_PYTHON = {
    "pyproject.toml": STRUCTURAL_PYTHON["pyproject.toml"],
    "cranes.py": "class Crane:\n    def lift(self) -> int:\n        return 1\n",
    "big.py": "from cranes import Crane\n\n\nclass Big(Crane):\n    def hoist(self) -> str:\n"
    "        return ''\n",
}
_SCALE_GO = "package scale\n\ntype Scale interface{ Weigh(load int) int }\n\n"
_TOTAL_GO = "func Total(scale Scale) int { return scale.Weigh(2) }\n"
STRUCTURAL_GO = {
    "go.mod": "module example.org/depot\n\ngo 1.22\n",
    "scale/scale.go": _SCALE_GO + _TOTAL_GO,
    "iron/iron.go": "package iron\n\ntype Iron struct{}\n\nfunc (Iron) Weigh(load int) int { return load }\n",
    "yard/yard.go": 'package yard\n\nimport (\n\t"example.org/depot/iron"\n\t"example.org/depot/scale"\n)\n\n'
    "var Full = scale.Total(iron.Iron{})\n",
}
ONE_PACKAGE_GO = {
    **{path: text for path, text in STRUCTURAL_GO.items() if not path.startswith("yard/")},
    # A file of a package knows the others without an import.
    "scale/full.go": 'package scale\n\nimport "example.org/depot/iron"\n\nvar Full = Total(iron.Iron{})\n',
}
NESTED_GO = {
    "go.mod": "module example.org/depot\n\ngo 1.22\n\nrequire example.org/depot/scale v0.0.0\n\n"
    "replace example.org/depot/scale => ./scale\n",
    "depot.go": 'package depot\n\nimport "example.org/depot/scale"\n\n'
    "func Use(one scale.Scale) int { return one.Weigh(1) }\n",
    "scale/go.mod": "module example.org/depot/scale\n\ngo 1.22\n",
    "scale/scale.go": _SCALE_GO + _TOTAL_GO,
    "scale/iron/iron.go": STRUCTURAL_GO["iron/iron.go"],
    "scale/yard/yard.go": STRUCTURAL_GO["yard/yard.go"].replace("depot/iron", "depot/scale/iron"),
}
"""The server that is started at the root loads the module below apart from the root's own."""
