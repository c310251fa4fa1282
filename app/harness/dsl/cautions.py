"""Findings of `kaged check` about what a sound project opens: a root agent without a cage, and files that
steer or run where a caged agent may write.

Owns: these warnings. Never: what is wrong in a project file; the compiler reports that always.
"""

from __future__ import annotations

from app.cages.file_grants import FileGrants
from app.cages.protected_names import is_protected
from app.harness.dsl.compiled import CompiledProject
from app.harness.dsl.diagnostics import DiagnosticBag
from app.harness.dsl.document import Node
from app.harness.dsl.named_files import NamedFiles

_ROOT_UNCAGED = (
    "the root agent has all rights of the daemon's user; write a block, as "
    "`{ fs: [{ mode: rw, path: . }], state: persistent, capabilities: [shell, exec] }`"
)
_MOST_NAMED = 3


def warn_of_what_is_open(
    project: CompiledProject, primary: Node, named: NamedFiles, bag: DiagnosticBag
) -> None:
    """Add the warnings `root_uncaged` and `steering_file_writable`."""
    if project.root.cage == "disabled" and (written := primary.get("cage")) is not None:
        bag.warning("root_uncaged", _ROOT_UNCAGED, written.position)
    grants = {
        agent.path: FileGrants.of([one.model_dump() for one in agent.cage.fs], named.root)
        for agent in project.agents()
        if agent.cage != "disabled"
    }
    for path, position in named.positions.items():
        parts = path.relative_to(named.root).parts
        writers = [agent for agent, granted in grants.items() if granted.mode(parts) == "rw"]
        if writers and not any(map(is_protected, parts)):
            shown = ", ".join(writers[:_MOST_NAMED]) + (", …" if len(writers) > _MOST_NAMED else "")
            message = (
                f"`{'/'.join(parts)}` lies where {shown} may write. It stays read-only in every cage; "
                "put it below `.kaged`, or grant less"
            )
            bag.warning("steering_file_writable", message, position)
