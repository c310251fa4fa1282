"""Words of a shell command without quotes, and how much of a word is certain.

Owns: quotes, escapes, globs and expansions within one word. Never: commands in substitutions.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from app.tools.authorisation.shell_script import Part, Word

if TYPE_CHECKING:
    from tree_sitter import Node

WORDS = frozenset(
    {"word", "number", "raw_string", "string", "ansi_c_string", "translated_string", "concatenation"}
    | {"simple_expansion", "expansion", "command_substitution", "process_substitution"}
    | {"arithmetic_expansion", "brace_expression", "extglob_pattern", "regex", "command_name"}
    | {"variable_name", "special_variable_name", "subscript", "array", "test_operator"}
)
_SUBSTITUTIONS = frozenset({"command_substitution", "process_substitution"})
_IN_QUOTES = re.compile(r'\\([$`"\\\n])')
_ANYTHING = re.compile(r"\\(.)|([*?\[$])", re.DOTALL)
_BRACES = re.compile(r"\{[^{}]*(?:,|\.\.)")
"""What `bash` makes several words of; a bare `{}` stays what it is."""

ReadStatements = Callable[["Node"], list[Part]]


class WordReader:
    """Reads words of one source. `parts` collects what substitutions within them would run."""

    def __init__(self, source: str, read_substitution: ReadStatements) -> None:
        self._source = source
        self._read_substitution = read_substitution
        self.parts: list[Part] = []

    def read(self, node: Node) -> Word:
        if node.type == "command_name" and node.named_children:
            return self.read(node.named_children[0])
        if node.type in {"word", "number", "variable_name", "test_operator"}:
            return _unquoted(self._text(node))
        if node.type == "raw_string":
            text = self._text(node)[1:-1]
            return Word(text, len(text))
        if node.type == "string":
            return self._in_quotes(node)
        if node.type == "concatenation":
            return self._concatenation(node)
        self._visit(node)
        return Word(self._text(node), 0)

    def _concatenation(self, node: Node) -> Word:
        words = [self._piece(child) for child in node.children]
        bare = "".join(
            word.text if child.type == "word" else "\0" * len(word.text)
            for word, child in zip(words, node.children, strict=True)
        )
        return _braced(_joined(words), bare)

    def _piece(self, node: Node) -> Word:
        """Read a part of a longer word: there `[` is no command, but begins a glob."""
        return Word("[", 0) if self._text(node) == "[" else self.read(node)

    def _in_quotes(self, node: Node) -> Word:
        pieces: list[Word] = []
        at = node.start_byte + 1
        for child in node.named_children:
            if child.type == "string_content":
                continue
            pieces.append(_quoted(self._slice(at, child.start_byte)))
            pieces.append(self._expansion(child))
            at = child.end_byte
        pieces.append(_quoted(self._slice(at, node.end_byte - 1)))
        return _joined(pieces)

    def _expansion(self, node: Node) -> Word:
        self._visit(node)
        return Word(self._text(node), 0)

    def _visit(self, node: Node) -> None:
        """Find the substitutions anywhere within a word that is not certain."""
        if node.type in _SUBSTITUTIONS:
            self.parts += self._read_substitution(node)
            return
        for child in node.named_children:
            self._visit(child)

    def _text(self, node: Node) -> str:
        return self._slice(node.start_byte, node.end_byte)

    def _slice(self, start: int, end: int) -> str:
        return self._source[start:end]


def _quoted(text: str) -> Word:
    plain = _IN_QUOTES.sub(lambda found: "" if found[1] == "\n" else found[1], text)
    return Word(plain, len(plain))


def _unquoted(text: str) -> Word:
    """Take escapes away; from the first glob or brace on nothing is certain."""
    plain, at, known = "", 0, -1
    for found in _ANYTHING.finditer(text):
        plain += text[at : found.start()]
        at = found.end()
        if found[2] is not None:
            known = len(plain) if known < 0 and text != "[" else known
            plain += found[2]
        elif found[1] != "\n":
            plain += found[1]
    plain += text[at:]
    return _braced(Word(plain, len(plain) if known < 0 else known), plain)


def _braced(word: Word, bare: str) -> Word:
    found = _BRACES.search(bare)
    return word if found is None else Word(word.text, min(word.known, found.start()))


def _joined(words: list[Word]) -> Word:
    text, known = "", -1
    for word in words:
        if known < 0 and not word.is_certain:
            known = len(text) + word.known
        text += word.text
    return Word(text, len(text) if known < 0 else known)
