"""What an editor can set in a session: its model.

Owns: the choices, setting them, and what an editor knows of them. Never: which models exist, which the daemon
knows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from acp.schema import ConfigOptionUpdate, SessionConfigOptionSelect, SessionConfigSelectOption

from app.cli.editor.daemon_link import DaemonLink
from app.cli.editor.failures import refused

MODEL = "model"
AGENTS_OWN = ":agent"
"""The choice of the agent's own model; no alias can be called so."""


class SessionOptions:
    """The options of the session at `path`. Every method raises `CommandFailed`."""

    def __init__(self, link: DaemonLink, path: str, detail: Mapping[str, Any]) -> None:
        self._link = link
        self._path = path
        self._model: str | None = detail["overrides"].get("model")

    async def all(self) -> list[SessionConfigOptionSelect]:
        """Return every option with its present value."""
        client = await self._link.client()
        return [model_option([one async for one in client.items("/models")], self._model)]

    async def set(self, option_id: str, value: str | bool) -> list[SessionConfigOptionSelect]:
        """Set an option and return all of them. Raises RequestError for an unknown one."""
        if option_id != MODEL or not isinstance(value, str):
            raise refused("validation_failed", f"There is no option {option_id} with the value {value}.")
        model = None if value == AGENTS_OWN else value
        await self._link.request("PATCH", self._path, {"model": model})
        self._model = model
        return await self.all()

    async def changed(self, payload: Mapping[str, Any]) -> list[Any]:
        """Return the updates for a change of the session, from `session.updated`: none for one that the
        editor knows."""
        if payload.get("model") == self._model:
            return []
        self._model = payload.get("model")
        options = await self.all()
        return [ConfigOptionUpdate(session_update="config_option_update", config_options=options)]


def model_option(models: Sequence[Mapping[str, Any]], current: str | None) -> SessionConfigOptionSelect:
    """Return the option for the model. `current` is the session's own, None for its agent's."""
    choices = [choice(AGENTS_OWN, "Agent's model", "The model that the project file gives the agent.")]
    for one in models:
        about = ", ".join(one["chain"]) if one["ready"] else f"not usable: {one['problem']}"
        choices.append(choice(one["alias"], one["alias"], about))
    if current is not None and current not in {one.value for one in choices}:
        choices.append(choice(current, current, ""))
    return SessionConfigOptionSelect(
        id=MODEL,
        name="Model",
        category="model",
        type="select",
        current_value=current or AGENTS_OWN,
        options=choices,
    )


def choice(value: str, name: str, description: str) -> SessionConfigSelectOption:
    """Return one value of an option."""
    return SessionConfigSelectOption(value=value, name=name, description=description or None)
