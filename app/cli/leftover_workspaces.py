"""What `kaged doctor` finds of workspaces that nobody knows, and removes.

Owns: the findings. Never: looking (`harness.workspaces.leftovers`).
"""

from __future__ import annotations

from pathlib import Path

from app.bridges.processes.process import ChildProcesses
from app.cli.diagnosis import Finding, Status
from app.config import Settings, child_environment
from app.errors import KagedError
from app.harness.workspaces.leftovers import LeftoverSearch
from app.storage import backup
from app.tools.processes.call_processes import CallProcesses
from app.tools.processes.git_commands import GitProblem

GROUP = "workspaces"
ADVICE = "kaged doctor --remove-leftovers"


async def leftover_findings(settings: Settings, *, remove: bool) -> list[Finding]:
    """Return a finding for each folder and each ref that belongs to no workspace of the database; with
    `remove` they are removed."""
    url, data_dir = settings.storage.url, settings.daemon.data_dir
    address = url.get_secret_value() if url is not None else None
    children = ChildProcesses()
    try:
        _, roots = await backup.held_workspaces(address, data_dir)
        search = LeftoverSearch(CallProcesses.uncaged(children), child_environment(), data_dir)
        found = await search.find([Path(root) for root in roots])
        held, _ = await backup.held_workspaces(address, data_dir)  # a daemon may make some meanwhile
        found = found.without(held)
        if remove:
            await search.remove(found)
    except KagedError as problem:  # nobody knows what is left over; the storage's own finding says more
        detail = f"nothing is removed: {problem.message}"
        return [Finding(GROUP, "leftovers", "problem", detail)] if remove else []
    except (GitProblem, OSError) as problem:
        return [Finding(GROUP, "leftovers", "problem", f"they cannot be removed: {problem}")]
    finally:
        await children.aclose()
    detail = "removed" if remove else "the database knows no such workspace"
    advice = None if remove else ADVICE
    status: Status = "ok" if remove else "absent"
    named = [str(folder) for folder in found.folders]
    named += [f"refs/kaged/base/{one} in {root}" for root, ids in found.pins.items() for one in ids]
    return [Finding(GROUP, name, status, detail, advice) for name in named]
