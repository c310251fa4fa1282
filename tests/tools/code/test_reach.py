"""Which packages can refer to a file, by their manifests and their imports."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.tools.code.reach import declaring, reaches

pytestmark = pytest.mark.requirement("language_servers.monorepos.units")
SCALE = {
    "scale/package.json": '{"name": "@depot/scale"}',
    "scale/Cargo.toml": "[package]\nname = 'depot-scale'\n",
    "scale/go.mod": "module example.org/depot/scale\n",
    "scale/src/weights.ts": "",
}
BESIDE = {
    "a manifest that names it": ("package.json", '{"dependencies": {"@depot/scale": "*"}}'),
    "a manifest with its place": ("tsconfig.json", '{"references": [{"path": "../scale"}]}'),
    "a crate by its other name": ("Cargo.toml", "[dependencies]\ndepot_scale = { path = '/x' }\n"),
    "a module": ("go.mod", "require example.org/depot/scale v0.0.0\n"),
    "an import of the file": ("src/use.ts", "import { weigh } from '../../elsewhere/weights';\n"),
    "a Python import": ("src/use.py", "from weights import weigh\n"),
    "an include": ("src/use.cpp", '#include "weights.h"\n'),
}
NOT = {
    "only the word": ("src/use.ts", "weigh(1); // weights and scale\n"),
    "a longer name": ("package.json", '{"dependencies": {"@depot/scale-tools": "*"}}'),
    "a manifest that cannot be read": ("package.json/x", ""),
}


def judged(root: Path, name: str, text: str) -> bool:
    for path, content in {**SCALE, f"truck/{name}": text}.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(content)
    target = declaring(root, "scale/src/weights.ts", "scale")
    return reaches(root, "truck", [f"truck/{name}"], target)


@pytest.mark.parametrize("case", BESIDE)
def test_what_reaches_it(tmp_path: Path, case: str) -> None:
    assert judged(tmp_path, *BESIDE[case])


@pytest.mark.parametrize("case", NOT)
def test_what_does_not(tmp_path: Path, case: str) -> None:
    assert not judged(tmp_path, *NOT[case])
