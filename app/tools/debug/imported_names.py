"""The names that a source file binds by its imports: they are no values that a program works with.

Owns: finding them in the text of Python, JavaScript and TypeScript. Never: reading files, or judging values.
"""

from __future__ import annotations

import ast
import re
from functools import lru_cache

MAX_SOURCE = 400_000
MODULE_FRAMES = frozenset({"<module>", "<anonymous>", "(anonymous)"})
"""What debuggers call the code of a file outside of its functions."""
_OF_COMMONJS = frozenset({"exports", "require", "module", "__filename", "__dirname"})
_SCRIPTS = (".js", ".mjs", ".cjs", ".jsx", ".ts", ".mts", ".cts", ".tsx")
_REQUIRED = re.compile(
    r"^[ \t]*+(?:const|let|var)\s++([\w$]++|\{[^}=;]{0,2000}+\})\s*+=\s*+(?:await\s++import|require)\s*+\(",
    re.MULTILINE,
)
_IMPORTED = re.compile(r"^[ \t]*+import\s++(?:type\s++)?([^'\";]{1,2000}?)\bfrom\s*+['\"]", re.MULTILINE)
_NAME = re.compile(r"(?:[\w$]+\s*(?::|\bas\b)\s*)?([\w$]+)")


@lru_cache(maxsize=64)
def imported_names(text: str, ending: str) -> frozenset[str]:
    """Return the names that are bound by imports of a file with this ending; none for other languages.
    Names of the CommonJS wrapper are among them."""
    if len(text) > MAX_SOURCE:
        return frozenset()
    if ending in (".py", ".pyw"):
        return _of_python(text)
    return _of_script(text) | _OF_COMMONJS if ending in _SCRIPTS else frozenset()


def _of_python(text: str) -> frozenset[str]:
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return frozenset()
    return frozenset(
        one.asname or one.name.partition(".")[0]
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
        for one in node.names
    )


def _of_script(text: str) -> frozenset[str]:
    clauses = [found[1] for pattern in (_REQUIRED, _IMPORTED) for found in pattern.finditer(text)]
    return frozenset(name for clause in clauses for name in _NAME.findall(clause)) - {"as", "type"}
