"""_native.pyi names what the extension has, with the same parameters."""

from __future__ import annotations

import ast
import inspect
import pathlib
import re
from typing import Any

import sluice
from sluice import _native

STUB = pathlib.Path(sluice.__file__).parent / "_native.pyi"
Signatures = dict[str, list[str]]


def stub_signatures() -> Signatures:
    found: Signatures = {}

    def add(node: ast.stmt, prefix: str) -> None:
        if isinstance(node, ast.ClassDef):
            for inner in node.body:
                add(inner, node.name + ".")
        elif isinstance(node, ast.FunctionDef):
            names = [argument.arg for argument in node.args.args if argument.arg != "self"]
            names += [f"*{node.args.vararg.arg}"] if node.args.vararg else []
            names += [f"**{node.args.kwarg.arg}"] if node.args.kwarg else []
            found[prefix + node.name] = names

    for node in ast.parse(STUB.read_text()).body:
        add(node, "")
    return found


def parameters(function: Any) -> list[str]:
    """Parameters of the first signature that nanobind keeps: "def run(self, inputs: list) -> list"."""
    text: str = function.__nb_signature__[0][0]
    inside = text[text.index("(") + 1 : text.rindex(")", 0, text.rindex("->"))]
    depth, words, word = 0, [], ""
    for letter in inside + ",":
        depth += (letter in "[(") - (letter in "])")
        if letter == "," and depth == 0:
            words.append(word)
            word = ""
        else:
            word += letter
    names = [re.split(r"[:=]", word)[0].strip() for word in words]
    return [name for name in names if name not in ("", "self", "/", "*")]


def native_signatures() -> Signatures:
    found: Signatures = {}
    for name, value in vars(_native).items():
        if name.startswith("_"):
            continue
        if not isinstance(value, type):
            found[name] = parameters(value)
            continue
        for inner, member in vars(value).items():
            if inner == "__init__" and hasattr(member, "__nb_signature__"):
                found[f"{name}.{inner}"] = parameters(member)
            elif inner == "__call__":  # of a class that nanobind did not make
                words = [str(word) for word in inspect.signature(member).parameters.values()]
                found[f"{name}.{inner}"] = [word for word in words if word != "self"]
            elif not inner.startswith("_"):
                function = member.fget if isinstance(member, property) else getattr(value, inner)
                found[f"{name}.{inner}"] = [] if isinstance(member, property) else parameters(function)
    return found


def test_stub_has_the_functions_of_the_extension() -> None:
    assert stub_signatures() == native_signatures()


def test_package_exports_what_it_names() -> None:
    assert all(hasattr(sluice, name) for name in sluice.__all__)
    public = {name for name, value in vars(sluice).items()
              if not name.startswith("_") and getattr(value, "__module__", "").startswith("sluice.")}
    assert public - {"close_all"} <= set(sluice.__all__), public - set(sluice.__all__)
