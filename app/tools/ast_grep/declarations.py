"""What languages declare, by syntax tree: classes, functions and their like.

Owns: the kinds of nodes that declare something, and the query for them. Never: what a declaration means.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from app.tools.ast_grep.engine import Query
from app.tools.ast_grep.languages import LanguageName

_SCRIPT = {
    "class_declaration": "class",
    "method_definition": "method",
    "function_declaration": "function",
    "generator_function_declaration": "function",
}
_TYPESCRIPT = {
    **_SCRIPT,
    "abstract_class_declaration": "class",
    "interface_declaration": "interface",
    "enum_declaration": "enum",
    "type_alias_declaration": "type",
    "internal_module": "namespace",
}
_KINDS: Mapping[LanguageName, Mapping[str, str]] = {
    "python": {"class_definition": "class", "function_definition": "function"},
    "javascript": _SCRIPT,
    "typescript": _TYPESCRIPT,
    "tsx": _TYPESCRIPT,
    "go": {
        "type_spec": "type",
        "method_declaration": "method",
        "function_declaration": "function",
        "const_spec": "constant",
        "var_spec": "variable",
    },
    "rust": {
        "struct_item": "struct",
        "union_item": "struct",
        "enum_item": "enum",
        "trait_item": "interface",
        "mod_item": "module",
        "function_item": "function",
        "function_signature_item": "function",
        "const_item": "constant",
        "static_item": "constant",
        "type_item": "type",
        "macro_definition": "function",
    },
    "java": {
        "class_declaration": "class",
        "record_declaration": "class",
        "interface_declaration": "interface",
        "enum_declaration": "enum",
        "method_declaration": "method",
        "constructor_declaration": "constructor",
    },
    "csharp": {
        "namespace_declaration": "namespace",
        "class_declaration": "class",
        "record_declaration": "class",
        "struct_declaration": "struct",
        "interface_declaration": "interface",
        "enum_declaration": "enum",
        "method_declaration": "method",
        "constructor_declaration": "constructor",
        "property_declaration": "property",
    },
    "ruby": {"module": "module", "class": "class", "method": "method", "singleton_method": "method"},
    "lua": {"function_declaration": "function"},
    "php": {
        "class_declaration": "class",
        "trait_declaration": "class",
        "interface_declaration": "interface",
        "enum_declaration": "enum",
        "method_declaration": "method",
        "function_definition": "function",
    },
    "swift": {
        "class_declaration": "class",
        "protocol_declaration": "interface",
        "function_declaration": "function",
    },
    "scala": {
        "class_definition": "class",
        "object_definition": "class",
        "trait_definition": "interface",
        "function_definition": "function",
    },
    "solidity": {
        "contract_declaration": "class",
        "interface_declaration": "interface",
        "library_declaration": "module",
        "struct_declaration": "struct",
        "event_definition": "event",
        "function_definition": "function",
    },
    "bash": {"function_definition": "function"},
}


def declarations(language: LanguageName) -> Query | None:
    """Return the options that search for all that a file declares, None for a language whose declarations are
    not known. A match captures the name, under what it is in capitals: `CLASS`, `FUNCTION`."""
    kinds = _KINDS.get(language)
    if kinds is None:
        return None
    rules = [
        {"kind": kind, "has": {"field": "name", "pattern": f"${meaning.upper()}"}}
        for kind, meaning in kinds.items()
    ]
    return ("--inline-rules", json.dumps({"id": "declared", "language": language, "rule": {"any": rules}}))
