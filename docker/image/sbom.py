"""Writes the bill of materials of the image that it runs in: `sbom.py FILE`, in the format CycloneDX 1.5.

It lists every package of Debian and of Python that is there, by what dpkg and the packages' own metadata say.
"""

from __future__ import annotations

import json
import platform
import subprocess
import sys
from importlib import metadata
from pathlib import Path
from typing import Any
from urllib.parse import quote

_FIELDS = "${Package}\\t${Version}\\t${Architecture}\\t${db:Status-Abbrev}\\n"
_OTHER_ENVIRONMENTS = "/opt/*/lib/python3*/site-packages"


def of_debian() -> list[dict[str, Any]]:
    listed = subprocess.run(
        ["dpkg-query", "--show", f"--showformat={_FIELDS}"], check=True, capture_output=True, text=True
    )
    release = platform.freedesktop_os_release()
    distribution = f"{release['ID']}-{release.get('VERSION_ID', 'unstable')}"
    found = []
    for line in listed.stdout.splitlines():
        name, version, architecture, state = line.split("\t")
        if state.startswith("ii"):
            place = f"pkg:deb/debian/{quote(name)}@{quote(version, safe='')}"
            found.append(_component(name, version, f"{place}?arch={architecture}&distro={distribution}"))
    return found


def of_python() -> list[dict[str, Any]]:
    places = sorted(str(place) for place in Path("/").glob(_OTHER_ENVIRONMENTS.lstrip("/")))
    found: dict[str, dict[str, Any]] = {}
    for package in metadata.distributions(path=places):
        name, version = package.metadata["Name"], package.version
        place = f"pkg:pypi/{quote(name.lower().replace('_', '-'))}@{quote(version, safe='')}"
        component = _component(name, version, place)
        licence = package.metadata.get("License-Expression") or package.metadata.get("License") or ""
        if licence and "\n" not in licence:
            component["licenses"] = [{"license": {"name": licence}}]
        found[place] = component
    return sorted(found.values(), key=lambda one: one["purl"])


def _component(name: str, version: str, place: str) -> dict[str, Any]:
    return {"type": "library", "bom-ref": place, "name": name, "version": version, "purl": place}


def bill() -> dict[str, Any]:
    kaged = metadata.version("kaged")
    component = {"type": "container", "bom-ref": "kaged", "name": "kaged", "version": kaged}
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {"component": component},
        "components": [*of_debian(), *of_python()],
    }


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(json.dumps(bill(), indent=1) + "\n", encoding="utf-8")
