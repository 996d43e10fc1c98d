"""LSTM, GRU and RNN in both directions, with and without states and lengths."""

from __future__ import annotations

from random_graphs.case import Case, Value
from random_graphs.images import weight
from random_graphs.values import F32, I32

GATES = {"LSTM": 4, "GRU": 3, "RNN": 1}


def recurrent(case: Case) -> list[Value]:
    kind = case.pick(list(GATES))
    steps, batch = case.between(1, 9), case.between(1, 4)
    ins, hidden = case.between(1, 20), case.between(1, 20)
    direction = case.pick(["forward", "forward", "reverse", "bidirectional"])
    ways = 2 if direction == "bidirectional" else 1
    gates = GATES[kind]
    x = case.new(F32, (steps, batch, ins), 0.05)
    inputs: list[Value | None] = [
        x, weight(case, x, (ways, gates * hidden, ins), spread=ins**-0.5),
        weight(case, x, (ways, gates * hidden, hidden), spread=hidden**-0.5),
        weight(case, x, (ways, 2 * gates * hidden), spread=0.3) if case.chance(0.7) else None]
    lengths = case.rng.integers(1, steps + 1, batch).astype(I32)
    inputs.append(case.given(lengths) if case.chance(0.3) else None)
    if case.chance(0.5):
        inputs += [case.new(x.dtype, (ways, batch, hidden), 0.2)
                   for _ in range(2 if kind == "LSTM" else 1)]
        if kind == "LSTM" and case.chance(0.3):  # peepholes
            inputs.append(weight(case, x, (ways, 3 * hidden), spread=0.3))
    while inputs[-1] is None:
        inputs.pop()
    names = {"RNN": ["Tanh", "Relu", "Sigmoid"]}.get(kind)
    return case.ops(kind, *inputs, outputs=3 if kind == "LSTM" else 2, hidden_size=hidden,
                    direction=direction, clip=case.pick([None, None, 2.0]),
                    activations=[case.pick(names)] * ways if names and case.chance(0.5) else None,
                    linear_before_reset=case.between(0, 1) if kind == "GRU" else None,
                    input_forget=case.pick([None, None, 1]) if kind == "LSTM" else None)


RECIPES = [recurrent]
