"""LSTM, GRU and RNN in both directions, with and without states and lengths."""

from __future__ import annotations

import numpy as np

from random_graphs.case import Case, Value

GATES = {"LSTM": 4, "GRU": 3, "RNN": 1}


def lengths(case: Case, batch: int, steps: int) -> str:
    if case.chance(0.7):
        return ""
    values = case.rng.integers(1, steps + 1, batch).astype(np.int32)
    return case.writer.weight("lengths", values)


def build(case: Case) -> None:
    kind = case.pick(list(GATES))
    steps, batch = case.between(1, 12), case.between(1, 4)
    ins, hidden = case.between(1, 40), case.between(1, 40)
    direction = case.pick(["forward", "forward", "reverse", "bidirectional"])
    ways = 2 if direction == "bidirectional" else 1
    gates = GATES[kind]
    x = case.input((steps, batch, ins))
    inputs = [x.name, case.weight((ways, gates * hidden, ins), ins**-0.5),
              case.weight((ways, gates * hidden, hidden), hidden**-0.5),
              case.weight((ways, 2 * gates * hidden), 0.3) if case.chance(0.7) else "",
              lengths(case, batch, steps)]
    state = (ways, batch, hidden)
    if case.chance(0.5):
        inputs += [case.input(state).name for _ in range(2 if kind == "LSTM" else 1)]
    while not inputs[-1]:
        inputs.pop()
    attributes = {"linear_before_reset": case.between(0, 1)} if kind == "GRU" else {}
    names = ["Y", "Y_h", "Y_c"][: 3 if kind == "LSTM" else 2]
    case.writer.multi_op(kind, *inputs, names=names, hidden_size=hidden, direction=direction,
                         **attributes)
    case.output(Value("Y", (steps, ways, batch, hidden)))
    for name in names[1:]:
        case.output(Value(name, state))
