"""What an editor can set in a session: its mode and its model.

Owns: the choices, setting them, and what an editor knows of them. Never: which models and modes exist, which
the daemon knows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from acp.schema import (
    ConfigOptionUpdate,
    CurrentModeUpdate,
    SessionConfigOptionSelect,
    SessionConfigSelectOption,
    SessionMode,
    SessionModeState,
)

from app.cli.editor.daemon_link import DaemonLink
from app.cli.editor.failures import refused

MODE = "mode"
MODEL = "model"
AGENTS_OWN = ":agent"
"""The choice of the agent's own model; no alias can be called so."""


class SessionOptions:
    """The options of the session at `path`. Every method raises `CommandFailed`."""

    def __init__(self, link: DaemonLink, path: str, detail: Mapping[str, Any]) -> None:
        self._link = link
        self._path = path
        self._model: str | None = detail["overrides"].get("model")
        self._mode: str = detail["mode"]
        self._own: list[tuple[str | None, str]] = []
        """What the editor has set, and no `session.updated` has reported yet."""

    async def all(self) -> list[SessionConfigOptionSelect]:
        """Return every option with its present value."""
        client = await self._link.client()
        models = [one async for one in client.items("/models")]
        return [mode_option(await self._modes(), self._mode), model_option(models, self._model)]

    async def modes(self) -> SessionModeState:
        """Return the modes for editors that know no options."""
        known = [
            SessionMode(id=one["name"], name=one["label"], description=one["description"])
            for one in await self._modes()
        ]
        return SessionModeState(current_mode_id=self._mode, available_modes=known)

    async def set(self, option_id: str, value: str | bool) -> list[SessionConfigOptionSelect]:
        """Set an option and return all of them. Raises RequestError for an unknown one."""
        if option_id == MODE and isinstance(value, str):
            await self.set_mode(value)
        elif option_id == MODEL and isinstance(value, str):
            model = None if value == AGENTS_OWN else value
            await self._link.request("PATCH", self._path, {"model": model})
            self._model = model
            self._own.append((self._model, self._mode))
        else:
            raise refused("validation_failed", f"There is no option {option_id} with the value {value}.")
        return await self.all()

    async def set_mode(self, mode: str) -> None:
        await self._link.request("PATCH", self._path, {"mode": mode})
        self._mode = mode
        self._own.append((self._model, self._mode))

    async def changed(self, payload: Mapping[str, Any]) -> list[Any]:
        """Return the updates for a change of the session, from `session.updated`: none for one that the
        editor knows."""
        model, mode = payload.get("model"), str(payload["mode"])
        if (model, mode) in self._own:
            del self._own[: self._own.index((model, mode)) + 1]
            return []
        if (model, mode) == (self._model, self._mode):
            return []
        updates: list[Any] = []
        if mode != self._mode:
            updates.append(CurrentModeUpdate(session_update="current_mode_update", current_mode_id=mode))
        self._model, self._mode = model, mode
        options = await self.all()
        return [*updates, ConfigOptionUpdate(session_update="config_option_update", config_options=options)]

    async def _modes(self) -> Sequence[Mapping[str, Any]]:
        found = await self._link.request("GET", "/modes")
        modes: Sequence[Mapping[str, Any]] = found["items"]
        return modes


def mode_option(modes: Sequence[Mapping[str, Any]], current: str) -> SessionConfigOptionSelect:
    """Return the option for the mode: how much the session asks."""
    return SessionConfigOptionSelect(
        id=MODE,
        name="Mode",
        category="mode",
        type="select",
        current_value=current,
        options=[choice(one["name"], one["label"], one["description"]) for one in modes],
    )


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
