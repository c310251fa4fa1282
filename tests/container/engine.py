"""The image of `docker/Dockerfile`, built here, and containers of it, by `.ci/image`.

Owns: building once in a run, starting, killing and looking into a container. Never: what a test asks of its
daemon.
"""

from __future__ import annotations

import asyncio
import os
import secrets
import signal
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

from tests.driver.daemon_process import REPOSITORY, START_SECONDS, DaemonProcess

SCRIPT = str(REPOSITORY / ".ci" / "image")
PROFILE = f"seccomp={REPOSITORY / 'docker' / 'seccomp.json'}"
FULL = ("--security-opt", PROFILE, "--security-opt", "unmask=ALL")
"""With these options a container holds cages of the tier full."""
USER = 10001
_BUILD_SECONDS = 1800


def lack() -> str | None:
    """Return why no image can be built here, None where it can."""
    done = subprocess.run([SCRIPT, "check"], capture_output=True, text=True, check=False)
    return None if done.returncode == 0 else done.stderr.strip()


def built() -> str:
    """Return the name of an image that is there already, empty where one is to be built."""
    return os.environ.get("KAGED_BUILT_IMAGE", "")


def build(target: str) -> str:
    """Build one target and return the image's name; what has not changed is not built again. Nothing is built
    where KAGED_BUILT_IMAGE names the image."""
    if built():
        return built()
    done = subprocess.run(
        [SCRIPT, "build", target], capture_output=True, text=True, timeout=_BUILD_SECONDS, check=False
    )
    assert done.returncode == 0, (done.stdout + done.stderr)[-3000:]
    return f"localhost/kaged:{target}"


def podman(*arguments: str, seconds: float = 120) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [SCRIPT, "podman", *arguments], capture_output=True, text=True, timeout=seconds, check=False
    )


@dataclass
class Place:
    """Where one test's containers live: the project and the data that are mounted, and options."""

    image: str
    project: Path
    data: Path
    options: tuple[str, ...] = ()
    user: int = USER
    environment: dict[str, str] = field(default_factory=dict)
    daemons: list[ContainerDaemon] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.data.mkdir(exist_ok=True)
        self.give(self.data, self.user)

    def give(self, folder: Path, owner: int) -> None:
        """Make the folder, and all in it, a user's own."""
        for path in (folder, *folder.rglob("*")):
            os.chown(path, owner, owner, follow_symlinks=False)

    def run(self, *words: str, name: str = "") -> list[str]:
        """Return the command that runs kaged with `words` in a container with a read-only root. One with a
        name writes the number of its first process into a file."""
        command = [
            SCRIPT,
            "podman",
            "run",
            "--rm",
            "--cgroups",
            "disabled",
            "--network",
            "host",
            "--read-only",
        ]
        command += ["--tmpfs", "/tmp", "--user", f"{self.user}:{self.user}", *self.options]
        command += ["--volume", f"{self.data}:/data", "--volume", f"{self.project}:/project"]
        command += [word for key, value in self.environment.items() for word in ("--env", f"{key}={value}")]
        if name:
            command += ["--name", name, "--pidfile", str(self.beside(name, "pid"))]
        return [*command, self.image, *words]

    def beside(self, name: str, ending: str) -> Path:
        """Return where a file of a container of this name lies, beside the data."""
        return self.data.with_suffix(f".{name}.{ending}")

    async def aclose(self) -> None:
        """End the containers that a failed test has left behind."""
        for daemon in self.daemons:
            if daemon.process.returncode is None:
                await asyncio.to_thread(podman, "kill", daemon.name)
                await daemon.process.wait()

    def kaged(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Run one command in a container of its own."""
        return subprocess.run(self.run(*words), capture_output=True, text=True, timeout=300, check=False)


class ContainerDaemon(DaemonProcess):
    """One life of a daemon in a container."""

    def __init__(self, process: asyncio.subprocess.Process, place: Place, name: str) -> None:
        super().__init__(process, place.beside(name, "log"))
        self.place = place
        self.name = name
        self.killed_whole = False
        """Whether `kill` ends the container's first process, as an engine does, in place of the daemon."""

    @classmethod
    async def spawn_in(cls, place: Place, life: str, *, port: int = 0) -> ContainerDaemon:
        """Start the container and return at once; `ready` waits. No other container has had its name, as one
        that a killed run left behind keeps it."""
        name = f"kaged-test-{life}-{secrets.token_hex(4)}"
        with place.beside(name, "log").open("ab") as log:
            process = await asyncio.create_subprocess_exec(
                *place.run("serve", "--json", "--port", str(port), name=name),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=log,
            )
        daemon = cls(process, place, name)
        place.daemons.append(daemon)
        return daemon

    @classmethod
    async def begin(cls, place: Place, life: str, *, port: int = 0) -> ContainerDaemon:
        daemon = await cls.spawn_in(place, life, port=port)
        try:
            await daemon.ready()
        except BaseException:
            await daemon.kill()
            raise
        return daemon

    def on_host(self, path: str) -> Path:
        return self.place.data / Path(path).relative_to("/data")

    def inside(self, *command: str) -> subprocess.CompletedProcess[str]:
        """Run a program in the container, as its user."""
        return podman("exec", self.name, *command)

    @property
    def first_pid(self) -> int:
        """The number of the container's first process on this host. ValueError: there is none yet."""
        try:
            return int(self.place.beside(self.name, "pid").read_text())
        except FileNotFoundError:
            raise ValueError(f"{self.name} has not begun") from None

    @property
    def pid(self) -> int:
        """The daemon's own number on this host: the eldest child of the container's first process, whose
        others are orphans that it collects."""
        first = self.first_pid
        children = Path(f"/proc/{first}/task/{first}/children").read_text().split()
        if not children:
            raise ValueError(f"{self.name} has no daemon yet")
        return int(children[0])

    async def kill(self) -> None:
        """SIGKILL, as soon as there is somebody to kill, and wait until the container is gone."""
        async with asyncio.timeout(START_SECONDS):
            while self.process.returncode is None:
                try:
                    os.kill(self.first_pid if self.killed_whole else self.pid, signal.SIGKILL)
                except (OSError, ValueError):
                    await asyncio.sleep(0.005)
                else:
                    break
            await self.process.wait()

    async def stop(self, *, seconds: float = 60) -> int:
        """SIGTERM as an engine sends it to the first process; return the exit code."""
        await asyncio.to_thread(podman, "kill", "--signal", "TERM", self.name)
        async with asyncio.timeout(seconds):
            return await self.process.wait()
