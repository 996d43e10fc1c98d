"""Schemas of things that programs ask models for, and a small validator: what the words used here mean by JSON Schema
2020-12. Texts and lists are short, so that random tokens come to an end."""

from __future__ import annotations

import re
from typing import Any

SHORT = {"type": "string", "maxLength": 6}

SCHEMAS: dict[str, Any] = {
    "order": {"type": "object", "properties": {
        "item": SHORT, "count": {"type": "integer", "minimum": 1, "maximum": 99},
        "express": {"type": "boolean"}}, "required": ["item", "count"], "additionalProperties": False},
    "sentiment": {"enum": ["good", "bad", "neither", None]},
    "constant": {"type": "object", "properties": {"v": {"const": {"deep": [1, "x\n"]}}, "w": {"type": "null"}}, "required": ["v"]},
    "numbers": {"type": "array", "items": {"type": "number"}, "minItems": 1, "maxItems": 3},
    "share": {"type": "number", "minimum": 0, "maximum": 1},
    "temperature": {"type": "object", "properties": {"c": {"type": "number", "exclusiveMinimum": -273.15, "maximum": 60.5},
                                                     "f": {"type": "integer", "minimum": -459, "exclusiveMaximum": 142}},
                    "required": ["c", "f"]},
    "point": {"type": "array", "prefixItems": [{"type": "number"}, {"type": "number"}, SHORT], "items": False, "minItems": 2},
    "rest": {"prefixItems": [{"type": "boolean"}], "items": {"enum": [1, 2]}, "minItems": 3, "maxItems": 5},
    "license": {"type": "string", "pattern": "^[A-Z]{1,3}-[0-9]{2,4}( [\"'\\\\]|\\s\u00e9)?$"},
    "contains": {"type": "array", "items": {"type": "string", "pattern": "^(a|bc)+x?$"}, "maxItems": 2},
    "dates": {"type": "object", "properties": {"at": {"type": "string", "format": "date-time"},
                                               "id": {"type": "string", "format": "uuid"}}, "required": ["at", "id"]},
    "name": {"type": "string", "minLength": 3, "maxLength": 12},
    "maybe": {"anyOf": [{"type": "null"}, {"type": "integer"}, {"type": "array", "items": {"type": "boolean"}, "maxItems": 2}]},
    "types": {"type": ["integer", "boolean", "null"]},
    "shapes": {"oneOf": [
        {"type": "object", "properties": {"kind": {"const": "circle"}, "r": {"type": "integer", "minimum": 0}}, "required": ["kind", "r"]},
        {"type": "object", "properties": {"kind": {"const": "square"}, "a": {"type": "integer", "minimum": 5}}, "required": ["kind", "a"]}]},
    "tree": {"$ref": "#/$defs/node", "$defs": {"node": {"type": "object", "properties": {
        "v": {"type": "integer", "minimum": 0, "maximum": 9},
        "next": {"anyOf": [{"type": "null"}, {"$ref": "#/$defs/node"}]}}, "required": ["v"]}}},
    "merged": {"allOf": [{"$ref": "#/$defs/base"}, {"properties": {"b": {"maximum": 5}}, "required": ["b"]}],
               "$defs": {"base": {"type": "object", "properties": {"a": SHORT, "b": {"type": "integer", "minimum": -5}}}}},
    "others": {"type": "object", "properties": {"id": {"type": "integer"}, "idle": {"type": "boolean"}},
               "required": ["id"], "additionalProperties": {"type": "boolean"}},
    "optional": {"type": "object", "properties": {name: {"type": "integer", "maximum": 3} for name in "abcde"}},
    "person": {"type": "object", "title": "Person", "properties": {
        "name": {"type": "string", "minLength": 1, "maxLength": 8, "description": "as written"},
        "born": {"type": "integer", "minimum": 1900, "maximum": 2026, "default": 2000},
        "languages": {"type": "array", "items": {"$ref": "#/$defs/language"}, "maxItems": 2}},
        "required": ["name", "born", "languages"], "additionalProperties": False,
        "$defs": {"language": {"enum": ["de", "en", "\u65e5\u672c\u8a9e"]}}},
}

_TYPES = {"object": dict, "array": list, "string": str, "boolean": bool, "null": type(None)}
_FORMATS = {"date-time": r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)",
            "uuid": r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"}


def _is_type(value: Any, name: str) -> bool:
    if name in ("integer", "number"):
        return isinstance(value, (int, float) if name == "number" else int) and not isinstance(value, bool)
    return isinstance(value, _TYPES[name])


def _same(a: Any, b: Any) -> bool:
    return a == b and isinstance(a, bool) == isinstance(b, bool)


def _fits(value: Any, schema: Any, root: Any) -> bool:
    try:
        check(value, schema, root)
    except AssertionError:
        return False
    return True


def check(value: Any, schema: Any, root: Any = None) -> None:
    """Fails for a value that the schema does not accept."""
    root = schema if root is None else root
    assert schema is not False
    if schema is True:
        return
    if "$ref" in schema:
        target = root
        for part in schema["$ref"].removeprefix("#").split("/")[1:]:
            target = target[part]
        check(value, target, root)
    if "type" in schema:
        names = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
        assert any(_is_type(value, name) for name in names), (value, names)
    assert "const" not in schema or _same(value, schema["const"]), value
    assert "enum" not in schema or any(_same(value, one) for one in schema["enum"]), value
    for part in schema.get("allOf", []):
        check(value, part, root)
    assert "anyOf" not in schema or any(_fits(value, part, root) for part in schema["anyOf"]), value
    assert "oneOf" not in schema or sum(_fits(value, part, root) for part in schema["oneOf"]) == 1, value
    if isinstance(value, str):
        _check_string(value, schema)
    elif isinstance(value, list):
        _check_items(value, schema, root)
    elif isinstance(value, dict):
        _check_members(value, schema, root)
    elif _is_type(value, "number"):
        assert schema.get("minimum", value) <= value <= schema.get("maximum", value), value
        assert "exclusiveMinimum" not in schema or value > schema["exclusiveMinimum"], value
        assert "exclusiveMaximum" not in schema or value < schema["exclusiveMaximum"], value


def _check_string(value: str, schema: Any) -> None:
    assert schema.get("minLength", 0) <= len(value) <= schema.get("maxLength", len(value)), value
    assert "pattern" not in schema or re.search(schema["pattern"], value), value
    assert "format" not in schema or re.fullmatch(_FORMATS[schema["format"]], value), value


def _check_items(value: list[Any], schema: Any, root: Any) -> None:
    assert schema.get("minItems", 0) <= len(value) <= schema.get("maxItems", len(value)), value
    first = schema.get("prefixItems", [])
    for item, part in zip(value, first):
        check(item, part, root)
    for item in value[len(first):]:
        check(item, schema.get("items", True), root)


def _check_members(value: dict[str, Any], schema: Any, root: Any) -> None:
    known = schema.get("properties", {})
    for name in schema.get("required", []):
        assert name in value, (name, value)
    for name, member in value.items():
        check(member, known.get(name, schema.get("additionalProperties", True)), root)
