"""Quantifiers inside quantifiers: the shape that makes a regular expression's time explode."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Iterator
from re import _constants as codes  # type: ignore[attr-defined]  # typeshed does not know them
from re import _parser as parser  # type: ignore[attr-defined]  # typeshed does not know it
from typing import Any

from tests.architecture.source_tree import SourceFile, dotted

_FUNCTIONS = frozenset(
    {"compile", "search", "match", "fullmatch", "split", "findall", "finditer", "sub", "subn"}
)
_CHARACTERS = frozenset({codes.LITERAL, codes.NOT_LITERAL, codes.IN, codes.ANY})
_GREEDY = frozenset({codes.MAX_REPEAT, codes.MIN_REPEAT})


def is_nested(pattern: str | bytes, flags: int = 0) -> bool:
    """Tell whether an unbounded quantifier that can give back stands inside another one.

    Possessive quantifiers and atomic groups give nothing back, so they may stand inside each other.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return _nested(parser.parse(pattern, flags), False)


def no_nested_quantifiers(source: SourceFile) -> Iterator[str]:
    names = _texts(source.tree)
    for node in source.nodes:
        if not (isinstance(node, ast.Call) and node.args and dotted(node.func).startswith("re.")):
            continue
        pattern = _text(node.args[0], names)
        if dotted(node.func)[3:] in _FUNCTIONS and pattern is not None and is_nested(pattern):
            yield f"{source.path}:{node.lineno} has nested quantifiers; make one possessive (++)"


def repeats_group_possessively(pattern: str | bytes, flags: int = 0) -> bool:
    """Tell whether a possessive quantifier repeats more than one character.

    Python before 3.11.5 matches that wrongly: `(?:(?!b)[a-z])*+b` finds nothing in "ab"."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return _possessive_group(parser.parse(pattern, flags))


def _possessive_group(tree: Any) -> bool:
    for code, argument in tree:
        if code is codes.POSSESSIVE_REPEAT:
            [(only, _), *more] = argument[2]
            if more or only not in _CHARACTERS or _possessive_group(argument[2]):
                return True
        branches = [argument] if code is codes.ATOMIC_GROUP else _branches(code, argument)
        if any(_possessive_group(branch) for branch in branches):
            return True
    return False


def _nested(tree: Any, inside: bool) -> bool:
    for code, argument in tree:
        repeats = code in _GREEDY and argument[1] == codes.MAXREPEAT
        if repeats and inside:
            return True
        if code in {codes.POSSESSIVE_REPEAT, codes.ATOMIC_GROUP}:
            # What it holds is never entered again, so only what lies within it can explode.
            if _nested(argument[2] if code is codes.POSSESSIVE_REPEAT else argument, False):
                return True
        elif any(_nested(branch, inside or repeats) for branch in _branches(code, argument)):
            return True
    return False


def _branches(code: Any, argument: Any) -> list[Any]:
    if code in _GREEDY:
        return [argument[2]]
    if code is codes.SUBPATTERN:
        return [argument[3]]
    if code is codes.BRANCH:
        return list(argument[1])
    if code in {codes.ASSERT, codes.ASSERT_NOT}:
        return [argument[1]]
    if code is codes.GROUPREF_EXISTS:
        return [branch for branch in argument[1:] if branch is not None]
    return []


def _texts(tree: ast.Module) -> dict[str, str]:
    """Return the module's texts by their names, so that an f-string can be put together."""
    found: dict[str, str] = {}
    for node in tree.body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            text = _text(node.value, found)
            if isinstance(text, str):
                found[node.targets[0].id] = text
    return found


def _text(node: ast.expr, names: dict[str, str]) -> str | bytes | None:
    if isinstance(node, ast.Constant) and isinstance(node.value, str | bytes):
        return node.value
    if isinstance(node, ast.Name):
        return names.get(node.id)
    if isinstance(node, ast.JoinedStr):
        values = [one.value if isinstance(one, ast.FormattedValue) else one for one in node.values]
        pieces = [_text(one, names) for one in values]
        return "".join(str(one) for one in pieces) if None not in pieces else None
    return None
