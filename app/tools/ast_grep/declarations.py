"""What languages declare, by syntax tree: classes, functions and their like.

Owns: the kinds of nodes that declare something, and the query for them. Never: what a declaration means.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from app.tools.ast_grep.engine import Query
from app.tools.ast_grep.languages import LANGUAGES, LanguageName

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


_Rule = Mapping[str, Any]


def _named(
    meaning: str, kind: str, *, field: str = "name", name: _Rule | None = None, also: _Rule | None = None
) -> _Rule:
    """Return the rule for a node of a kind whose `field` is the name of what it declares, and that `also`
    keeps another rule."""
    named = {"has": {"field": field, "pattern": f"${meaning.upper()}", **(name or {})}}
    return {"kind": kind, "all": [named, also] if also else [named]}


def _with_body(meaning: str, kind: str, body: str) -> _Rule:
    return _named(meaning, kind, also={"has": {"field": "body", "kind": body}})


def _not_in(*kinds: str) -> _Rule:
    return {"not": {"inside": {"any": [{"kind": kind} for kind in kinds], "stopBy": "end"}}}


_IS_FUNCTION = {
    "has": {
        "field": "value",
        "any": [{"kind": kind} for kind in ("arrow_function", "function_expression", "generator_function")],
    }
}
_IN_MODULE = _not_in("statement_block", "class_body")
_SCRIPT_NAMES = (
    _named(
        "function",
        "variable_declarator",
        name={"kind": "identifier"},
        also={"all": [_IS_FUNCTION, _IN_MODULE]},
    ),
    _named(
        "constant",
        "variable_declarator",
        name={"kind": "identifier"},
        also={"all": [{"not": _IS_FUNCTION}, _IN_MODULE]},
    ),
)
_C_FUNCTION = {"kind": "function_declarator", "has": {"field": "declarator", "pattern": "$FUNCTION"}}
_C = (
    _with_body("struct", "struct_specifier", "field_declaration_list"),
    _with_body("struct", "union_specifier", "field_declaration_list"),
    _with_body("enum", "enum_specifier", "enumerator_list"),
    _named("type", "type_definition", field="declarator", name={"kind": "type_identifier"}),
    _named("function", "preproc_function_def"),
    {
        "kind": "function_definition",
        # Of one that returns a pointer the declarator is within another.
        "has": {
            "field": "declarator",
            "any": [_C_FUNCTION, {"has": {"kind": "function_declarator", "has": _C_FUNCTION["has"]}}],
        },
    },
)
_FURTHER: Mapping[LanguageName, tuple[_Rule, ...]] = {
    "python": (
        _named(
            "constant",
            "assignment",
            field="left",
            name={"kind": "identifier", "regex": "^[A-Z_][A-Z0-9_]+$"},
            also=_not_in("function_definition", "class_definition"),
        ),
    ),
    "javascript": _SCRIPT_NAMES,
    "typescript": _SCRIPT_NAMES,
    "tsx": _SCRIPT_NAMES,
    "c": _C,
    "cpp": (
        *_C,
        _with_body("class", "class_specifier", "field_declaration_list"),
        _named("namespace", "namespace_definition"),
        _named("type", "alias_declaration"),
    ),
}
"""What takes more than the kind of its node."""


def declarations(language: LanguageName) -> Query | None:
    """Return the options that search for all that a file declares, None for a language whose declarations are
    not known. A match captures the name, under what it is in capitals: `CLASS`, `FUNCTION`."""
    return _QUERIES.get(language)


def _query(language: LanguageName) -> Query:
    kinds = _KINDS.get(language, {})
    rules = [_named(meaning, kind) for kind, meaning in kinds.items()]
    rules += _FURTHER.get(language, ())
    return ("--inline-rules", json.dumps({"id": "declared", "language": language, "rule": {"any": rules}}))


_QUERIES = {language: _query(language) for language in LANGUAGES if language in {*_KINDS, *_FURTHER}}
