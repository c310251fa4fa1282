"""A daemon under attack in a container: the scene of `tests/attacks`, with the image's programs around it.

Owns: the container, its flags and its end. Never: what is tried, and what must not have happened.
"""

from __future__ import annotations

import secrets
import signal
import subprocess
from pathlib import Path

from tests.attacks.scene import KEEPER, Kind, Scene, TierName
from tests.container.engine import FULL, SCRIPT, USER, podman

FAR = Path(__file__).with_name("far_number.py")
PROGRAMS = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
HARDENED = ("--cap-drop", "ALL", "--security-opt", "no-new-privileges")
FLAGS: dict[TierName, tuple[str, ...]] = {
    "full": (*FULL, *HARDENED),
    "landlock": HARDENED,
    "none": (),
}
"""What a container is given, by the tier that it then holds."""


class ContainerScene(Scene):
    """The folders have the same paths in the container and outside, and its network is this machine's: what
    an attack would change or reach is seen from here. The keeper is a parent of the image's entry point."""

    def __init__(self, tier: TierName, image: str) -> None:
        self._image = image
        self._name = f"kaged-test-attacked-{tier}-{secrets.token_hex(4)}"
        super().__init__(Kind("ordinary", tier), ordinary=USER)

    def _start(self) -> subprocess.Popen[bytes]:
        place = self.place
        command = [SCRIPT, "podman", "run", "--rm", "--name", self._name, "--cgroups", "disabled"]
        command += ["--network", "host", "--read-only", "--tmpfs", "/tmp", "--user", f"{USER}:{USER}"]
        command += [*FLAGS[self.kind.tier], "--volume", f"{place.top}:{place.top}"]
        for program in (KEEPER, FAR):
            command += ["--volume", f"{program}:/run/attacks/{program.name}:ro"]
        for name, value in self._environment(PROGRAMS).items():
            command += ["--env", f"{name}={value}"]
        python = ["/usr/bin/python3", "-I", "-S"]
        command += ["--entrypoint", "/usr/bin/tini", self._image, "--"]
        command += [*python, f"/run/attacks/{FAR.name}", *python, f"/run/attacks/{KEEPER.name}"]
        command += [str(self.report), str(USER), "yes", "kaged-entrypoint", "serve", "--json", "--port", "0"]
        for project in (place.project, place.other):
            command += ["--project", str(project)]
        with place.log.open("ab") as log:
            return subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=log, cwd="/"
            )

    def _end(self, number: signal.Signals) -> None:
        podman("kill", "--signal", number.name, self._name)
