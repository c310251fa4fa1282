"""All hooks that are commands: the operator's, and those of trusted projects as they are now.

Owns: which hooks there are for an event, and running one with its input. Never: what follows from an answer
(`call_hooks`, `run_hooks`).
Keeps S12 of docs/security.md.

Hooks are read from the version of the project that acts, not from the one that a session began with: a new
version of the file holds from its next event on, in every agent.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

from app.errors import NotFound
from app.harness.dsl.spec_hooks import HookEvent
from app.harness.hooks.commands.answer import HookAnswer, answer_of
from app.harness.hooks.commands.call_hooks import CommandCallHooks
from app.harness.hooks.commands.hook import CommandHook, HookPlace, hooks_of
from app.harness.hooks.commands.input import HookInput, InputTooLong, content_of
from app.harness.hooks.commands.outcomes import OutcomeBook
from app.harness.hooks.commands.running import HookProcesses, HookRun
from app.harness.projects.projects import ProjectRegistry
from app.ids import now_ms
from app.observability import Redactor
from app.tools.contract.call import ToolCallContext
from app.tools.dispatch.hooks import CallHooks

_TOO_LONG = HookRun(None, problem="the arguments of the call are longer than a hook can be given (1 MB)")


class CommandHooks:
    """One per daemon. `own` are the operator's hooks, which run first."""

    def __init__(
        self,
        own: Sequence[CommandHook],
        projects: ProjectRegistry,
        processes: HookProcesses,
        redactor: Redactor,
    ) -> None:
        self._own = tuple(own)
        self._projects = projects
        self._processes = processes
        self._redactor = redactor
        self.outcomes = OutcomeBook()

    def all(self, project_id: str) -> tuple[CommandHook, ...]:
        """Return the hooks of a project, in the order in which they run; none of one that is not trusted."""
        place = self._place(project_id)
        return () if place is None else (*self._own, *hooks_of(place.project.hooks, "project"))

    def due(self, project_id: str, agent_path: str, *events: HookEvent) -> list[CommandHook]:
        """Return the hooks for an agent at one of these events, in the order in which they run."""
        return [hook for hook in self.all(project_id) if hook.event in events and hook.is_for(agent_path)]

    def of_call(self, context: ToolCallContext) -> CallHooks | None:
        """Return the hooks of a tool call, None where none is for it."""
        found = self.due(context.project_id, context.agent_path, "before_tool", "after_tool")
        if not found:
            return None

        async def ask(hook: CommandHook, given: HookInput) -> tuple[HookRun, HookAnswer]:
            return await self.ask(hook, context.project_id, given)

        return CommandCallHooks(found, context, ask)

    async def ask(self, hook: CommandHook, project_id: str, given: HookInput) -> tuple[HookRun, HookAnswer]:
        """Run a hook and read its answer; a run in a session counts. Raises nothing but a cancellation."""
        run, answer = await self._asked(hook, project_id, given)
        if given.session_id is not None:
            self.outcomes.note(project_id, hook, answer, now_ms())
        return run, answer

    async def _asked(
        self, hook: CommandHook, project_id: str, given: HookInput
    ) -> tuple[HookRun, HookAnswer]:
        place = self._place(project_id, given.root)
        if place is None:
            run = HookRun(None, problem="the project is not trusted any more")
            return run, HookAnswer("failed", run.problem or "")
        try:
            whole = hook.event == "before_tool"
            content = await asyncio.to_thread(content_of, hook, place, given, self._redactor, whole=whole)
        except (InputTooLong, RecursionError):
            return _TOO_LONG, HookAnswer("failed", _TOO_LONG.problem or "")
        run = await self._processes.run(hook, place, content)
        return run, await asyncio.to_thread(answer_of, hook, run, self._redactor)

    def find(self, project_id: str, name: str) -> CommandHook:
        """Return a hook by its name, the project's before the operator's. Raises `NotFound`."""
        self._projects.require_trusted(project_id)
        hooks = self.all(project_id)
        found = next((hook for hook in reversed(hooks) if hook.name == name), None)
        if found is None:
            raise NotFound(f"The project has no hook {name}.", details={"hooks": [one.name for one in hooks]})
        return found

    async def aclose(self) -> None:
        await self._processes.aclose()

    def _place(self, project_id: str, folder: Path | None = None) -> HookPlace | None:
        project = self._projects.find(project_id)
        if project is None or project.compiled is None or self._projects.is_untrusted(project_id):
            return None
        return HookPlace(project.id, project.slug, project.root, project.compiled, folder or project.root)
