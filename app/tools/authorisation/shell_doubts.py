"""Reasons not to trust the parse of a shell command.

Owns: known differences between the grammar, `sh` and `bash`, each as a check that errs on the side of doubt.
Never: parsing.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tree_sitter import Node

MAX_TEXT = 64 * 1024
_CONTROL = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f\ud800-\udfff\u0085\u00a0\u1680\u2000-\u200f\u2028-\u202f\u205f\u3000\ufeff]"
)
_JOINED_WORD = re.compile(r"(?<![ \t])\\\n")
_ARITHMETIC = re.compile(rb"\$\(\([\w\s+*/%<>=!&|^~?:,\[\]${}-]*\)\)")
_PLAIN_DELIMITER = re.compile(rb"([A-Za-z0-9_.]+)|'([A-Za-z0-9_.]+)'|\"([A-Za-z0-9_.]+)\"")
_OPENERS = re.compile(rb"`|\$\(|\$\{|[<>]\(")
_OPENING_TOKENS = frozenset({"`", "$(", "${", "<(", ">(", "$((", "$["})
_INERT = frozenset({"raw_string", "comment", "ansi_c_string"})
_BEFORE_COMMENT = b" \t\n;&|()"


def doubtful_text(text: str) -> bool:
    """Tell whether the text itself is beyond what is read: too long, unusual blanks or control
    characters, a line continued in the middle of a word."""
    return len(text) > MAX_TEXT or bool(_CONTROL.search(text) or _JOINED_WORD.search(text))


def doubtful_tree(root: Node, source: bytes) -> bool:
    """Tell whether shells may read something of this in another way than the grammar does."""
    nodes = _below(root)
    for node in nodes:
        check = _CHECKS.get(node.type)
        if check is not None and check(node, source):
            return True
    return root.has_error or _uncovered(source, nodes)


def _comment(node: Node, source: bytes) -> bool:
    at = node.start_byte
    before = source[at - 1 : at]
    escaped = source[at - 2 : at - 1] == b"\\"
    return (bool(before) and (before not in _BEFORE_COMMENT or escaped)) or b"\n" in _bytes(node, source)


def _ansi_string(node: Node, source: bytes) -> bool:
    return b"\\" in _bytes(node, source)  # `sh` knows no $'...': an escaped quote ends the string there


def _test(node: Node, source: bytes) -> bool:
    """`[ a > b ]` writes a file, `[ a || b ]` and, in `sh`, `[[ a || b ]]` run b."""
    return any(child.type in {"<", ">", "&&", "||", "("} for child in _below(node) if not child.is_named)


def _backticks(node: Node, source: bytes) -> bool:
    text = _bytes(node, source)
    return text.startswith(b"`") and b"\\" in text


def _arithmetic(node: Node, source: bytes) -> bool:
    text = _bytes(node, source)
    return text.startswith(b"$((") and not _ARITHMETIC.fullmatch(text)


def _double_parentheses(node: Node, source: bytes) -> bool:
    return _bytes(node, source).startswith(b"((")  # arithmetic in `bash`, two subshells in `sh`


def _function(node: Node, source: bytes) -> bool:
    return _bytes(node, source).startswith(b"function")  # in `sh` that is the name of a command


def _heredoc(node: Node, source: bytes) -> bool:
    start = next((child for child in node.children if child.type == "heredoc_start"), None)
    body = next((child for child in node.children if child.type == "heredoc_body"), None)
    end = next((child for child in node.children if child.type == "heredoc_end"), None)
    if start is None or body is None or end is None:
        return True
    delimiter = _PLAIN_DELIMITER.fullmatch(_bytes(start, source))
    if delimiter is None:
        return True
    name = next(group for group in delimiter.groups() if group)
    strips = node.children[0].type == "<<-" or any(child.type == "<<-" for child in node.children)
    line_end = source.find(b"\n", start.end_byte)
    at = line_end + 1
    while line_end >= 0 and at < len(source):
        stop = source.find(b"\n", at)
        line = source[at : stop if stop >= 0 else len(source)]
        shown = line.lstrip(b"\t") if strips else line
        if shown == name:
            return not at <= end.start_byte <= at + len(line)
        if stop < 0:
            return True
        at = stop + 1
    return True


_CHECKS = {
    "comment": _comment,
    "ansi_c_string": _ansi_string,
    "test_command": _test,
    "command_substitution": _backticks,
    "arithmetic_expansion": _arithmetic,
    "compound_statement": _double_parentheses,
    "function_definition": _function,
    "heredoc_redirect": _heredoc,
}


def _uncovered(source: bytes, nodes: list[Node]) -> bool:
    """Tell whether the source opens a substitution where the tree has none.

    The grammar keeps some backticks as plain text, in here-documents and within `${...}`."""
    openers = [found.start() for found in _OPENERS.finditer(source) if not _escaped(source, found.start())]
    if not openers:
        return False
    covered: set[int] = set()
    for node in nodes:
        if node.type in _OPENING_TOKENS and not node.is_named:
            covered.add(node.start_byte)
        elif node.type in _INERT or (node.type == "heredoc_redirect" and _is_literal(node, source)):
            inert = _literal_span(node)
            covered.update(at for at in openers if inert[0] <= at < inert[1])
    return any(at not in covered for at in openers)


def _is_literal(heredoc: Node, source: bytes) -> bool:
    start = next((child for child in heredoc.children if child.type == "heredoc_start"), None)
    return start is not None and _bytes(start, source)[:1] in {b"'", b'"'}


def _literal_span(node: Node) -> tuple[int, int]:
    if node.type != "heredoc_redirect":
        return node.start_byte, node.end_byte
    body = next((child for child in node.children if child.type == "heredoc_body"), node)
    return body.start_byte, body.end_byte


def _escaped(source: bytes, at: int) -> bool:
    count = 0
    while at - count > 0 and source[at - count - 1 : at - count] == b"\\":
        count += 1
    return count % 2 == 1


def _below(node: Node) -> list[Node]:
    found, queue = [], [node]
    while queue:
        one = queue.pop()
        found.append(one)
        queue.extend(one.children)
    return found


def _bytes(node: Node, source: bytes) -> bytes:
    return source[node.start_byte : node.end_byte]
