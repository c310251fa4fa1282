"""What is particular to a debug adapter program, by what it is about.

Owns: these types, and the behaviour that is assumed of an adapter that nobody knows. Never: any particular
adapter.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Literal

Transport = Literal["stdio", "announced", "chosen"]
"""`stdio`: over its own streams. `announced`: it listens on a port that it chooses and prints.
`chosen`: the bridge chooses a free port and puts it in place of `{port}` in the command."""
Entry = Literal["flag", "main", "line", "attach", "none"]
"""How a stop on entry is done: the adapter has a flag for it; by a function breakpoint on `main`, or what
the runtime has in its place, that the bridge sets for the purpose; by one on the first line of the program's
file; by calling the request `attach`; not at all."""

NOTHING: Mapping[str, Any] = MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class Reach:
    """How a conversation with it is opened."""

    transport: Transport = "stdio"
    port_pattern: str = ""
    """For `announced`: finds the line, on either stream, whose group `port` (and `host`) is the address."""
    attaches_itself: bool = False
    """Attaching by host and port needs no adapter process: the address is that of an adapter."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StartRequests:
    """The templates of its requests to launch and to attach.

    Templates are nested mappings and lists; a text that is only a placeholder (`"{args}"`) becomes the
    value with its type, one within a longer text becomes its text, and a key whose value is not known is
    left out. A list in place of a list's element is taken apart. Placeholders of `launch`: script, args, cwd,
    env (a mapping), env_list (`NAME=value`), stop_on_entry, root; interpreter (a list: the program that runs
    the script, with its arguments), runtime (its first word), runtime_args (the others) and program (the
    interpreter itself); main_class and class_path (Java), mode (Go).
    compiled_paths: where the paths are that Bun writes into what it compiles.
    `environment` is what the program has with env added to it, `output` a path for what Go builds, `folder`
    the one to build it in.
    `lldb_commands`, `quiet_commands` and `gdb_options` load the formatters of Rust.
    `module` or the text `code` runs in place of the script; `skipped` are files at whose exceptions nothing
    stops, where not the usual ones. `stdio`, `gdb_options` and `input` are there when the program has an
    input: a file, by what opens it.
    """

    launch: Mapping[str, Any] = field(default_factory=lambda: NOTHING)
    attach: Mapping[str, Any] | None = None
    """By host and port (placeholders host, port, cwd, root); None: it cannot."""
    attach_to_process: Mapping[str, Any] | None = None
    """By process id (placeholders pid, cwd, root); None: it cannot."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnProcess:
    """The adapter's own process: what it needs, and what it does to the program's."""

    env: Mapping[str, str] = field(default_factory=lambda: NOTHING)
    env_in_cage: Mapping[str, str] = field(default_factory=lambda: NOTHING)
    """Likewise, where it runs in a cage, for which it has to do something in another way."""
    env_of_runs: Mapping[str, str] = field(default_factory=lambda: NOTHING)
    """What goes before the program's own variables of these names, where one call runs it to its end."""
    own_files: tuple[str, ...] = ()
    """Files of this package that it or the program loads."""
    reporter: str = ""
    """One of them, which tells the debugger what a test runner of its programs reports as failed."""
    runs: tuple[str, ...] = ()
    """Programs of the PATH that it starts itself, by name."""
    hands_on: bool = False
    """The program has the adapter's own environment and folder; its requests have no fields for them."""
    is_program: bool = False
    """The adapter runs inside the program, in the one process: that ends with its exit code."""
    terminal: bool = False
    """It offers `runInTerminal` with benefit: the client's capability may be declared."""
    dropped_arguments: str = ""
    """Finds arguments of the interpreter that the adapter gives itself, or that keep it from working."""
    launches_by_ptrace: bool = False
    """A cage allows ptrace only with relaxed seccomp."""
    attaches_by_ptrace: bool = True
    """It attaches to a process id so."""
    in_landlock: bool = False
    """It works in a cage of landlock, which has no loopback and no terminals, and shows no other process."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stopping:
    """How the program stops and pauses under it."""

    entry: Entry = "flag"
    entry_reasons: frozenset[str] = frozenset({"entry"})
    """The reasons that `stopped` gives for the stop on entry."""
    reasons: Mapping[str, str] = field(default_factory=lambda: NOTHING)
    """The reasons of the protocol for those that it gives, by its reason or its description of the stop."""
    pause_again_seconds: float | None = None
    """A pause is lost or refused while the program is just being continued: it is asked for again after this
    time. None: it is never lost."""
    stacks_of_running: bool = False
    """It tells the frames of a thread that runs, too."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BreakpointDialect:
    """Which terms of breakpoints it keeps, and how they are written."""

    hit_count: str | None = None
    """The `hitCondition` that stops at the N-th hit and at each later one: `{count}` is N, `{before}` is
    N - 1. None: it has no such condition, or ignores it and stops at every hit."""
    log_points: bool = True
    """It logs where it says that it can; False: it would stop instead."""
    plain_log_points: bool = False
    """With a log message it ignores a condition and a hit count, and logs each time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExceptionDialect:
    """At which exceptions it can stop the program."""

    modes: Mapping[str, tuple[str, ...]] | None = None
    """The modes in which it stops, each with its filters; a mode without any is one that it stops in by
    itself. None: nobody knows, and what it has on by default is set."""
    types: Literal["condition", "frame"] | None = None
    """How it distinguishes types of exceptions: by a condition of its filters, by an expression in the frame;
    None: it cannot."""
    panics: Mapping[str, Mapping[str, tuple[str, ...]]] = field(default_factory=lambda: NOTHING)
    """By runtime and mode: the functions that a panic calls, where breakpoints on them are the only way."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluation:
    """The contexts of its `evaluate`."""

    safe_context: str | None = None
    """The one in which it refuses what has side effects; None: it has none."""
    free_context: str = "repl"
    """The one that also evaluates expressions with side effects."""
    free_prefix: str = ""
    """What an expression must begin with there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Children:
    """The child sessions that it asks for by `startDebugging`."""

    address: Literal["none", "same_address", "named_address"] = "none"
    """A child session connects to this adapter's own address, or to the one that its configuration names
    under `connect`."""
    are_program: bool = False
    """The first child session is the program: it has the threads and the stops."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputDialect:
    """Where the program's output is, and what is no output of it."""

    program_streams: frozenset[Literal["stdout", "stderr"]] = frozenset()
    """Streams of the adapter's own process, beside the protocol, that carry the program's output."""
    chatter: str = ""
    """Finds `output` events in which the adapter talks of itself, by their beginning; they are left out."""
    mark: str = ""
    """A command of its console that writes `{mark}` as a line where the program writes, if it may tell of the
    end of a program before the last output of that."""
    read_by_threads: bool = False
    """Threads of its process read what the program writes, and end with that; it has no others then. They
    may be behind when it tells of the end of the program."""
    bare_lines: bool = False
    """Its `output` of the category `console` are lines without their ends."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """How it parts from a program, and how the program's exit code is known."""

    exit_pattern: str = ""
    """Finds the program's exit code, group `code`, in an `output` event of an adapter without `exited`."""
    exit_code_at_parting: bool = False
    """It says so only when it is asked to part from the program that is over."""
    parts_running: bool = False
    """It ends a program that stops while it parts from it: the program must run before."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Claims:
    """Where its capabilities are not those that it claims."""

    has: frozenset[str] = frozenset()
    """Capabilities, by their names in the protocol, that it has and does not claim."""
    lacks: frozenset[str] = frozenset()
    """Capabilities that it claims and has not."""
    commands: frozenset[str] = frozenset()
    """Requests beyond the protocol that it is known to answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AdapterBehaviour:
    """What is particular to one adapter program, wherever it was declared."""

    name: str
    """The adapter's own name, in messages."""
    adapter_id: str
    """`adapterID` of initialize, and the usual `type` of the launch request."""
    known_as: frozenset[str] = frozenset()
    """Words of a command that tell that it is this adapter: names of programs and modules. The name counts
    without being listed."""
    types: frozenset[str] = frozenset()
    """Further values of `type` that ask for it."""
    reach: Reach = Reach()
    requests: StartRequests = StartRequests()
    process: OwnProcess = OwnProcess()
    stopping: Stopping = Stopping()
    breakpoints: BreakpointDialect = BreakpointDialect()
    exceptions: ExceptionDialect = ExceptionDialect()
    evaluation: Evaluation = Evaluation()
    children: Children = Children()
    output: OutputDialect = OutputDialect()
    end: Ending = Ending()
    capabilities: Claims = Claims()


USUAL_LAUNCH: Mapping[str, Any] = MappingProxyType(
    {
        "program": "{script}",
        "args": "{args}",
        "cwd": "{cwd}",
        "env": "{env}",
        "stopOnEntry": "{stop_on_entry}",
    }
)
"""What most adapters call these things."""

UNKNOWN_ADAPTER = AdapterBehaviour(
    name="",
    adapter_id="",
    requests=StartRequests(
        launch=USUAL_LAUNCH,
        attach=MappingProxyType({"host": "{host}", "port": "{port}"}),
        attach_to_process=MappingProxyType({"pid": "{pid}", "processId": "{pid}"}),
    ),
    process=OwnProcess(in_landlock=True),
)
"""What is assumed of an adapter that nobody knows: what the protocol says, and the usual names."""
