"""The built-in table: every language with its servers.

Owns: the table as a whole. Never: looking at this machine.
"""

from __future__ import annotations

from collections.abc import Mapping

from app.bridges.lsp import servers_compiled, servers_scripting, servers_web
from app.bridges.lsp.language_entry import LanguageEntry

LANGUAGES: Mapping[str, LanguageEntry] = {
    entry.language: entry
    for entry in (*servers_scripting.LANGUAGES, *servers_web.LANGUAGES, *servers_compiled.LANGUAGES)
}
"""By the name that the project file uses."""
