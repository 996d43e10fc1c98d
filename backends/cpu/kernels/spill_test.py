#!/usr/bin/env python3
"""Reads the machine code of the kernels: no vector register goes to the stack inside a loop of
multiply-adds. A compiler that runs out of registers there halves the speed without a word.

Usage: spill_test.py libsluice_cpu_kernels.a
"""

import re
import subprocess
import sys

FUNCTION = re.compile(r"^[0-9a-f]+ <(.+)>:$")
INSTRUCTION = re.compile(r"^ *([0-9a-f]+):\t(\S+) *(.*)$")
# Register tiles: the template instances and whatever was inlined into them.
KERNEL = re.compile(r"::(avx2|avx512|avx512vnni)::.*(tile|Pixels::run|run_units)")
MULTIPLY_ADDS = ("vfmadd", "vpdpbusd", "vpmaddwd")
MIN_FMAS = 4
# A tile of depthwise convolutions: needs 17 of 16 registers; a narrower tile would load its weights once more often.
# A tile of four rows in bytes: three moves for 16 products, and still a quarter faster than with three columns.
KNOWN = re.compile(r"avx2::.*Pixels::run<7, 1, 8>|avx512vnni::.*narrow_byte_tile<[48], 4, 4>")
# Scales of a group of blocks, and by how much their places move: the instruction that spreads or moves them reads them
# where they are. There are as many scales as sums, and the sums have the registers.
READS_ITS_SCALES = re.compile(r"narrow_byte_tile")


def functions(archive):
    """(name, [(address, mnemonic, operands)]) of every function of the archive."""
    dump = subprocess.run(
        ["objdump", "-d", "--no-show-raw-insn", "-C", archive],
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    name, body = None, []
    for line in dump.splitlines():
        if match := FUNCTION.match(line):
            if name:
                yield name, body
            name, body = match[1], []
        elif match := INSTRUCTION.match(line):
            body.append((int(match[1], 16), match[2], match[3]))
    if name:
        yield name, body


def jump_target(operands):
    target = re.match(r"([0-9a-f]+) <", operands)
    return int(target[1], 16) if target else None


def leads_to(body, begin, end):
    """Whether the instruction at `begin` may be followed, sooner or later, by the one at `end`, without leaving what lies
    between them: what a compiler moves behind a function jumps back to where it belongs, and is no loop."""
    at = {address: i for i, (address, _, _) in enumerate(body) if begin <= address <= end}
    seen, todo = set(), [at.get(begin)]
    while todo:
        i = todo.pop()
        if i in seen or i is None or i >= len(body) or body[i][0] > end:
            continue
        seen.add(i)
        _, mnemonic, operands = body[i]
        if mnemonic.startswith("j"):
            todo.append(at.get(jump_target(operands)))
        if mnemonic != "jmp" and not mnemonic.startswith("ret"):
            todo.append(i + 1)
    return at[end] in seen


def innermost_loops(body):
    """Instructions between the target of a jump backwards and the jump, where no other such pair lies
    inside."""
    spans = []
    for address, mnemonic, operands in body:
        target = jump_target(operands)
        if mnemonic.startswith("j") and target is not None and target <= address:
            spans.append((target, address))
    for begin, end in spans:
        if any(b >= begin and e <= end and (b, e) != (begin, end) for b, e in spans):
            continue
        if leads_to(body, begin, end):
            yield [i for i in body if begin <= i[0] <= end]


def spills(name, loop):
    return [
        f"{mnemonic} {operands}"
        for _, mnemonic, operands in loop
        if re.search(r"\(%r[sb]p", operands) and re.search(r"%[xyz]mm", operands)
        and not (mnemonic in ("vpermps", "vpaddd") and READS_ITS_SCALES.search(name))
    ]


def main():
    checked = 0
    failed = 0
    for name, body in functions(sys.argv[1]):
        if not KERNEL.search(name) or KNOWN.search(name):
            continue
        for loop in innermost_loops(body):
            if sum(mnemonic.startswith(MULTIPLY_ADDS) for _, mnemonic, _ in loop) < MIN_FMAS:
                continue
            checked += 1
            if found := spills(name, loop):
                failed += 1
                print(f"{name}: {len(found)} vector moves to or from the stack, e.g. {found[0]}")
    if checked < 20:
        print(f"only {checked} loops found: the names of the kernels must have changed")
        failed += 1
    print(f"{checked} loops of multiply-adds looked at, {failed} with spills")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
