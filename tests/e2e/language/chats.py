#!/usr/bin/env python3
"""`sluice chat` lays out the conversation, streams answers that plain numpy computes, and keeps what was said."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, trainers

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from report import run_cases  # noqa: E402
from tiny_models import Tiny, greedy, make, save  # noqa: E402

from harness.sluice_cli import binary  # noqa: E402

TEMPLATE = """{{ bos_token }}{% for m in messages %}
<{{ m.role }}>{{ m.content | trim }}</s>
{%- endfor %}{% if add_generation_prompt %}<assistant>{% endif %}"""
MAX = ["--max-tokens", "12", "--threads", "1"]


def make_tokenizer() -> Tokenizer:
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer, tokenizer.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel()
    trainer = trainers.BpeTrainer(vocab_size=290, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False)
    tokenizer.train_from_iterator(["the cat sat on the mat, the dog saw the cat"] * 4, trainer)
    tokenizer.add_special_tokens([AddedToken(text, special=True) for text in ("<s>", "</s>", "<user>", "<assistant>", "<system>")])
    return tokenizer


def make_folder(folder: Path, template: str = TEMPLATE, **config: int) -> tuple[Path, Tiny, Tokenizer]:
    tokenizer = make_tokenizer()
    tiny = make("llama", seed=8, vocab_size=tokenizer.get_vocab_size(), **config)
    tiny.config["eos_token_id"] = tokenizer.token_to_id("</s>")
    model = save(tiny, folder / "tiny")
    tokenizer.save(str(model / "tokenizer.json"))
    (model / "tokenizer_config.json").write_text(json.dumps({"bos_token": "<s>", "eos_token": "</s>"}))
    if template:
        (model / "chat_template.jinja").write_text(template)
    return model, tiny, tokenizer


def chat(model: Path, lines: list[str], *options: str) -> subprocess.CompletedProcess[str]:
    given = "".join(line + "\n" for line in lines)
    return subprocess.run([binary(), "chat", model, *MAX, *options], input=given, capture_output=True, text=True, check=False)


class Conversation:
    """What the model should say."""

    def __init__(self, tiny: Tiny, tokenizer: Tokenizer, system: str = "") -> None:
        self.tiny, self.tokenizer, self.system = tiny, tokenizer, system
        self.reset()

    def reset(self) -> None:
        self.text = "<s>" + (f"<system>{self.system}</s>" if self.system else "")

    def answer(self, line: str) -> str:
        self.text += f"<user>{line.strip()}</s>"
        ids = self.tokenizer.encode(self.text + "<assistant>", add_special_tokens=False).ids
        tokens = greedy(self.tiny, ids, 12)
        end = self.tiny.config["eos_token_id"]
        said = self.tokenizer.decode(tokens[: tokens.index(end)] if end in tokens else tokens)
        self.text += f"<assistant>{said.strip()}</s>"
        return said


def keeps_the_conversation(folder: Path) -> str:
    model, tiny, tokenizer = make_folder(folder)
    wanted = Conversation(tiny, tokenizer)
    said = [wanted.answer("the cat"), wanted.answer(" saw? ")]
    wanted.reset()
    said.append(wanted.answer("the cat"))
    run = chat(model, ["the cat", "", " saw? ", "/reset", "the cat", "/exit", "never read"])
    if run.returncode != 0 or run.stdout != "".join(text + "\n" for text in said):
        return f"{run.stdout!r} {run.stderr!r}, not {said}"
    return "" if run.stderr.count("prompt: ") == 3 and "/s)" in run.stderr else f"times are missing: {run.stderr}"


def tells_the_system_message(folder: Path) -> str:
    model, tiny, tokenizer = make_folder(folder)
    said = Conversation(tiny, tokenizer, "Be brief.").answer("dog")
    run = chat(model, ["dog"], "--system", "Be brief.")
    return "" if run.stdout == said + "\n" else f"{run.stdout!r} {run.stderr!r}, not {said!r}"


def refuses(folder: Path) -> str:
    model, _, _ = make_folder(folder, template="")
    for part, lines, change in [
        ("no chat template", ["a"], lambda: None),
        ("the template refuses the messages: no", ["a"], lambda: (model / "chat_template.jinja").write_text("{{ raise_exception('no') }}")),
        ("the model's context has", ["the cat " * 900], lambda: (model / "chat_template.jinja").write_text(TEMPLATE)),
    ]:
        change()
        run = chat(model, lines)
        if run.returncode != 1 or part not in run.stderr:
            return f"no \"{part}\": {run.returncode} {run.stderr!r}"
    return ""


def an_interrupt_ends_the_answer_alone(folder: Path) -> str:
    model, _, _ = make_folder(folder, max_position_embeddings=200000)
    config = json.loads((model / "config.json").read_text())
    (model / "config.json").write_text(json.dumps(config | {"eos_token_id": None}))  # an answer without an end
    with subprocess.Popen([binary(), "chat", model, "--threads", "1"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True) as run:
        assert run.stdin and run.stdout
        run.stdin.write("the cat\n")
        run.stdin.flush()
        run.stdout.read(1)
        run.send_signal(signal.SIGINT)
        _, errors = run.communicate("/reset\n/exit\n")
    return "" if run.returncode == 0 and "interrupted" in errors else f"{run.returncode}: {errors!r}"


if __name__ == "__main__":
    sys.exit(run_cases({
        "a conversation of several turns": keeps_the_conversation,
        "a system message": tells_the_system_message,
        "no template, a refusal, a long message": refuses,
        "Ctrl-C": an_interrupt_ends_the_answer_alone,
    }))
