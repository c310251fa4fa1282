"""The TypeScript client, built with the packages of its lock file."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.driver.machine import TOOLS, Lack
from tests.driver.npm_packages import INSTALL_SECONDS, install

ROOT = Path(__file__).parents[3]
SOURCE = ROOT / "clients" / "typescript"
WEBSOCKET, BEHIND_A_FLAG = (22, 0), (20, 10)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The first test of this folder also installs and compiles, which may take longer than a test may."""
    for item in items:
        if item.path.parent == Path(__file__).parent:
            item.add_marker(pytest.mark.timeout(INSTALL_SECONDS + 180))


def node_version() -> tuple[int, int]:
    said = subprocess.run(["node", "--version"], capture_output=True, text=True, check=True).stdout
    major, minor, *_ = said.strip().removeprefix("v").split(".")
    return int(major), int(minor)


@pytest.fixture(scope="session")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the package with its development packages, in a copy of the repository's folders."""
    root = tmp_path_factory.mktemp("kaged")
    for name in ("app", "openapi"):
        (root / name).symlink_to(ROOT / name)
    return install(SOURCE, root / "clients" / "typescript", locked=True)


@pytest.fixture(scope="session")
def built(installed: Path) -> Path:
    compile_with(installed, "tsconfig.json")
    return installed


@pytest.fixture(scope="session")
def node() -> list[str]:
    """How node is started with a global WebSocket."""
    if shutil.which("node") is None:
        pytest.skip(str(Lack("node", "not installed", TOOLS)))
    version = node_version()
    if version < BEHIND_A_FLAG:
        pytest.skip(str(Lack("node", "has no WebSocket", TOOLS)))
    return ["node"] if version >= WEBSOCKET else ["node", "--experimental-websocket"]


def compile_with(folder: Path, config: str) -> None:
    """Run the TypeScript compiler; it must find no error."""
    done = subprocess.run(
        ["node", "node_modules/typescript/bin/tsc", "-p", config],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout
