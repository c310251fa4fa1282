"""What reads the input of others takes time in proportion to it, or stops at a bound."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.architecture.quantifiers import repeats_group_possessively
from tests.growth.measured import all_patterns

ROOT = Path(__file__).resolve().parents[2]
SCRIPTS = sorted(path for path in (ROOT / "web/src").rglob("*") if path.suffix in (".js", ".ts", ".svelte"))
MAX_SECONDS = 600


def slow_in(*command: str) -> list[str]:
    """Return what a measuring process found to grow too fast, or what it was ended at."""
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=MAX_SECONDS, check=False)
    lines = done.stdout.splitlines()
    found = [str(json.loads(line)) for line in lines if line.startswith("{")]
    if lines[-1:] != ["done"]:
        found.append(
            f"{lines[-1] if lines else 'nothing'}: ended with {done.returncode} {done.stderr[-2000:]}"
        )
    return found


@pytest.mark.timeout(MAX_SECONDS)
@pytest.mark.requirement("security.linear_patterns")
@pytest.mark.parametrize("what", ["patterns", "readers"])
def test_four_times_the_text_takes_less_than_eight_times_the_cpu(what: str) -> None:
    assert not slow_in(sys.executable, "-m", "tests.growth.measured", what)


@pytest.mark.timeout(MAX_SECONDS)
@pytest.mark.requirement("security.linear_patterns")
def test_the_patterns_of_the_page_grow_with_the_text() -> None:
    node = shutil.which("node")
    if node is None:
        pytest.skip("node is not installed: apt-get install nodejs")
    assert not slow_in(node, "tests/growth/scripts.mjs", *map(str, SCRIPTS))


@pytest.mark.requirement("security.linear_patterns")
def test_a_pattern_that_grows_with_the_square_is_found(tmp_path: Path) -> None:
    program = (
        "import re, tests.growth.measured as measured\n"
        "measured.all_patterns = lambda: [('bad', re.compile(r'(\\w+)\\s*\\(\\1\\)'), True)]\n"
        "measured.HARD_STOP = 2\nmeasured._patterns()\nprint('done')\n"
    )
    assert slow_in(sys.executable, "-c", program)


def test_no_pattern_repeats_a_group_possessively() -> None:
    """An atomic group, `(?>(?:...)*)`, does the same in every Python that kaged runs on."""
    assert repeats_group_possessively(r"(?:ab)*+c") and not repeats_group_possessively(r"a*+(?>(?:ab)*)c")
    found = [
        name
        for name, pattern, _ in all_patterns()
        if repeats_group_possessively(pattern.pattern, pattern.flags & ~re.UNICODE)
    ]
    assert not found
