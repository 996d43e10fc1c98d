#!/usr/bin/env python3
"""`sluice tokenize --chat` lays out messages as jinja2 does in the set-up of transformers.

Cases are the templates of templates/, in the form of model families, with chats that have tools, calls, thoughts and
strange characters; and snippets.py, each part of the language by itself. Where jinja2 raises, Sluice must refuse.
"""

from __future__ import annotations

import json
import subprocess
import sys
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

sys.path.insert(0, str(Path(__file__).parent.parent))

from chats import CHATS  # noqa: E402
from report import run_cases  # noqa: E402
from snippets import SNIPPETS, VARIABLES  # noqa: E402

from harness.sluice_cli import binary  # noqa: E402

try:
    from jinja2 import nodes
    from jinja2.exceptions import TemplateError
    from jinja2.ext import Extension, loopcontrols
    from jinja2.sandbox import ImmutableSandboxedEnvironment
except ImportError:
    print("skipped: no jinja2 in .venv; scripts/install-deps test puts it there")
    sys.exit(77)

TOKENS = {"bos_token": "<s>", "eos_token": "</s>", "pad_token": "<pad>"}
TEMPLATES = sorted((Path(__file__).parent / "templates").glob("*.jinja"))


class Generation(Extension):
    """{% generation %}, which marks the answers that training counts."""

    tags = {"generation"}

    def parse(self, parser: Any) -> Any:
        line = next(parser.stream).lineno
        body = parser.parse_statements(("name:endgeneration",), drop_needle=True)
        return nodes.Scope(body).set_lineno(line)


def environment() -> ImmutableSandboxedEnvironment:
    def raise_exception(message: str) -> NoReturn:
        raise TemplateError(message)

    def to_json(value: Any, ensure_ascii: bool = False, indent: int | None = None,
                separators: tuple[str, str] | None = None, sort_keys: bool = False) -> str:
        return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)

    made = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True, extensions=[Generation, loopcontrols])
    made.filters["tojson"] = to_json
    made.globals["raise_exception"] = raise_exception
    made.globals["strftime_now"] = lambda form: datetime.now().strftime(form)
    return made


def theirs(source: str, variables: dict[str, Any]) -> str | None:
    """None: jinja2 raises."""
    given = {"messages": [], "tools": None, "documents": None, "add_generation_prompt": True} | TOKENS | variables
    try:
        return environment().from_string(source).render(**given)
    except Exception:  # a template may raise what Python's operators raise
        return None


def ours(folder: Path, source: str, variables: dict[str, Any]) -> str | None:
    """None: Sluice refuses the chat, or the template."""
    (folder / "chat_template.jinja").write_text(source, newline="")
    (folder / "tokenizer_config.json").write_text(json.dumps(TOKENS))
    line = json.dumps({"messages": []} | variables) + "\n"
    run = subprocess.run([binary(), "tokenize", folder, "--chat", "--json-lines"], input=line.encode(),
                         capture_output=True, check=False)
    if run.returncode not in (0, 1):
        raise RuntimeError(f"exit code {run.returncode}: {run.stderr.decode()}")
    return json.loads(run.stdout) if run.returncode == 0 else None


def difference(folder: Path, source: str, variables: dict[str, Any]) -> str:
    for _ in range(2):  # a second time if midnight passed between the two
        wanted, got = theirs(source, variables), ours(folder, source, variables)
        if wanted == got:
            return ""
    return f"{variables}: expected {wanted!r}, got {got!r}"


def check_template(path: Path, folder: Path) -> str:
    source = path.read_text()
    laid_out = 0
    for name, chat in CHATS.items():
        if problem := difference(folder, source, chat):
            return f"{name}: {problem}"
        laid_out += theirs(source, chat) is not None
    return "" if laid_out >= 3 else f"jinja2 itself lays out {laid_out} chats only"


def check_snippets(sources: list[str], folder: Path) -> str:
    for source in sources:
        if problem := difference(folder, source, VARIABLES):
            return f"{source!r}: {problem.removeprefix(str(VARIABLES))}"
    return ""


def main() -> int:
    cases = {f"template {path.stem}, {len(CHATS)} chats": partial(check_template, path) for path in TEMPLATES}
    cases |= {f"{name}, {len(sources)} snippets": partial(check_snippets, sources) for name, sources in SNIPPETS.items()}
    return run_cases(cases)


if __name__ == "__main__":
    sys.exit(main())
