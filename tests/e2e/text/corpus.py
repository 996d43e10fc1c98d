"""Lines of text in many scripts, made from a seed: words of random characters of a script, in sentences with
that script's punctuation, and lines of what tokenizers trip over. Characters are assigned since Unicode 13,
because each library has tables of its own age."""

from __future__ import annotations

import random
import unicodedata
from collections.abc import Iterator

# Ranges of code points: letters and marks of each script.
SCRIPTS: dict[str, list[tuple[int, int]]] = {
    "latin": [(0x61, 0x7A)],
    "latin capitals": [(0x41, 0x5A), (0x61, 0x7A)],
    "latin extended": [(0x61, 0x7A), (0xC0, 0xFF), (0x100, 0x17F), (0x1E00, 0x1EFF)],
    "cyrillic": [(0x410, 0x44F), (0x400, 0x40F), (0x450, 0x45F)],
    "greek": [(0x391, 0x3A1), (0x3A3, 0x3C9), (0x1F00, 0x1F15)],
    "arabic": [(0x621, 0x64A), (0x64B, 0x652)],
    "hebrew": [(0x5D0, 0x5EA), (0x5B0, 0x5BC)],
    "armenian": [(0x531, 0x556), (0x561, 0x587)],
    "georgian": [(0x10D0, 0x10F0), (0x1C90, 0x1CBA)],
    "devanagari": [(0x904, 0x939), (0x93E, 0x94D)],
    "bengali": [(0x985, 0x98C), (0x995, 0x9A8), (0x9BE, 0x9C4)],
    "tamil": [(0xB85, 0xB8A), (0xB95, 0xB95), (0xBAE, 0xBB9), (0xBBE, 0xBC2)],
    "thai": [(0xE01, 0xE3A), (0xE40, 0xE4E)],
    "khmer": [(0x1780, 0x17B3), (0x17B6, 0x17D1)],
    "ethiopic": [(0x1200, 0x1248), (0x1260, 0x1288)],
    "chinese": [(0x4E00, 0x4EFF), (0x6C00, 0x6CFF), (0x20000, 0x2001F)],
    "japanese": [(0x3041, 0x3096), (0x30A1, 0x30FA), (0x4E00, 0x4E3F), (0xFF66, 0xFF9D)],
    "korean": [(0xAC00, 0xAFFF), (0x1100, 0x1112), (0x1161, 0x1175)],
    "digits": [(0x30, 0x39), (0x660, 0x669), (0x966, 0x96F), (0x2160, 0x216B), (0xBC, 0xBE)],
    "symbols": [(0x21, 0x2F), (0x2010, 0x2027), (0x20A0, 0x20BF), (0x2190, 0x21FF), (0x2460, 0x249B)],
    "compatibility": [(0xFB00, 0xFB06), (0x3300, 0x3357), (0xFF01, 0xFF5E), (0x2070, 0x2079), (0x1D400, 0x1D454)],
    "combining": [(0x61, 0x66), (0x300, 0x36F)],
    "emoji": [(0x1F600, 0x1F64F), (0x1F300, 0x1F320), (0x1F1E6, 0x1F1FF), (0x1F3FB, 0x1F3FF)],
}
SPACES = [" "] * 12 + ["  ", "   ", "\t", "\n", "\n\n", "\r\n", "\v", "\f", "\x85", "\xa0", "\u1680", "\u2003",
                       "\u2009", "\u2028", "\u2029", "\u202f", "\u205f", "\u3000", "\u200b", " \n ", "\t\t"]
MARKS = [".", ",", "!", "?", "...", ";", ":", "-", "--", "'", '"', "(", ")", "[", "]", "/", "_", "@", "#", "%",
         "\u3002", "\uff0c", "\u060c", "\u0964", "\u00bf", "\u2019", "\u2014", "\u2026", "\u00ab", "\u30fb"]
FIXED = [
    "", " ", "  ", "\n", "\t\n ", "a", "I'm they've he'll it's we'd you're CAN'T ISN'T don't do not",
    "\U0001f468\u200d\U0001f469\u200d\U0001f467\u200d\U0001f466 \U0001f3f3\ufe0f\u200d\U0001f308 \U0001f44d\U0001f3fd",
    "e\u0301 \u00e9 a\u0300\u0301\u0302\u0303 \u1e9b\u0323 \u212b \ufb01 \u2126 \uac01 \u1100\u1161\u11a8",
    "\u0130stanbul \u0131 \u1e9e \u03a3\u03af\u03c3\u03c5\u03c6\u03bf\u03c2 \u01c5 STRASSE",
    "x = 10; y = 3.14159; z = 0x1F; 1,000,000 12345678901234567890 1/2 \u00bd \u2167 \u0664\u0665",
    "\u0915\u094d\u0937\u0924\u094d\u0930\u093f\u092f \u0e01\u0e33 \u0e19\u0e49\u0e33",
    "<s> hello </s> <unk> [CLS] [SEP] <mask> <|end|> <|endoftext|>", "  leading and trailing  ",
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
    "\x00\x01\x07\x1f\x7f\x80\x9f\xad\ufeff\ufffd\u200e\u2060", "\u2581already\u2581meta \u2581", "<0x41> <0xE2><0x96>",
    "def f(x):\n    return x\n\n\n\tif y:\n        pass  # done\n", "https://example.org/a?b=c&d=%20#e user@host.tld",
]


def characters(script: str) -> list[str]:
    return [chr(c) for first, last in SCRIPTS[script] for c in range(first, last + 1)
            if unicodedata.category(chr(c)) != "Cn"]


def _words(rng: random.Random, script: str, letters: list[str], count: int) -> list[str]:
    if script == "emoji":
        joined = [a + rng.choice(["", "\u200d", "\ufe0f", "\u200d\ufe0f"]) + b for a, b in
                  zip(rng.choices(letters, k=count), rng.choices(letters, k=count), strict=True)]
        return joined
    return ["".join(rng.choices(letters, k=rng.randint(1, 9))) for _ in range(count)]


def lines(seed: int, count: int) -> Iterator[str]:
    """`count` lines: the fixed ones, then sentences of one script or of several."""
    rng = random.Random(seed)
    # Few words, as in a language, so that training finds merges.
    lexicon = {script: _words(rng, script, characters(script), 150) for script in SCRIPTS}
    names = list(SCRIPTS)
    for number in range(count):
        if number < len(FIXED):
            yield FIXED[number]
            continue
        scripts = [names[number % len(names)]] if rng.random() < 0.7 else rng.choices(names, k=3)
        parts: list[str] = []
        for _ in range(rng.randint(1, 14)):
            script = rng.choice(scripts)
            fresh = rng.random() < 0.1
            parts += _words(rng, script, characters(script), 1) if fresh else [rng.choice(lexicon[script])]
            if rng.random() < 0.2:
                parts.append(rng.choice(MARKS))
            if rng.random() < 0.85:
                parts.append(rng.choice(SPACES))
            if rng.random() < 0.02:
                parts.append(rng.choice(FIXED))
        yield "".join(parts)
