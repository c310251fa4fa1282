"""The scripts of `.ci` for images, where what they need is lacking: they say what, and how to get it."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.driver.daemon_process import REPOSITORY
from tests.driver.machine import Lack

pytestmark = pytest.mark.requirement("image.scripts")


def run(path: Path, script: str, *words: str) -> subprocess.CompletedProcess[str]:
    """Run a script where no other programs are than these of the shell."""
    for program in ("sh", "dirname", "id"):
        found = shutil.which(program)
        assert found is not None
        (path / program).symlink_to(found)
    return subprocess.run(
        [REPOSITORY / ".ci" / script, *words],
        env={"PATH": str(path)},
        capture_output=True,
        text=True,
        timeout=60,
    )


def test_what_is_lacking_to_build_an_image_is_told(tmp_path: Path) -> None:
    done = run(tmp_path, "image", "check")
    assert done.returncode == 2
    lack = Lack.parse(f"containers: {done.stderr.strip()}")
    assert lack is not None
    assert lack.why.startswith("not installed:") and lack.why.endswith(" buildah podman")
    assert lack.command.startswith("as root: apt-get install ") and lack.command.endswith(" buildah podman")


@pytest.mark.parametrize(("words", "code"), [((), 0), (("--strict",), 2)])
def test_an_image_that_cannot_be_built_is_told_and_fails_only_when_asked(
    tmp_path: Path, words: tuple[str, ...], code: int
) -> None:
    done = run(tmp_path, "image-smoke", *words)
    assert done.returncode == code, done.stderr
    assert done.stderr.startswith("The image is not tested here: not installed:")
    assert "(to have it tested: as root: apt-get install " in done.stderr


@pytest.mark.parametrize(
    ("says", "fails", "tried", "code"),
    [
        ("E: Failed to fetch http://mirror/a.deb  Connection timed out", 2, 3, 0),
        ("E: Failed to fetch http://mirror/a.deb  Connection timed out", 9, 3, 1),
        ("error: the package has no such file", 1, 1, 1),
    ],
)
def test_a_build_without_its_mirror_is_tried_again_and_another_failure_is_not(
    tmp_path: Path, says: str, fails: int, tried: int, code: int
) -> None:
    (tmp_path / ".ci").mkdir()
    (tmp_path / ".venv" / "bin").mkdir(parents=True)
    shutil.copy(REPOSITORY / ".ci" / "image-smoke", tmp_path / ".ci")
    counted = (
        f'case $1 in build) ;; *) exit 0 ;; esac\necho >>tries; [ "$(wc -l <tries)" -gt {fails} ] && exit 0'
    )
    scripts = {
        ".ci/image": f"#!/bin/sh\n{counted}\necho '{says}'\nexit 100\n",
        ".venv/bin/pytest": "#!/bin/sh\nexit 0\n",
        "sleep": "#!/bin/sh\nexit 0\n",
    }
    for name, text in scripts.items():
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755)
    done = subprocess.run(
        [tmp_path / ".ci" / "image-smoke"],
        env={"PATH": f"{tmp_path}:/usr/bin:/bin", "TMPDIR": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (done.returncode, len((tmp_path / "tries").read_text())) == (code, tried), done.stderr
    assert ("A mirror cannot be reached, tried three times" in done.stderr) == (fails > 3)
    assert ("A mirror did not answer; tried again" in done.stderr) == (tried > 1)
