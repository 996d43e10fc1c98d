"""Tokenizers of every kind of part, trained with the package `tokenizers` on a generated corpus."""

from __future__ import annotations

import base64
import json
import struct
from collections.abc import Callable

from tokenizers import (AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors,
                        trainers)

# The expressions of GPT-2's successors, by the features that they use.
CONTRACTIONS = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|"
                r"\s*[\r\n]+|\s+(?!\S)|\s+")
CASES = (r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+|\p{N}{1,3}|"
         r" ?[^\s\p{L}\p{N}]++[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+")
BYTES = pre_tokenizers.ByteLevel.alphabet()
SPECIAL = ["<unk>", "<s>", "</s>", "<|end|>"]


def _trained(tokenizer: Tokenizer, trainer: object, text: list[str]) -> Tokenizer:
    tokenizer.train_from_iterator(text, trainer)
    return tokenizer


def _bpe(text: list[str], size: int = 1500, **options: object) -> Callable[[Tokenizer], Tokenizer]:
    def train(tokenizer: Tokenizer) -> Tokenizer:
        trainer = trainers.BpeTrainer(vocab_size=size, special_tokens=SPECIAL, show_progress=False, **options)
        return _trained(tokenizer, trainer, text)
    return train


def gpt2(text: list[str]) -> Tokenizer:
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.post_processor = processors.ByteLevel(trim_offsets=False)
    return _bpe(text, initial_alphabet=BYTES)(tokenizer)


def llama3(text: list[str]) -> Tokenizer:
    tokenizer = Tokenizer(models.BPE(ignore_merges=True))
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.Split(Regex(CONTRACTIONS), "isolated"),
        pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer = _bpe(text, initial_alphabet=BYTES)(tokenizer)
    start = tokenizer.token_to_id("<s>")
    tokenizer.post_processor = processors.Sequence([
        processors.ByteLevel(trim_offsets=True),
        processors.TemplateProcessing(single="<s> $A", pair="<s> $A <s>:1 $B:1", special_tokens=[("<s>", start)])])
    return tokenizer


def qwen(text: list[str]) -> Tokenizer:
    tokenizer = Tokenizer(models.BPE())
    tokenizer.normalizer = normalizers.NFC()
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.Split(Regex(CASES), "isolated"), pre_tokenizers.Digits(individual_digits=True),
        pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    tokenizer.decoder = decoders.ByteLevel()
    return _bpe(text, initial_alphabet=BYTES)(tokenizer)


def named_sets(text: list[str]) -> Tokenizer:
    tokenizer = Tokenizer(models.BPE())
    tokenizer.normalizer = normalizers.Replace(Regex(r"\b[[:upper:]]{1,2}\b"), "_")
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.Split(Regex(r"\p{Han}+|\p{Hiragana}+|[[:punct:]]+|\p{Greek}|(?m:\r.)"), "isolated"),
        pre_tokenizers.Split(Regex(r"\w+|[[:space:]]"), "isolated"),
        pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    tokenizer.decoder = decoders.ByteLevel()
    return _bpe(text, initial_alphabet=BYTES)(tokenizer)


def roberta(text: list[str]) -> Tokenizer:
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=True)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer = _bpe(text, initial_alphabet=BYTES)(tokenizer)
    ids = [(name, tokenizer.token_to_id(name)) for name in ("</s>", "<s>")]
    tokenizer.post_processor = processors.RobertaProcessing(ids[0], ids[1], trim_offsets=True, add_prefix_space=True)
    tokenizer.add_special_tokens([AddedToken("<mask>", lstrip=True, special=True)])
    return tokenizer


def llama2(text: list[str]) -> Tokenizer:
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>", fuse_unk=True, byte_fallback=True))
    tokenizer.normalizer = normalizers.Sequence([normalizers.Prepend("\u2581"), normalizers.Replace(" ", "\u2581")])
    tokenizer.decoder = decoders.Sequence([
        decoders.Replace("\u2581", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)])
    bytes_ = [f"<0x{byte:02X}>" for byte in range(256)]
    trainer = trainers.BpeTrainer(vocab_size=1800, special_tokens=[*SPECIAL, *bytes_], limit_alphabet=300,
                                  show_progress=False, max_token_length=16)
    tokenizer = _trained(tokenizer, trainer, [word for line in text for word in line.split(" ")])
    return _with_plain_tokens(tokenizer, bytes_)


def _with_plain_tokens(tokenizer: Tokenizer, names: list[str]) -> Tokenizer:
    """The same, but `names` are tokens of the model alone."""
    data = json.loads(tokenizer.to_str())
    data["added_tokens"] = [token for token in data["added_tokens"] if token["content"] not in names]
    return Tokenizer.from_str(json.dumps(data))


def gemma(text: list[str]) -> Tokenizer:
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>", fuse_unk=False))
    tokenizer.normalizer = normalizers.Replace(" ", "\u2581")
    tokenizer.pre_tokenizer = pre_tokenizers.Split("\u2581", "merged_with_previous")
    tokenizer.decoder = decoders.Sequence([decoders.Replace("\u2581", " "), decoders.Fuse()])
    return _bpe(text, size=1800, limit_alphabet=400)(tokenizer)


def clip(text: list[str]) -> Tokenizer:
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>", end_of_word_suffix="</w>"))
    tokenizer.normalizer = normalizers.Sequence([
        normalizers.NFC(), normalizers.Replace(Regex(r"\s+"), " "), normalizers.Lowercase()])
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.Split(Regex(r"'s|'t|'re|'ve|'m|'ll|'d|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+"), "removed", invert=True),
        pre_tokenizers.ByteLevel(add_prefix_space=False)])
    tokenizer.decoder = decoders.BPEDecoder("</w>")
    return _bpe(text, end_of_word_suffix="</w>", initial_alphabet=BYTES)(tokenizer)


def prefixed(text: list[str]) -> Tokenizer:
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>", continuing_subword_prefix="##"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.decoder = decoders.WordPiece("##", cleanup=False)
    return _bpe(text, continuing_subword_prefix="##", limit_alphabet=300)(tokenizer)


def bert(text: list[str], **options: bool) -> Tokenizer:
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(**options)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece()
    names = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"]
    trainer = trainers.WordPieceTrainer(vocab_size=1500, special_tokens=names, show_progress=False, limit_alphabet=500)
    tokenizer = _trained(tokenizer, trainer, text)
    tokenizer.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    return tokenizer


def cased_bert(text: list[str]) -> Tokenizer:
    return bert(text, lowercase=False, strip_accents=True, handle_chinese_chars=False)


def t5(text: list[str]) -> Tokenizer:
    tokenizer = Tokenizer(models.Unigram())
    tokenizer.normalizer = normalizers.Sequence([
        normalizers.Nmt(), normalizers.NFKC(), normalizers.Replace(Regex(" {2,}"), " ")])
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.decoder = decoders.Metaspace()
    return _unigram(tokenizer, text)


def _unigram(tokenizer: Tokenizer, text: list[str]) -> Tokenizer:
    trainer = trainers.UnigramTrainer(vocab_size=5000, special_tokens=["<unk>", "</s>"], unk_token="<unk>",
                                      show_progress=False)
    tokenizer = _trained(tokenizer, trainer, [line for line in text[:1200] if len(line) < 200])
    tokenizer.post_processor = processors.TemplateProcessing(
        single="$A </s>", pair="$A </s> $B </s>", special_tokens=[("</s>", 1)])
    return tokenizer


def unsplit_unigram(text: list[str]) -> Tokenizer:
    tokenizer = t5(text)
    tokenizer.normalizer = normalizers.Sequence([normalizers.NFKD(), normalizers.StripAccents(), normalizers.Strip()])
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="first", split=False)
    tokenizer.decoder = decoders.Metaspace(prepend_scheme="first")
    return tokenizer


def first_metaspace(text: list[str]) -> Tokenizer:
    tokenizer = t5(text)
    tokenizer.normalizer = None
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace(prepend_scheme="first")])
    tokenizer.add_tokens([AddedToken("<sep>", single_word=True), AddedToken("hello", rstrip=True)])
    return tokenizer


def charsmap(pairs: dict[str, str]) -> bytes:
    """A precompiled_charsmap with these replacements: one double array, laid out without sharing."""
    texts = b""
    offsets = {}
    for key, value in pairs.items():
        offsets[key.encode()] = len(texts)
        texts += value.encode() + b"\0"
    children: dict[bytes, set[int]] = {}
    for key in offsets:
        for end in range(len(key)):
            children.setdefault(key[:end], set()).add(key[end])
    units = [0] * 256
    place = {b"": 0}
    # Every node has a block of 256 units to itself, so children never overlap.
    for prefix in sorted(children, key=len):
        block = (len(units) + 255) // 256 * 256
        units += [0] * (block + 256 - len(units))
        node = place[prefix]
        units[node] |= (block ^ node) >> 8 << 10 | 0x200
        for label in children[prefix]:
            child = (block | node & 0xFF) ^ label
            place[prefix + bytes([label])] = child
            units[child] |= label
        if prefix in offsets:
            units[node] |= 0x100
            units[block | node & 0xFF] = offsets[prefix] | 0x80000000
    for key, offset in offsets.items():
        if key in children:
            continue
        block = (len(units) + 255) // 256 * 256
        units += [0] * (block + 256 - len(units))
        node = place[key]
        units[node] |= (block ^ node) >> 8 << 10 | 0x200 | 0x100
        units[block | node & 0xFF] = offset | 0x80000000
    array = struct.pack(f"<{len(units)}I", *units)
    return struct.pack("<I", len(array)) + array + texts


def precompiled(text: list[str]) -> Tokenizer:
    tokenizer = t5(text)
    data = json.loads(tokenizer.to_str())
    pairs = {"\u00e9": "e", "e\u0301": "e", "\ufb01": "fi", "\u3000": " ", "\u00a0": " ", "\u2003": " ", "\uff01": "!",
             "\u00bd": "1/2", "\t": " ", "\n": " ", "\u0130": "i", "a\u0300": "\u00e0", "\u200d": ""}
    data["normalizer"] = {"type": "Precompiled", "precompiled_charsmap": base64.b64encode(charsmap(pairs)).decode()}
    return Tokenizer.from_str(json.dumps(data))


def word_level(text: list[str]) -> Tokenizer:
    tokenizer = Tokenizer(models.WordLevel(unk_token="<unk>"))
    tokenizer.normalizer = normalizers.NFD()
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Punctuation("contiguous"), pre_tokenizers.Digits()])
    trainer = trainers.WordLevelTrainer(vocab_size=900, special_tokens=SPECIAL, show_progress=False)
    return _trained(tokenizer, trainer, text)


def _behavior(name: str, invert: bool) -> Callable[[list[str]], Tokenizer]:
    def make(text: list[str]) -> Tokenizer:
        tokenizer = gpt2(text[:500])
        tokenizer.pre_tokenizer = pre_tokenizers.Sequence([
            pre_tokenizers.Split(Regex(r"[\p{P}\p{N}]|\s"), name, invert=invert),
            pre_tokenizers.Punctuation(name), pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
        return tokenizer
    return make


BEHAVIORS = ("removed", "isolated", "merged_with_previous", "merged_with_next", "contiguous")
KINDS: dict[str, Callable[[list[str]], Tokenizer]] = {
    "gpt2": gpt2, "llama3": llama3, "qwen": qwen, "named_sets": named_sets, "roberta": roberta, "llama2": llama2, "gemma": gemma, "clip": clip,
    "prefixed": prefixed, "bert": bert, "cased_bert": cased_bert, "t5": t5, "unsplit_unigram": unsplit_unigram,
    "first_metaspace": first_metaspace, "precompiled": precompiled, "word_level": word_level,
    **{f"split_{name}": _behavior(name, False) for name in BEHAVIORS},
    **{f"split_{name}_inverted": _behavior(name, True) for name in BEHAVIORS},
}
