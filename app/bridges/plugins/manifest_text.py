"""Parses the text of a manifest into plain values, within limits.

Owns: limits on size, depth and parts; aliases and tags are refused. Never: the meaning of values.
"""

from __future__ import annotations

from typing import Any

from app.bridges.plugins.problems import PluginProblem

MANIFEST_NAME = "kaged-plugin.yaml"
MAX_BYTES = 64 * 1024
MAX_DEPTH = 40
MAX_PARTS = 10_000


def read_document(content: bytes) -> dict[str, Any]:
    """Return the map that a manifest is. Raises PluginProblem `plugin_manifest_invalid`."""
    if len(content) > MAX_BYTES:
        raise _invalid(f"the file is too long; write at most {MAX_BYTES} bytes")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise _invalid("the file is no UTF-8; write it in that encoding") from None
    from ruamel.yaml import YAML
    from ruamel.yaml.error import MarkedYAMLError, YAMLError

    try:
        _check_events(text)
        value = YAML(typ="safe", pure=True).load(text)
    except MarkedYAMLError as problem:
        mark = problem.problem_mark
        where = f"line {mark.line + 1}, column {mark.column + 1}: " if mark is not None else ""
        what = " ".join(str(problem.problem or problem.context or "it cannot be read").split())[:300]
        raise _invalid(f"{where}{what}; write valid YAML") from None
    except (YAMLError, ValueError, RecursionError):
        raise _invalid("the file cannot be read; write valid YAML") from None
    if not isinstance(value, dict) or not all(isinstance(key, str) for key in value):
        raise _invalid("the file is no map with names as keys; write `name: memory` and so on")
    return value


def _check_events(text: str) -> None:
    from ruamel.yaml import YAML, events

    depth = 0
    for parts, event in enumerate(YAML(typ="safe", pure=True).parse(text)):
        if isinstance(event, events.MappingStartEvent | events.SequenceStartEvent):
            depth += 1
        elif isinstance(event, events.MappingEndEvent | events.SequenceEndEvent):
            depth -= 1
        if depth > MAX_DEPTH or parts > MAX_PARTS:
            raise _invalid(
                f"line {event.start_mark.line + 1}: nested too deeply or too many parts; write a smaller file"
            )
        if isinstance(event, events.AliasEvent) or getattr(event, "anchor", None):
            raise _invalid(
                f"line {event.start_mark.line + 1}: anchors and aliases are not taken; write it out"
            )
        if getattr(event, "tag", None) and str(event.tag) != "!":
            raise _invalid(f"line {event.start_mark.line + 1}: tags are not taken; write plain values")


def _invalid(problem: str) -> PluginProblem:
    return PluginProblem("plugin_manifest_invalid", f"{MANIFEST_NAME}: {problem}", (problem,))
