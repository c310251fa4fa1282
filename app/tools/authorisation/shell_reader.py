"""Reads a shell command line into its parts, and reports when it cannot.

Owns: the walk over the syntax tree; a script that `sh` and `bash` read differently is unreadable. Never:
running anything.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from app.tools.authorisation.shell_doubts import MAX_TEXT, doubtful_text, doubtful_tree
from app.tools.authorisation.shell_inner import Commands, Shell, Text, Unknown
from app.tools.authorisation.shell_script import Part, Redirect, Script, Word, certain
from app.tools.authorisation.shell_words import WORDS, WordReader
from app.tools.authorisation.shell_wrappers import inner_of

if TYPE_CHECKING:
    from tree_sitter import Node, Parser, Tree

MAX_DEPTH = 40
MAX_NESTED_SCRIPTS = 6
MAX_PARTS = 300
MAX_ERROR_WORK = 200_000
"""Bytes that the grammar may look through again behind a syntax error: about 0.2 s."""
_TRANSPARENT = frozenset(
    {"program", "list", "subshell", "compound_statement", "do_group", "if_statement", "elif_clause"}
    | {"else_clause", "while_statement", "for_statement", "case_statement", "case_item"}
    | {"function_definition", "negated_command", "command_substitution", "process_substitution"}
    | {"test_command", "binary_expression", "unary_expression", "parenthesized_expression"}
)
_NOT_ASCII = re.compile(r"[^\x00-\x7f]")
_DESCRIPTOR = re.compile(r"[0-9]+-?|-")
_HARMLESS_FILES = frozenset({"/dev/null", "/dev/stdout", "/dev/stderr", "/dev/stdin", "/dev/tty"})


def read_script(text: str) -> Script:
    """Take a command line apart. Never raises; what cannot be read is marked so."""
    return _read(text, 0)


def _read(text: str, nesting: int) -> Script:
    script = Script(text)
    if doubtful_text(text):
        script.readable = False
    if len(text) > MAX_TEXT:
        return script
    # The grammar's scanner asks C's isalpha() about every character, which may end the process for one
    # beyond Latin: it is shown a stand-in that is as ordinary to a shell, character for character.
    source = _NOT_ASCII.sub("\x7f", text).encode()
    try:
        tree = _parsed(source)
        if tree is None:
            script.readable = False
            return script
        reader = _Reader(text, script, nesting)
        reader.statements(tree.root_node, ())
    except RecursionError:
        script.readable = False
        return script
    if doubtful_tree(tree.root_node, source) or len(script.parts) > MAX_PARTS:
        script.readable = False
    return script


def _parsed(source: bytes) -> Tree | None:
    """Return the syntax tree; None for a text with so many errors that the grammar's recovery, quadratic in
    the text, would take too long."""
    spent = 0

    def gives_up(offset: int, has_error: bool) -> bool:
        nonlocal spent
        spent += len(source) - offset if has_error else 0
        return spent > MAX_ERROR_WORK

    try:
        return _parser().parse(lambda offset, _point: source[offset:], progress_callback=gives_up)
    except ValueError:
        _parser().reset()  # else the next text would go on where this one was left
        return None


@lru_cache(maxsize=1)
def _parser() -> Parser:
    # Imported when the first command is judged: the grammar is a megabyte that most daemons start without.
    import tree_sitter
    import tree_sitter_bash

    return tree_sitter.Parser(tree_sitter.Language(tree_sitter_bash.language()))


class _Reader:
    def __init__(self, source: str, script: Script, nesting: int) -> None:
        self._source = source
        self._script = script
        self._nesting = nesting
        self._depth = 0

    def statements(self, node: Node, inputs: tuple[Part, ...]) -> list[Part]:
        """Read a node and all below it; `inputs` are what its commands read from."""
        if not node.is_named or node.type == "comment":
            return []
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise RecursionError
        try:
            return self._by_kind(node, inputs)
        finally:
            self._depth -= 1

    def _by_kind(self, node: Node, inputs: tuple[Part, ...]) -> list[Part]:
        if node.type in {"command", "declaration_command", "unset_command"}:
            return self._command(node, inputs)
        if node.type in {"variable_assignment", "variable_assignments"}:
            return self._assignment(node, inputs)
        if node.type == "redirected_statement":
            return self._redirected(node, inputs)
        if node.type == "pipeline":
            return self._pipeline(node, inputs)
        if node.type in WORDS:
            words = self._words()
            words.read(node)
            return words.parts
        if node.type not in _TRANSPARENT:
            self._script.readable = False
        return self._all(node.children, inputs)

    def _all(self, nodes: list[Node], inputs: tuple[Part, ...]) -> list[Part]:
        return [part for child in nodes for part in self.statements(child, inputs)]

    def _pipeline(self, node: Node, inputs: tuple[Part, ...]) -> list[Part]:
        found: list[Part] = []
        for child in node.named_children:
            stage = self.statements(child, inputs)
            found += stage
            inputs = tuple(stage)
        return found

    def _words(self) -> WordReader:
        return WordReader(self._source, lambda node: self._all(node.children, ()))

    def _command(
        self,
        node: Node,
        inputs: tuple[Part, ...],
        extra: tuple[Word, ...] = (),
        behind: Sequence[str | None] = (),
    ) -> list[Part]:
        """`extra` and `behind` are words and inputs of its that stand outside of the node."""
        reader = self._words()
        assignments: list[str] = []
        words: list[Word] = []
        heard: list[str | None] = []
        is_command = node.type == "command"
        for child in node.children:
            if child.type == "variable_assignment" and is_command and not words:
                assignments.append(self._text(child))
                self._read_value(child, reader)
            elif child.type in {"file_redirect", "heredoc_redirect"}:
                extra += self._redirect(child, reader, heard)
            elif child.type == "herestring_redirect":
                heard.append(self._herestring(child, reader))
            elif child.type == "variable_assignment":
                self._read_value(child, reader)
                words.append(Word(self._text(child), len(self._text(child).partition("=")[0])))
            elif child.is_named:
                words.append(reader.read(child))
            else:
                words.append(certain(self._text(child)))
                self._script.readable = self._script.readable and not is_command  # a `$` before quotes
        spoken = tuple(text for text in (*heard, *behind, *(_said_by(one)[0] for one in inputs)) if text)
        part = Part((*words, *extra), tuple(assignments), (*inputs, *reader.parts), heard=spoken)
        return [*reader.parts, *self._add(part, heard)]

    def _read_value(self, assignment: Node, reader: WordReader) -> None:
        for child in assignment.named_children:
            reader.read(child)

    def _assignment(self, node: Node, inputs: tuple[Part, ...]) -> list[Part]:
        reader = self._words()
        nodes = [node] if node.type == "variable_assignment" else node.named_children
        for child in nodes:
            self._read_value(child, reader)
        part = Part((), tuple(self._text(child) for child in nodes), (*inputs, *reader.parts))
        return [*reader.parts, *self._add(part, [])]

    def _redirected(self, node: Node, inputs: tuple[Part, ...]) -> list[Part]:
        body = node.child_by_field_name("body")
        reader = self._words()
        heard: list[str | None] = []
        extra: tuple[Word, ...] = ()
        after: list[Node] = []
        for child in node.named_children:
            if child.type == "file_redirect":
                extra += self._redirect(child, reader, heard)
            elif child.type == "herestring_redirect":
                heard.append(self._herestring(child, reader))
            elif child.type == "heredoc_redirect":
                heard.append(self._heredoc(child, reader, after))
        given = (*inputs, *reader.parts)
        if body is None:
            parts: list[Part] = []
            if extra:
                self._script.readable = False
        elif body.type == "command":
            parts = self._command(body, given, extra, heard)
        else:
            parts = self.statements(body, given)
            if extra:
                self._script.readable = False
        for part in parts:
            self._heard_by_shell(part, heard)
        behind = [part for child in after for part in self.statements(child, tuple(parts))]
        return [*reader.parts, *parts, *behind]

    def _redirect(self, node: Node, reader: WordReader, heard: list[str | None]) -> tuple[Word, ...]:
        """Note the file, and in `heard` that something is read from one; return the words behind it, which
        belong to the command."""
        operator = next((child.type for child in node.children if not child.is_named), ">")
        words = [reader.read(child) for child in node.children_by_field_name("destination")]
        if not words:
            return ()
        if operator.startswith("&>") and len(words) > 1:
            self._script.readable = False  # `sh` takes `a &> b c` for `a & > b c`, which runs c
        copies = operator in {">&", "<&"} and _DESCRIPTOR.fullmatch(words[0].text)
        if not copies and words[0].text not in _HARMLESS_FILES:
            self._script.redirects.append(Redirect(words[0], writes="<" not in operator))
        if "<" in operator and words[0].text not in {"/dev/null", "-"}:
            heard.append(None)
        return tuple(words[1:])

    def _herestring(self, node: Node, reader: WordReader) -> str | None:
        words = [reader.read(child) for child in node.named_children]
        return words[0].text if len(words) == 1 and words[0].is_certain else None

    def _heredoc(self, node: Node, reader: WordReader, after: list[Node]) -> str | None:
        """Return the text of a here-document, None when it is not certain. What stands behind it
        on its line is left in `after`."""
        text: str | None = ""
        for child in node.children:
            if child.type == "heredoc_body":
                text = self._text(child)
                if child.named_children:
                    text = None
                    for expansion in child.named_children:
                        if expansion.type != "heredoc_content":
                            reader.read(expansion)
            elif child.type == "file_redirect":
                if self._redirect(child, reader, []):
                    self._script.readable = False
            elif child.type == "herestring_redirect":
                self._script.readable = False
            elif child.is_named and child.type not in {"heredoc_start", "heredoc_end"}:
                after.append(child)
        return text

    def _add(self, part: Part, heard: list[str | None]) -> list[Part]:
        """Record a part and whatever it would run in its turn."""
        if len(self._script.parts) > MAX_PARTS:
            return []
        self._script.parts.append(part)
        found = [part]
        inner = inner_of(part)
        if isinstance(inner, Unknown):
            self._unreadable_inside(part)
        elif isinstance(inner, Text):
            found += self._nested(inner.text, part)
            if not inner.whole:
                self._unreadable_inside(part)
        elif isinstance(inner, Commands):
            for words in inner.commands:
                self._depth += 1
                if self._depth > MAX_DEPTH:
                    raise RecursionError
                inside = Part(words, inner.assignments, part.inputs, inside=part.name, heard=part.heard)
                found += self._add(inside, [])
                self._depth -= 1
        elif isinstance(inner, Shell):
            self._said_to_shell(part)
        self._heard_by_shell(part, heard)
        return found

    def _heard_by_shell(self, part: Part, heard: list[str | None]) -> None:
        """A shell without a script of its own runs what it reads."""
        if not heard or not isinstance(inner_of(part), Shell):
            return
        for text in heard:
            if text is None:
                self._unreadable_inside(part)
            else:
                self._nested(text, part)

    def _said_to_shell(self, part: Part) -> None:
        """`echo 'command' | sh` runs the command."""
        texts = [_said_by(source) for source in part.inputs]
        for text, _ in texts:
            if text:
                self._nested(text, part)
        if texts and (len(texts) > 1 or not texts[0][1]):
            self._unreadable_inside(part)

    def _unreadable_inside(self, part: Part) -> None:
        hidden = Part((Word(part.text, 0),), inputs=part.inputs, inside=part.name, unreadable=True)
        self._script.parts.append(hidden)

    def _nested(self, text: str, part: Part) -> list[Part]:
        if self._nesting >= MAX_NESTED_SCRIPTS:
            self._unreadable_inside(part)
            return []
        script = _read(text, self._nesting + 1)
        parts = [one.given(part.inputs) for one in script.parts]
        self._script.parts += parts
        self._script.redirects += script.redirects
        if not script.readable or (part.inputs and any(isinstance(inner_of(one), Shell) for one in parts)):
            self._unreadable_inside(part)
        return parts

    def _text(self, node: Node) -> str:
        return self._source[node.start_byte : node.end_byte]


def _said_by(source: Part) -> tuple[str, bool]:
    """Return what a command writes, as far as it shows in its words, and whether that is certain."""
    words = list(source.arguments)
    known = bool(words) and all(word.is_certain for word in source.words)
    if not known or source.name not in {"echo", "printf"}:
        return "", False
    if source.name == "echo":
        text = " ".join(words[1:] if words[0] == "-n" else words)
        return text.replace("\\n", "\n"), not text.startswith("-") and "\\" not in text
    pattern, *values = words
    if pattern in {"%s", "%s\\n"} and values:
        return "\n".join(values), pattern != "%s" or len(values) == 1
    text = " ".join(words).replace("\\n", "\n")
    return text, not values and not re.search(r"^-|[\\%]", text)
