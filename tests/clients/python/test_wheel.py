"""The wheel of the Python client: built by itself, used where nothing of the daemon is installed."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from importlib.metadata import distribution
from pathlib import Path

from packaging.requirements import Requirement

from tests.driver.daemon_process import REPOSITORY

LOOK = """
import sys, time
began = time.process_time()
import kaged_client
print(f"imported in {time.process_time() - began:.3f} s of a processor", file=sys.stderr)
absent = ("websockets", "pydantic", "app")
print(kaged_client.Kaged(token="t"), [name for name in absent if name in sys.modules])
"""


def needed(*names: str) -> set[str]:
    """Return distributions with all that they require here."""
    found: set[str] = set()
    left = list(names)
    while left:
        name = left.pop().lower()
        if name not in found:
            found.add(name)
            required = map(Requirement, distribution(name).requires or ())
            left += [one.name for one in required if one.marker is None or one.marker.evaluate({"extra": ""})]
    return found


def test_the_wheel_needs_two_packages_and_none_of_the_daemon(tmp_path: Path) -> None:
    source = shutil.copytree(REPOSITORY / "clients" / "python", tmp_path / "source")
    build = [sys.executable, "-m", "pip", "wheel", "--no-deps", "--no-build-isolation", "--no-index", "-q"]
    subprocess.run([*build, "-w", tmp_path, source], check=True)
    [wheel] = tmp_path.glob("kaged_client-*.whl")
    place = tmp_path / "place"
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        archive.extractall(place)
    assert "kaged_client/py.typed" in names
    assert not [name for name in names if not name.startswith("kaged_client")]
    assert any(name.endswith("licenses/LICENSE") for name in names)
    [metadata] = place.glob("*.dist-info/METADATA")
    declared = [line for line in metadata.read_text().splitlines() if line.startswith("Requires-Dist")]
    assert declared == ["Requires-Dist: httpx2>=2.0", "Requires-Dist: websockets>=15.0"]
    for name in needed("httpx2", "websockets"):
        for file in distribution(name).files or ():
            if ".." not in file.parts and (file.suffix in (".py", ".so") or file.name == "METADATA"):
                (place / file).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(str(file.locate()), place / file)
    shown = subprocess.run(
        [sys.executable, "-S", "-c", LOOK],
        env={**os.environ, "PYTHONPATH": str(place)},
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    assert shown.stdout == "Kaged('http://127.0.0.1:7777') []\n"
