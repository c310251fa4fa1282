"""What is asked of the debug adapters: for whom, and which program.

Owns: these types. Never: checking them against a cage or a project; that is done before.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from app.bridges.dap.exceptions import ExceptionChoice
from app.bridges.processes.child_starter import ChildStarter
from app.cages.readable import Readable

Progress = Callable[[str], Awaitable[None]]
"""Takes the program's output as it comes, some of it left out when it comes too fast."""


@dataclass(frozen=True, slots=True)
class Inside:
    """What starts the adapter and its program in a cage, and the environment that they have there."""

    children: ChildStarter
    environment: Mapping[str, str]


CageFor = Callable[[Sequence[Sequence[str]], Mapping[str, str]], Awaitable[Inside]]
"""Returns the caller's cage, in which these commands must be able to run, for what would have this
environment outside of it. Raises ToolError."""


@dataclass(frozen=True, slots=True)
class DebugOwner:
    """Whose a debug session is: one agent of one session. `agent_path` is as in the session's runs."""

    session_id: str
    agent_path: str
    project_id: str
    project_root: Path
    purpose: str = ""
    """Set for a session beside the agent's own, which one call begins and ends."""

    @property
    def key(self) -> tuple[str, str, str]:
        return self.session_id, self.agent_path, self.purpose


@dataclass(frozen=True, slots=True)
class LaunchRequest:
    """A program to start. `program` and `cwd` are real absolute paths, `env` is added to the daemon's."""

    runtime: str
    program: Path
    cwd: Path
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    stop_on_entry: bool = True
    module: str | None = None
    """What the interpreter runs in place of `program`, of which this is then a part."""
    code: str | None = None
    """The text that it runs in place of both, where it takes one."""
    options: tuple[str, ...] = ()
    """Arguments of the interpreter itself."""
    in_runtime: bool = False
    """Also what the runtime's own code throws is an exception to stop at."""
    input: str | None = None
    """What the program reads from its standard input; None: nothing."""
    exceptions: ExceptionChoice | None = None
    """At which exceptions it stops; None: as the agent's last program."""
    cage: CageFor | None = None
    """None: with the daemon's rights."""
    reads: Readable | None = None
    """What of the project can be read where it runs; None where no cage bounds that."""


@dataclass(frozen=True, slots=True)
class AttachRequest:
    """A running program: by the port it listens on for debuggers, or by its process id."""

    runtime: str
    host: str = "localhost"
    port: int | None = None
    pid: int | None = None
    """As it is known where the adapter runs."""
    cage: CageFor | None = None
    reads: Readable | None = None
