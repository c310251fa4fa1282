"""One run of a plugin: its process, the handshake, calls, and its end.

Owns: starting and stopping the process, the answer to `initialize`, bounds on answers. Never: restarts; the
meaning of a hook or tool.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from app.bridges.plugins.capabilities import covered, parse_capability
from app.bridges.plugins.journal import Journal
from app.bridges.plugins.limits import PluginLimits
from app.bridges.plugins.manifest import API_VERSION, PluginManifest
from app.bridges.plugins.package import Package
from app.bridges.plugins.problems import PluginEnded
from app.bridges.plugins.requests import PluginRequests
from app.bridges.processes.child import Child, SpawnFailed
from app.bridges.processes.place import Place
from app.bridges.processes.supervised_child import Refused
from app.bridges.rpc.allowance import Allowance
from app.bridges.rpc.child_connection import ChildConnection
from app.bridges.rpc.framing import Lines
from app.bridges.rpc.message_stream import Manner, PeerClosed, parse_strictly
from app.bridges.rpc.peer import Id, JsonRpcPeer, ResponseError
from app.errors import Failure
from app.json_schema import is_deeper
from app.programs import search_path

_PASSED_ON = ("PATH", "HOME", "LANG")
_CHECKED_ASIDE = 16 * 1024
_MAX_SAID = 300
_ALWAYS = frozenset({"initialize", "ping", "shutdown"})


class BadAnswer(Failure):
    """An unusable answer; `reason` says why."""


@dataclass(frozen=True, slots=True)
class _Sized:
    """The result of an answer, and the bytes of the whole message."""

    value: Any
    size: int


class _PluginPeer(JsonRpcPeer):
    def _answered(self, number: Id, message: dict[str, Any]) -> None:
        super()._answered(number, {**message, "result": _Sized(message.get("result"), self.bytes_taken)})


@dataclass(frozen=True, slots=True)
class Setting:
    """The configuration of one run. `config` is the declaration's, `system_config` the operator's."""

    package: Package
    project_id: str
    project_root: Path
    config: Mapping[str, Any]
    system_config: Mapping[str, Any]
    environment: Mapping[str, str]
    daemon_version: str

    @property
    def manifest(self) -> PluginManifest:
        return self.package.manifest

    def variables(self) -> dict[str, str]:
        """Return the whole environment of the process: the manifest's variables and the few that programs
        need. `python` is the daemon's; folders of a project are not on PATH."""
        passed_on = {name: self.environment[name] for name in _PASSED_ON if name in self.environment}
        own = str(Path(sys.executable).parent)
        others = search_path(passed_on) if passed_on.get("PATH") else ""
        passed_on["PATH"] = f"{own}:{others}" if others else own
        return {**passed_on, **self.manifest.env}

    def greeting(self) -> dict[str, Any]:
        manifest = self.manifest
        params: dict[str, Any] = {
            "daemon_version": self.daemon_version,
            "api_version": API_VERSION,
            "plugin_name": manifest.name,
            "config": dict(self.config),
            "storage_available": manifest.may("kaged:storage:read") or manifest.may("kaged:storage:write"),
            "project": {"id": self.project_id, "root": str(self.project_root)},
        }
        if manifest.system_config_schema is not None:
            params["system_config"] = dict(self.system_config)
        return params


class Connection(ChildConnection):
    """A running plugin. Made by `open`, ended by `shut_down` or `aclose`."""

    def __init__(
        self,
        child: Child,
        manifest: PluginManifest,
        requests: PluginRequests,
        journal: Journal,
        limits: PluginLimits,
    ) -> None:
        assert child.stdin is not None
        assert child.stdout is not None
        self._manifest = manifest
        self._journal = journal
        self._limits = limits
        messages, volume = Allowance(limits.messages.per_second), Allowance(limits.messages.bytes_per_second)
        peer = _PluginPeer(
            child.stdout,
            child.stdin,
            name=f"plugin {manifest.name}",
            on_notification=requests.notified,
            on_request=requests.answer,
            manner=Manner(
                Lines(limits.messages.line_bytes),
                parse_strictly,
                pace=lambda size: max(messages.spend(1.0), volume.spend(size)),
                max_unsent=limits.messages.unsent_bytes,
            ),
        )
        super().__init__(child, peer, journal.drain(child.stderr), noun="plugin")

    @classmethod
    async def open(
        cls,
        place: Place,
        setting: Setting,
        requests: PluginRequests,
        journal: Journal,
        limits: PluginLimits,
    ) -> Connection:
        """Start the plugin and greet it. Raises PluginEnded, and Refused when it is not what its
        manifest says."""
        manifest = setting.manifest
        try:
            child = await place.children.start(
                manifest.command,
                owner=f"plugin {manifest.name}",
                cwd=setting.package.folder,
                env=place.environment,
                stdin="pipe",
            )
        except SpawnFailed as failure:
            raise PluginEnded(f"`{manifest.command[0]}` cannot be started: {failure.reason}") from None
        try:
            connection = cls(child, manifest, requests, journal, limits)
        except BaseException:
            await child.aclose()
            raise
        try:
            await connection._greet(setting)
        except BaseException:
            await connection.aclose()
            raise
        return connection

    async def call(self, method: str, params: Any) -> Any:
        """Call the plugin and return its answer, checked for size and depth. Raises ResponseError for an
        error as answer, BadAnswer, and PluginEnded when it ends first. A cancelled call is cancelled in the
        plugin, too."""
        limits = self._limits.messages
        try:
            body = await asyncio.to_thread(orjson.dumps, params)
        except TypeError as problem:
            raise BadAnswer(f"the parameters are no JSON: {problem}") from None
        if len(body) > limits.params_bytes:
            raise BadAnswer(f"the parameters have {len(body)} bytes, {limits.params_bytes} are allowed")
        try:
            answer = await self.peer.request(method, orjson.Fragment(body))
        except PeerClosed as closed:
            raise await self._account(closed.reason) from None
        assert isinstance(answer, _Sized)
        if answer.size > limits.result_bytes:
            raise BadAnswer(f"it answered {answer.size} bytes, {limits.result_bytes} are allowed")
        if answer.size <= _CHECKED_ASIDE:
            too_deep = is_deeper(answer.value, limits.depth)
        else:
            too_deep = await asyncio.to_thread(is_deeper, answer.value, limits.depth)
        if too_deep:
            raise BadAnswer(f"its answer is nested more than {limits.depth} deep")
        return answer.value

    async def wait_until_ended(self) -> PluginEnded:
        return await self._account(await self.end_of_reading())

    def _part(self) -> None:
        self.peer.close("the plugin was stopped")

    async def _greet(self, setting: Setting) -> None:
        try:
            async with asyncio.timeout(self._limits.start_seconds):
                answer = await self.call("initialize", setting.greeting())
        except TimeoutError:
            raise PluginEnded(
                f"it did not answer initialize within {self._limits.start_seconds:g} s"
            ) from None
        except ResponseError as refusal:
            raise PluginEnded(f"it refused to start: {refusal.message[:_MAX_SAID]}") from None
        except BadAnswer as bad:
            raise Refused(bad.reason) from None
        check_introduction(self._manifest, answer)
        self.peer.notify("initialized", {})

    async def _account(self, reason: str) -> PluginEnded:
        how, code = await self.end_of_child(reason)
        words = self._journal.last(1)
        return PluginEnded(f"it ended ({how})" + (f"; {words[0][:_MAX_SAID]}" if words else ""), code)


def check_introduction(manifest: PluginManifest, answer: Any) -> None:
    """Compare what a plugin says of itself with its manifest. Raises Refused."""
    if not isinstance(answer, dict):
        raise Refused("it answered initialize with no object")
    for key, expected in (
        ("name", manifest.name),
        ("version", manifest.version),
        ("api_version", manifest.kaged_api),
    ):
        if answer.get(key) != expected or isinstance(answer.get(key), bool):
            raise Refused(f"its {key} is {_shown(answer.get(key))}, its manifest says {_shown(expected)}")
    used = _names(answer, "capabilities_used")
    for text in used:
        try:
            wanted = parse_capability(text)
        except ValueError:
            raise Refused(f"it uses {_shown(text)}, which is no capability") from None
        if not covered(manifest.capabilities, wanted):
            raise Refused(f"it uses the capability {_shown(text)}, which its manifest does not have")
    methods = set(_names(answer, "methods"))
    for missing in sorted(manifest.promised - methods):
        raise Refused(f"its manifest promises {missing}, which it does not have")
    for more in sorted(methods - manifest.promised - set(manifest.methods) - _ALWAYS):
        raise Refused(f"it has the method {_shown(more)}, which its manifest does not have")
    for more in sorted(set(_names(answer, "notifications")) - set(manifest.notifications)):
        raise Refused(f"it sends {_shown(more)}, which its manifest does not have")


def _names(answer: Mapping[str, Any], key: str) -> list[str]:
    names = answer.get(key, [])
    if not isinstance(names, list) or len(names) > 1_000 or not all(isinstance(one, str) for one in names):
        raise Refused(f"its {key} are no list of texts")
    return names


def _shown(value: Any) -> str:
    return (
        repr(value)[:100]
        if isinstance(value, str | int | float | None)
        else f"no text but {type(value).__name__}"
    )
