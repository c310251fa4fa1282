"""The shape of what is known of runtimes and of the debug adapters for them.

Owns: these types, and the behaviour that is assumed of an adapter that nobody knows. Never: any
particular runtime or adapter.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal

from app.bridges.installed.installation_hints import installation_hints
from app.bridges.installed.program_places import Source

Transport = Literal["stdio", "announced", "chosen"]
"""`stdio`: over its own streams. `announced`: it listens on a port that it chooses and prints.
`chosen`: the bridge chooses a free port and puts it in place of `{port}` in the command."""
Entry = Literal["flag", "main", "line", "attach", "none"]
"""How a stop on entry is done: the adapter has a flag for it; by a function breakpoint on `main`, or what
the runtime has in its place, that the bridge sets for the purpose; by one on the first line of the program's
file; by calling the request `attach`; not at all."""
Program = Literal["script", "binary", "go", "java"]
"""What is launched: a source file that an interpreter runs; a built program; a Go package, test or built
program; a Java source file, class or archive."""

NOTHING: Mapping[str, Any] = MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class AdapterBehaviour:
    """What is particular to one adapter program, wherever it was declared.

    Templates are nested mappings and lists; a text that is only a placeholder (`"{args}"`) becomes the
    value with its type, one within a longer text becomes its text, and a key whose value is not known is
    left out. Placeholders of `launch`: script, args, cwd, env (a mapping), env_list (`NAME=value`),
    stop_on_entry, root; interpreter (a list: the program that runs the script, with its arguments),
    runtime (its first word), runtime_args (the others) and program (the interpreter itself); main_class and
    class_path (Java), mode (Go).
    compiled_paths: where the paths are that Bun writes into what it compiles. A list in place of a list's
    element is taken apart.
    `environment` is what the program has with env added to it, `output` a path for what Go builds, `folder`
    the one to build it in.
    `lldb_commands`, `quiet_commands` and `gdb_options` load the formatters of Rust.
    `module` runs in place of the script; `skipped` are files at whose exceptions nothing stops, where not the
    usual ones. `stdio`, `gdb_options` and `input` are there when the program has an input: a file, by what
    opens it.
    Of `attach`: host, port, cwd, root. Of `attach_to_process`: pid, cwd, root.
    """

    name: str
    """The adapter's own name, in messages."""
    known_as: frozenset[str] = frozenset()
    """Words of a command that tell that it is this adapter: names of programs and modules. The name counts
    without being listed."""
    types: frozenset[str] = frozenset()
    """Further values of `type` that ask for it."""
    adapter_id: str
    """`adapterID` of initialize, and the usual `type` of the launch request."""
    transport: Transport = "stdio"
    port_pattern: str = ""
    """For `announced`: finds the line, on either stream, whose group `port` (and `host`) is the address."""
    launch: Mapping[str, Any] = field(default_factory=lambda: NOTHING)
    attach: Mapping[str, Any] | None = None
    """By host and port; None: it cannot."""
    attach_to_process: Mapping[str, Any] | None = None
    """By process id; None: it cannot."""
    attaches_itself: bool = False
    """Attaching by host and port needs no adapter process: the address is that of an adapter."""
    uses_ptrace: bool = False
    """It launches programs by ptrace, which a cage allows only with relaxed seccomp."""
    process_by_ptrace: bool = True
    """It attaches to a process id by ptrace."""
    in_landlock: bool = False
    """It works in a cage of landlock, which has no loopback and no terminals, and shows no other process."""
    answers_launch: Literal["early", "late"] = "late"
    """`late`: only after configurationDone. `early`: before it waits for any breakpoint."""
    entry: Entry = "flag"
    entry_reasons: frozenset[str] = frozenset({"entry"})
    """The reasons that `stopped` gives for the stop on entry."""
    reasons: Mapping[str, str] = field(default_factory=lambda: NOTHING)
    """The reasons of the protocol for those that it gives, by its reason or its description of the stop."""
    lacks: frozenset[str] = frozenset()
    """Capabilities, by their names in the protocol, that it claims and has not."""
    has: frozenset[str] = frozenset()
    """Capabilities that it has and does not claim."""
    commands: frozenset[str] = frozenset()
    """Requests beyond the protocol that it is known to answer."""
    hit_count: str | None = None
    """The `hitCondition` that stops at the N-th hit and at each later one: `{count}` is N, `{before}` is
    N - 1. None: it has no such condition, or ignores it and stops at every hit."""
    log_points: bool = True
    """It logs where it says that it can; False: it would stop instead."""
    plain_log_points: bool = False
    """With a log message it ignores a condition and a hit count, and logs each time."""
    resolves_links: bool = True
    """A breakpoint set by a path that goes through a link binds; False: it needs real paths."""
    safe_context: str | None = None
    """The context of `evaluate` in which it refuses what has side effects; None: it has none."""
    free_context: str = "repl"
    """The context of `evaluate` in which any expression is evaluated, whatever it changes."""
    free_prefix: str = ""
    """What an expression must begin with there."""
    exception_modes: Mapping[str, tuple[str, ...]] | None = None
    """The modes in which it stops at exceptions, each with its filters; a mode without any is one that it
    stops in by itself. None: nobody knows, and what it has on by default is set."""
    exception_types: Literal["condition", "frame"] | None = None
    """How it distinguishes types of exceptions: by a condition of its filters, by an expression in the frame;
    None: it cannot."""
    panics: Mapping[str, Mapping[str, tuple[str, ...]]] = field(default_factory=lambda: NOTHING)
    """By runtime and mode: the functions that a panic calls, where breakpoints on them are the only way."""
    children: Literal["none", "same_address", "named_address"] = "none"
    """`startDebugging` is asked for; the child session connects to this adapter's own address, or to the
    one that its configuration names under `connect`."""
    children_stop: bool = False
    """The first child session is the program: it has the threads and the stops."""
    detaches: bool = True
    """After an attach, disconnect without `terminateDebuggee` leaves the target running."""
    stacks_of_running: bool = False
    """It tells the frames of a thread that runs, too."""
    parts_running: bool = False
    """It ends a program that stops while it parts from it: the program must run before."""
    pause_again_seconds: float | None = None
    """A pause is lost or refused while the program is just being continued: it is asked for again after this
    time. None: it is never lost."""
    terminal: bool = False
    """It offers `runInTerminal` with benefit: the client's capability may be declared."""
    program_output: frozenset[Literal["stdout", "stderr"]] = frozenset()
    """Streams of the adapter's own process, beside the protocol, that carry the program's output."""
    exit_pattern: str = ""
    """Finds the program's exit code, group `code`, in an `output` event of an adapter without `exited`."""
    exit_code_at_parting: bool = False
    """It says so only when it is asked to part from the program that is over."""
    chatter: str = ""
    """Finds `output` events in which the adapter talks of itself, by their beginning; they are left out."""
    bare_lines: bool = False
    """Its `output` of the category `console` are lines without their ends."""
    env: Mapping[str, str] = field(default_factory=lambda: NOTHING)
    """For the adapter's own process."""
    env_in_cage: Mapping[str, str] = field(default_factory=lambda: NOTHING)
    """Likewise, where it runs in a cage, for which it has to do something in another way."""
    own_files: tuple[str, ...] = ()
    """Files of this package that it or the program loads."""
    runs: tuple[str, ...] = ()
    """Programs of the PATH that it starts itself, by name."""
    hands_on: bool = False
    """The program has the adapter's own environment and folder; its requests have no fields for them."""
    is_program: bool = False
    """The adapter runs inside the program, in the one process: that ends with its exit code."""
    dropped_arguments: str = ""
    """Finds arguments of the interpreter that the adapter gives itself, or that keep it from working."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AdapterCandidate:
    """An adapter that may be installed: program and arguments, its behaviour by name, how to install it by
    package manager, and what this runtime's launch and attach requests have beside the behaviour's:
    `type` and further fields. `lacks`: capabilities that it claims and has not with this runtime. `entry`:
    how a stop on entry is done with this runtime, where the behaviour's way does not do."""

    command: tuple[str, ...]
    behaviour: str
    install: Mapping[str, str]
    type: str = ""
    launch: Mapping[str, Any] = field(default_factory=lambda: NOTHING)
    attach: Mapping[str, Any] = field(default_factory=lambda: NOTHING)
    lacks: frozenset[str] = frozenset()
    entry: Entry | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RuntimeEntry:
    """A runtime (`runtime` of the tool) with its adapters, the preferred one first.

    `interpreter`: the program that runs a script, looked up unless the project names one; empty where
    programs run by themselves. `install`: how to get it, as for a candidate. `sources`: endings of the
    source files. `build`: for `binary`, the command that builds a source with what a debugger needs, with
    `{script}` and `{program}` in it. `entry_functions`: where a stop on entry may be, for adapters that do
    it by function breakpoints; `{crate}` is the program's name as Rust spells it.
    """

    runtime: str
    candidates: tuple[AdapterCandidate, ...]
    program: Program = "script"
    interpreter: str = ""
    install: Mapping[str, str] = field(default_factory=lambda: NOTHING)
    sources: tuple[str, ...] = ()
    build: str = ""
    entry_functions: tuple[str, ...] = ("main",)


@dataclass(frozen=True, slots=True, kw_only=True)
class ResolvedAdapter:
    """How to start an adapter and what to ask of it.

    `command` has an absolute program first, and `{port}` in an argument for the transport `chosen`.
    `env` is added to the environment of the adapter and has the PATH for its children. `interpreter` is
    the program that runs the script, absolute, with its arguments, or empty. `launch` and `attach` are
    what is declared beside the behaviour's own templates; `type` is sent in both requests.
    """

    runtime: str
    program: Path
    command: tuple[str, ...]
    behaviour: AdapterBehaviour
    env: Mapping[str, str]
    source: Source
    entry: RuntimeEntry
    type: str
    interpreter: tuple[str, ...] = ()
    launch: Mapping[str, Any] = field(default_factory=lambda: NOTHING)
    attach: Mapping[str, Any] = field(default_factory=lambda: NOTHING)


def adapter(
    *command: str,
    behaviour: str,
    request_type: str = "",
    launch: Mapping[str, Any] = NOTHING,
    attach: Mapping[str, Any] = NOTHING,
    **install: str,
) -> AdapterCandidate:
    """Make a candidate. `npm="a b"` and the like are package names; `other` is a sentence."""
    return AdapterCandidate(
        command=command,
        behaviour=behaviour,
        install=installation_hints(install),
        type=request_type,
        launch=launch,
        attach=attach,
    )


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
    in_landlock=True,
    name="",
    adapter_id="",
    launch=USUAL_LAUNCH,
    attach=MappingProxyType({"host": "{host}", "port": "{port}"}),
    attach_to_process=MappingProxyType({"pid": "{pid}", "processId": "{pid}"}),
    resolves_links=False,
)
"""What is assumed of an adapter that nobody knows: what the protocol says, and the usual names."""
