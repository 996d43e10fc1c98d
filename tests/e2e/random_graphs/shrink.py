"""The smallest part of a graph on which the backends still disagree.

Every value of a graph is known, so any part can run alone: a value, the last few nodes that compute
it, and their operands as inputs.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from random_graphs.assemble import model_of, write_folder
from random_graphs.case import Case, Fragment
from random_graphs.verdicts import judge


@dataclass(frozen=True)
class Part:
    fragments: list[Fragment]  # in the order of the graph
    output: str


def part_of(case: Case, output: str, depth: int) -> Part:
    """The nodes at most `depth` steps before a value."""
    maker = {name: k for k, item in enumerate(case.fragments) for name in item.outputs}
    chosen: set[int] = set()
    wanted = {output}
    for _ in range(depth):
        found = {maker[name] for name in wanted if name in maker} - chosen
        chosen |= found
        wanted = {name for k in found for name in case.fragments[k].inputs}
    return Part([case.fragments[k] for k in sorted(chosen)], output)


def parts_of(case: Case) -> Iterator[Part]:
    """All distinct parts, smallest first."""
    seen: set[tuple[int, ...]] = set()
    parts = []
    for fragment in case.fragments:
        for output in fragment.outputs:
            for depth in range(1, len(case.fragments) + 1):
                part = part_of(case, output, depth)
                key = (hash(output), *map(id, part.fragments))
                if key in seen:
                    break
                seen.add(key)
                parts.append(part)
    yield from sorted(parts, key=lambda part: len(part.fragments))


def write_part(case: Case, part: Part, folder: Path) -> None:
    known = {value.name: value.data for value in case.values}
    made = {name for fragment in part.fragments for name in fragment.outputs}
    read = [name for fragment in part.fragments for name in fragment.inputs]
    weights = {name: known[name] for name in read if name in case.weights}
    inputs = {name: known[name] for name in read if name not in made and name not in weights}
    outputs = {part.output: known[part.output]}
    model = model_of(part.fragments, inputs, weights, outputs, case.opset, {}, shapes=False)
    write_folder(folder, model, inputs, outputs)


def shrink(case: Case, backend: str, scratch: Path) -> Path | None:
    """The folder of the smallest part that is judged wrong; None if only the whole graph is."""
    folders = []
    for number, part in enumerate(parts_of(case)):
        folders.append(scratch / f"part_{number}")
        write_part(case, part, folders[-1])
    for batch in (folders[k : k + 40] for k in range(0, len(folders), 40)):
        verdicts = judge(batch, backend)
        for folder in batch:
            if verdicts[folder.name].is_bad:
                return folder
    return None
