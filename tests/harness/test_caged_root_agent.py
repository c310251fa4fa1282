"""One caged root agent, as `kaged init` writes it, in a real project of each package manager.

No registry is asked: the cage's way out leads to the open internet only, which a test may not depend on. npm
installs a folder of the project, pip a wheel from one, Cargo and Go a dependency by path. Which hosts the
cage reaches, and that others are refused by name, is tested with the proxy.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from app.bridges.sandbox.tier import Tier
from app.cli.toolchains import hidden_toolchains
from app.daemon import cage_setup
from app.harness.dsl.starter import write_starter
from tests.driver.machine import TOOLS, Lack
from tests.driver.sessions import Driver, driven

pytestmark = [pytest.mark.requirement("in_use.root"), pytest.mark.timeout(600)]
ROOT = Path(__file__).resolve().parents[2]
COMPILERS = Path(os.path.realpath(ROOT / ".language-servers" / "bin"))
ADAPTERS = Path(os.path.realpath(ROOT / ".debug-adapters" / "bin"))
PYTHON = Path(os.path.realpath(getattr(sys, "_base_executable", None) or sys.executable))
CALL_SECONDS = 300.0
"""Go compiles its standard library at the first build."""
STATE_LINE = "    state: persistent\n"


@dataclass(frozen=True)
class Kind:
    """A project of one package manager. The commands are what its agent runs; `debug` is what it launches,
    and `stop` the file and line with a breakpoint. `programs` have to be there."""

    name: str
    files: dict[str, str]
    install: str
    build: str
    test: str
    debug: dict[str, Any]
    stop: tuple[str, int]
    programs: tuple[str, ...]
    host: str
    fetch: str
    """Asks the registry at `host` for a package, once."""
    ptrace: bool = False
    shows: str = "hello"
    """What the debugger says of the variable `text`."""


NPM = Kind(
    "npm",
    {
        "package.json": '{"name": "shop", "version": "1.0.0", "scripts": {"build": "node build.js", '
        '"test": "node --test"}}',
        "build.js": 'require("fs").writeFileSync("built.txt", require("greeting")("npm"));\n',
        "main.js": 'const greet = require("greeting");\nconst text = greet("npm");\nconsole.log(text);\n',
        "greeting.test.js": 'require("node:test")("it greets", () => require("assert").equal('
        'require("greeting")("you"), "hello you"));\n',
        "packages/greeting/package.json": '{"name": "greeting", "version": "1.0.0", "main": "index.js"}',
        "packages/greeting/index.js": "module.exports = (name) => `hello ${name}`;\n",
    },
    "npm install --offline --no-audit --no-fund ./packages/greeting",
    "npm run build && cat built.txt",
    "npm test",
    {"runtime": "node", "script": "main.js"},
    ("main.js", 3),
    ("node", "npm", "js-debug-adapter"),
    "registry.npmjs.org:443",
    "npm install --fetch-retries=0 is-odd",
)
PIP = Kind(
    "pip",
    {
        "pyproject.toml": '[project]\nname = "shop"\nversion = "1"\n',
        "main.py": 'from greeting import greet\ntext = greet("pip")\nprint(text)\n',
        "test_main.py": "import unittest\nfrom greeting import greet\n\n\n"
        "class Greeting(unittest.TestCase):\n"
        '    def test_it(self):\n        self.assertEqual(greet("you"), "hello you")\n',
    },
    f"{PYTHON} -m venv .venv && .venv/bin/pip install -q --no-index --find-links wheels greeting",
    ".venv/bin/python -m compileall -q main.py && .venv/bin/python main.py",
    ".venv/bin/python -m unittest -v",
    {"runtime": "python", "script": "main.py", "env": {"PYTHONPATH": "vendored"}},
    ("main.py", 3),
    (),
    "pypi.org:443",
    f"{PYTHON} -m venv .venv && .venv/bin/pip install --retries 1 six 2>&1 | tail -20",
)
CARGO = Kind(
    "cargo",
    {
        "Cargo.toml": '[package]\nname = "shop"\nversion = "0.1.0"\nedition = "2021"\n',
        "src/main.rs": 'fn main() {\n    let text = greeting::greet("cargo");\n    println!("{text}");\n}\n\n'
        '#[test]\nfn it_greets() {\n    assert_eq!(greeting::greet("you"), "hello you");\n}\n',
        "greeting/Cargo.toml": '[package]\nname = "greeting"\nversion = "0.1.0"\nedition = "2021"\n',
        "greeting/src/lib.rs": 'pub fn greet(name: &str) -> String {\n    format!("hello {name}")\n}\n',
    },
    "cargo add --offline --path greeting",
    "cargo build --offline && target/debug/shop",
    "cargo test --offline",
    {"runtime": "rust", "script": "target/debug/shop"},
    ("src/main.rs", 3),
    ("cargo", "rustc", "gdb"),
    "index.crates.io:443",
    "CARGO_NET_RETRY=0 cargo add itoa",
    ptrace=True,
    shows="alloc::string::String",
)
GO = Kind(
    "go",
    {
        "go.mod": "module example.org/shop\n\ngo 1.21\n",
        "main.go": 'package main\n\nimport (\n\t"fmt"\n\n\t"example.org/greeting"\n)\n\nfunc main() {\n'
        '\ttext := greeting.Greet("go")\n\tfmt.Println(text)\n}\n',
        "main_test.go": 'package main\n\nimport (\n\t"testing"\n\n\t"example.org/greeting"\n)\n\n'
        'func TestGreeting(t *testing.T) {\n\tif greeting.Greet("you") != "hello you" {\n'
        "\t\tt.Fail()\n\t}\n}\n",
        "greeting/go.mod": "module example.org/greeting\n\ngo 1.21\n",
        "greeting/greeting.go": "package greeting\n\nfunc Greet(name string) string {\n"
        '\treturn "hello " + name\n}\n',
    },
    "go mod edit -require example.org/greeting@v0.0.0 -replace example.org/greeting=./greeting",
    "go build -o shop . && ./shop",
    "go test ./...",
    {"runtime": "go", "script": "."},
    ("main.go", 11),
    ("go", "dlv"),
    "proxy.golang.org:443",
    "go get rsc.io/quote",
    ptrace=True,
)
KINDS = (NPM, PIP, CARGO, GO)


@pytest.fixture(params=KINDS, ids=lambda kind: kind.name)
def kind(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Kind:
    found: Kind = request.param
    path = os.pathsep.join(map(str, (COMPILERS, ADAPTERS, "/usr/local/bin", "/usr/bin", "/bin")))
    monkeypatch.setenv("PATH", path)
    for program in found.programs:
        if shutil.which(program, path=path) is None:
            pytest.skip(str(Lack(f"{program} for a project of {found.name}", "it is not there", TOOLS)))
    return found


@pytest.fixture
def root(kind: Kind, tmp_path: Path) -> Path:
    root = tmp_path / "shop"
    for name, text in kind.files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    if kind is PIP:
        _write_wheel(root)
    subprocess.run(["git", "init", "-q", str(root)], check=True)
    write_starter(root, model="main")
    return root


def _write_wheel(root: Path) -> None:
    code = 'def greet(name):\n    return f"hello {name}"\n'
    (root / "wheels").mkdir()
    (root / "vendored").mkdir()
    (root / "vendored/greeting.py").write_text(code)
    with zipfile.ZipFile(root / "wheels/greeting-1.0-py3-none-any.whl", "w") as wheel:
        about = "greeting-1.0.dist-info"
        wheel.writestr("greeting.py", code)
        wheel.writestr(f"{about}/METADATA", "Metadata-Version: 2.1\nName: greeting\nVersion: 1.0\n")
        wheel.writestr(f"{about}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr(f"{about}/RECORD", "")


def settings(overrides: dict[str, Any]) -> dict[str, Any]:
    """Return the daemon's settings, with what `kaged doctor` offers for the toolchains that no cage shows."""
    hidden = hidden_toolchains({"PATH": os.environ["PATH"]}, (), home=Path.home())
    shown = tuple(dict.fromkeys(str(folder) for one in hidden for folder in one.folders))
    return {**overrides, "sandbox.read_only": shown}


async def call(driver: Driver, tool: str, **params: Any) -> dict[str, Any]:
    """Call a tool as the root agent, which the operator's own call consents to."""
    driver.client.timeout = CALL_SECONDS
    body = {"params": params, "agent_path": "primary"}
    envelope: dict[str, Any] = await driver.session_call("POST", f"/tools/{tool}", body)
    return envelope


async def shell(driver: Driver, command: str) -> str:
    """Run a command as the root agent, which must succeed, and return what it says."""
    envelope = await call(driver, "shell.bash", command=command, timeout=240_000)
    assert envelope["type"] == "output", envelope
    said = f"{envelope['data']['stdout']}{envelope['data']['stderr']}"
    assert envelope["data"]["exit_code"] == 0, said
    return said


async def changed(driver: Driver, file: Path, change: Callable[[str], str]) -> None:
    """Change a file of the project as its operator, and begin a new session."""
    file.write_text(change(file.read_text() if file.exists() else ""))
    await driver.call("POST", f"/projects/{driver.project_id}/reload")
    await driver.new_session()


async def debugged(driver: Driver, kind: Kind) -> str:
    """Debug the project's program to its breakpoint, and return the value of `text` there."""
    file, line = kind.stop
    steps: tuple[dict[str, Any], ...] = (
        {"action": "launch", **kind.debug},
        {"action": "set_breakpoint", "path": file, "line": line},
        {"action": "continue"},
        {"action": "variables", "filter": "text"},
    )
    for step in steps:
        answer = await call(driver, "debug", **step)
        assert answer["type"] == "output", (step, answer)
    await call(driver, "debug", action="terminate")
    return str(answer["data"]["variables"])


@pytest.mark.needs("cages")
async def test_it_installs_builds_tests_and_debugs(
    kind: Kind, root: Path, tmp_path: Path, settings_overrides: dict[str, Any]
) -> None:
    file = root / ".kaged/project.yaml"
    async with driven(tmp_path / "data", root, **settings(settings_overrides)) as driver:
        await shell(driver, kind.install)
        assert f"hello {kind.name}" in await shell(driver, kind.build)
        await shell(driver, f"{kind.test} && echo kept > $HOME/kept && echo $HOME | grep -x /home/agent")
        if kind.ptrace:
            refused = await call(driver, "debug", action="launch", **kind.debug)
            assert refused["code"] == "dap_requires_relaxed_seccomp", refused
            assert "`seccomp: relaxed`" in refused["error_text"]
            await changed(
                driver, file, lambda text: text.replace(STATE_LINE, f"{STATE_LINE}    seccomp: relaxed\n")
            )
        assert kind.shows in await debugged(driver, kind)
        await driver.new_session()
        assert "kept" in await shell(driver, "cat $HOME/kept")


@pytest.mark.needs("cages")
async def test_what_is_refused_names_the_line_that_would_allow_it(
    kind: Kind, root: Path, tmp_path: Path, settings_overrides: dict[str, Any]
) -> None:
    file = root / ".kaged/project.yaml"
    whole = "    capabilities: [shell, exec]\n"
    assert kind.host in file.read_text()
    (root / "AGENTS.md").write_text("Be kind.\n")
    file.write_text(file.read_text().replace(whole, "").replace("mode: rw, path: .", "mode: ro, path: ."))
    async with driven(tmp_path / "data", root, **settings(settings_overrides)) as driver:
        refused = await call(driver, "shell.bash", command="echo hello")
        assert refused["code"] == "capability_denied", refused
        lines = refused["detail"]["allow"]
        assert lines == ["capabilities: [shell]", "fs: [{ mode: rw, path: . }]"]
        assert all(f"`{line}`" in refused["error_text"] for line in lines)

        def allowed(text: str) -> str:
            return text.replace("fs: [{ mode: ro, path: . }]", lines[1]).replace(
                STATE_LINE, f"{STATE_LINE}    {lines[0]}\n"
            )

        await changed(driver, file, allowed)
        assert "hello" in await shell(driver, "echo hello")
        fetch = "import urllib.request as u; u.urlopen('https://other.example.org/')"
        fetched = await call(driver, "shell.bash", command=f'{PYTHON} -c "{fetch}"')
        assert fetched["data"]["exit_code"] != 0
        (note,) = fetched["metadata"]["cage_notes"]
        assert '`net: { allow: ["other.example.org:443"] }`' in note
        write = await call(driver, "shell.bash", command="echo x >> AGENTS.md; touch .git/x; false")
        soft, hard = write["metadata"]["cage_notes"]
        assert "AGENTS.md" in soft and "`fs: [{ mode: rw, path: AGENTS.md }]`" in soft
        assert ".git/x is never written in a cage" in hard
        committed = await call(driver, "shell.bash", command="git add -A && git commit -qm x")
        assert committed["data"]["exit_code"] != 0


@pytest.mark.needs("cages")
async def test_a_registry_that_the_cage_does_not_reach_is_named_with_the_line_for_it(
    kind: Kind, root: Path, tmp_path: Path, settings_overrides: dict[str, Any]
) -> None:
    file = root / ".kaged/project.yaml"
    file.write_text(re.sub(r"net: \{ allow: \[.+", "net: { allow: [] }", file.read_text(), count=1))
    async with driven(tmp_path / "data", root, **settings(settings_overrides)) as driver:
        fetched = await call(driver, "shell.bash", command=kind.fetch)
        assert fetched["metadata"]["cage_notes"], fetched
        (note,) = fetched["metadata"]["cage_notes"]
        assert f'`net: {{ allow: ["{kind.host}"' in note


@pytest.mark.parametrize("kind", (CARGO, GO), ids=lambda kind: kind.name, indirect=True)
async def test_a_toolchain_that_no_cage_shows_is_named_with_the_setting_that_does(
    kind: Kind, root: Path, tmp_path: Path, settings_overrides: dict[str, Any]
) -> None:
    """Where the tests bring it, outside the system's folders; what the system has needs no setting."""
    program = kind.programs[0]
    hidden = hidden_toolchains({"PATH": os.environ["PATH"]}, (), home=Path.home())
    if program not in {one.name for one in hidden}:
        async with driven(tmp_path / "data", root, **settings_overrides) as driver:
            assert program in await shell(driver, f"{program} version")
        return
    async with driven(tmp_path / "data", root, **settings_overrides) as driver:
        done = await call(driver, "shell.bash", command=f"{program} version")
        assert done["data"]["exit_code"] == 127, done
        (note,) = done["metadata"]["cage_notes"]
        folders = note.split("[sandbox] read_only = [")[1].split("]")[0].replace('"', "").split(", ")
    shown = {**settings_overrides, "sandbox.read_only": tuple(folders)}
    async with driven(tmp_path / "data", root, **shown) as driver:
        assert program in await shell(driver, f"{program} version")


async def test_the_same_project_where_no_cage_can_be_held(
    kind: Kind,
    root: Path,
    tmp_path: Path,
    settings_overrides: dict[str, Any],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(cage_setup._found, "auto", Tier("none", "bubblewrap is not installed", "Install it"))
    async with driven(tmp_path / "data", root, **settings(settings_overrides)) as driver:
        refused = await call(driver, "shell.bash", command=kind.install)
        assert refused["code"] == "cage_unavailable"
        assert refused["detail"]["lines"] in refused["error_text"]
        await changed(driver, root / refused["detail"]["file"], lambda _: str(refused["detail"]["lines"]))
        await shell(driver, kind.install)
        assert f"hello {kind.name}" in await shell(driver, kind.build)
        await shell(driver, kind.test)
