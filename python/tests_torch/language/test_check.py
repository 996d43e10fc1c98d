"""`sluice generate --check`: a folder that transformers saved agrees; one whose weights or words differ does not."""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys

import pytest
import torch
import transformers
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors

TEMPLATE = "{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}{% if add_generation_prompt %}<assistant>{% endif %}"


@pytest.fixture
def folder(tmp_path: pathlib.Path) -> pathlib.Path:
    """A small model of bytes, with random weights."""
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    tokenizer = Tokenizer(models.BPE({piece: id for id, piece in enumerate(["<s>", *alphabet])}, []))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens(["<s>"])
    tokenizer.post_processor = processors.TemplateProcessing("<s> $A", special_tokens=[("<s>", 0)])
    whole = transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer, bos_token="<s>")
    whole.chat_template = TEMPLATE
    whole.save_pretrained(tmp_path)
    torch.manual_seed(5)
    transformers.LlamaForCausalLM(transformers.LlamaConfig(
        vocab_size=257, hidden_size=64, intermediate_size=96, num_hidden_layers=2, num_attention_heads=4,
        num_key_value_heads=2, max_position_embeddings=256, initializer_range=0.2, bos_token_id=0, eos_token_id=None,
    )).eval().save_pretrained(tmp_path)
    return tmp_path


def check(folder: pathlib.Path, *more: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([os.environ.get("SLUICE_PROGRAM", "sluice"), "generate", "--check", str(folder), *more],
                          env={**os.environ, "SLUICE_PYTHON": sys.executable}, capture_output=True, text=True, check=False)


def test_folder_of_transformers_agrees(folder: pathlib.Path) -> None:
    done = check(folder)
    assert done.returncode == 0, done.stdout + done.stderr
    lines = done.stdout.splitlines()
    assert lines[-1] == "Sluice and transformers agree"
    assert len(lines) == 10 + 2 + 10 + 1 and all(line.startswith("equal") for line in lines[:-1])


def test_different_template_is_shown(folder: pathlib.Path) -> None:
    from sluice.checks import language

    checked = language.Checked(str(folder))
    checked._tokenizer.chat_template = TEMPLATE.replace("<assistant>", "<model>")
    differences = [difference for what, difference in checked.texts() if what.startswith("chat")]
    assert len(differences) == 2
    assert all(difference is not None and "<model>" in difference for difference in differences)


def test_different_weights_are_shown(folder: pathlib.Path) -> None:
    from sluice.checks import language

    checked = language.Checked(str(folder))
    with torch.no_grad():
        checked._theirs.lm_head.weight.copy_(checked._theirs.lm_head.weight.roll(1, 0))
    differences = [difference for _, difference in checked.tokens(4)]
    assert any(difference is not None and difference.startswith("token 0 is") for difference in differences)


def test_prompt_beside_check_is_refused(folder: pathlib.Path) -> None:
    done = check(folder, "Hello")
    assert done.returncode == 1 and "--check has texts of its own" in done.stderr


def test_folder_without_model_is_an_error(tmp_path: pathlib.Path) -> None:
    done = check(tmp_path)
    assert done.returncode == 1 and done.stderr.startswith(f"sluice: {tmp_path}: ")
