"""The image's parts without an engine: its packages, entry point, settings and folders, in bubblewrap.

Owns: the environment that the Dockerfile describes, and lives of a daemon in it. Never: Debian's packages and
the steps of the build, which only an image has.
"""

from __future__ import annotations

import asyncio
import os
import sys
from importlib import metadata
from pathlib import Path

from tests.container.dockerfile import instructions
from tests.driver.daemon_process import REPOSITORY, START_SECONDS, DaemonProcess

OUTSIDE_PYTHON = ("/usr", "/bin", "/lib", "/lib64", "/etc")
USER = 10001


def settings() -> dict[str, str]:
    """Return what `ENV` sets in both images."""
    return dict(
        word.split("=", 1) for words in instructions("common") if words[0] == "ENV" for word in words[1:]
    )


def copied(name: str) -> Path:
    """Return the file that a `COPY` takes into both images, by its name."""
    sources = [words[1:-1] for words in instructions("common") if words[0] == "COPY"]
    (found,) = (one for words in sources for one in words if Path(one).name == name)
    return REPOSITORY / found


def install(folder: Path) -> None:
    """Make an environment of the packages that the slim image has, and of no other. Nothing is downloaded:
    they are linked from the environment that runs the tests."""
    packages = folder / "lib" / f"python{sys.version_info.major}.{sys.version_info.minor}" / "site-packages"
    programs = folder / "bin"
    for made in (packages, programs):
        made.mkdir(parents=True)
    for name in (REPOSITORY / "docker" / "image" / "slim.packages").read_text().split():
        distribution = metadata.distribution(name)
        files = distribution.files or ()
        links = {packages / file.parts[0]: file.parts[0] for file in files if file.parts[0] != ".."}
        links |= {programs / file.name: file for file in files if file.parts[-2:-1] == ("bin",)}
        for link, file in links.items():
            if not link.exists():
                link.symlink_to(Path(str(distribution.locate_file(file))).resolve())
    for name in ("app", "migrations"):
        (packages / name).symlink_to(REPOSITORY / name)
    (programs / "python").symlink_to(Path(sys.executable).resolve())
    (folder / "pyvenv.cfg").write_text(f"home = {Path(sys.base_prefix) / 'bin'}\n")
    kaged = programs / "kaged"
    kaged.write_text("#!/opt/kaged/bin/python\nfrom app.cli import main\n\nraise SystemExit(main())\n")
    kaged.chmod(0o755)


class LaidOut(DaemonProcess):
    """One life of a daemon where only `/data`, `/project` and `/tmp` can be written, as any user."""

    def __init__(self, process: asyncio.subprocess.Process, folder: Path) -> None:
        super().__init__(process, folder / "daemon.log")
        self.folder = folder

    @classmethod
    async def spawn_in(cls, installed: Path, folder: Path) -> LaidOut:
        """Start one over a folder with `data`, `shop` and `config.toml`."""
        (folder / "data").mkdir(exist_ok=True)
        known = {*OUTSIDE_PYTHON, sys.base_prefix, sys.prefix, str(REPOSITORY)}
        command = ["bwrap", "--unshare-user", "--unshare-pid", "--die-with-parent", "--clearenv"]
        command += ["--uid", str(USER), "--gid", "0", "--tmpfs", "/", "--dev", "/dev", "--proc", "/proc"]
        command += ["--tmpfs", "/tmp"]
        command += ["--bind", str(folder / "data"), "/data", "--bind", str(folder / "shop"), "/project"]
        for place in sorted(known):
            command += ["--ro-bind-try", place, place]
        command += ["--ro-bind", str(installed), "/opt/kaged"]
        command += ["--ro-bind", str(folder / "config.toml"), "/run/kaged/config.toml", "--remount-ro", "/"]
        given = {"KAGED_CONFIG": "/run/kaged/config.toml", "KAGED_PROJECTS__TRUSTED": "/project"}
        path = f"/opt/kaged/bin:{os.environ['PATH']}"
        for name, value in {**settings(), **given, "PATH": path}.items():
            command += ["--setenv", name, value]
        command += ["--chdir", "/project", "sh", str(copied("entrypoint"))]
        with (folder / "daemon.log").open("ab") as log:
            process = await asyncio.create_subprocess_exec(
                *command, "serve", "--json", "--port", "0", stdout=asyncio.subprocess.PIPE, stderr=log
            )
        return cls(process, folder)

    def on_host(self, path: str) -> Path:
        return self.folder / Path(path).relative_to("/")

    async def kill(self) -> None:
        """SIGKILL to bubblewrap, with which its processes end, and wait until the daemon is gone, too."""
        await super().kill()
        assert self.process.stdout is not None
        async with asyncio.timeout(START_SECONDS):
            await self.process.stdout.read()
