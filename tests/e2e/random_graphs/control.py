"""If, Loop and Scan, within one another too, with bodies of the other families' nodes."""

from __future__ import annotations

import numpy as np
from onnx import helper

from random_graphs import elementwise, indexing, movement, reduction, sequences
from random_graphs.bodies import Body, unique
from random_graphs.case import Case, Value
from random_graphs.values import BOOL, I64

DEEPEST = 2
SMALL = 2_000  # elements of what a loop carries


def is_small(value: Value) -> bool:
    return value.data.size <= SMALL


def recipes(case: Case) -> list:
    """The recipes of a body: small nodes, and bodies again."""
    inner = RECIPES + sequences.RECIPES if case.depth < DEEPEST else []
    return elementwise.RECIPES + movement.RECIPES + reduction.RECIPES + indexing.RECIPES + inner


def a_condition(case: Case) -> Value:
    known = [value for value in case.values if value.dtype == BOOL and value.data.size == 1]
    if known and case.chance(0.5):
        return case.pick(known)
    return case.given(np.array(case.chance(0.5)), constant=0.25)


def branch(case: Case) -> list[Value]:
    """Both ways yield the same element types; ranks and shapes may differ."""
    condition = a_condition(case)
    there, here = Body(case), Body(case)
    there.grow(recipes(case), case.between(1, 4))
    here.grow(recipes(case), case.between(0, 4))
    case.require(bool(there.made))
    count = min(case.between(1, 2), len(there.made))
    chosen = [there.made[-1 - k] for k in range(count)]
    others = unique([here.result_like(value, 0.8) for value in chosen])
    case.require(len(others) == count)
    sides = [(there, chosen), (here, others)]
    if case.chance(0.5):
        sides.reverse()
    graphs, captures = [], []
    for name, (body, results) in zip(("then", "else"), sides):
        graph, read = body.close(case.fresh(name), results)
        graphs.append(graph)
        captures += read
    names = [case.fresh("if") for _ in chosen]
    node = helper.make_node("If", [condition.name], names, then_branch=graphs[0],
                            else_branch=graphs[1])
    return case.fragment([node], unique([condition, *captures]), names)


def formal(case: Case, stem: str, like: Value) -> Value:
    return Value(case.fresh(stem), like.data, like.twins)


def scan_outputs(body: Body) -> list[Value]:
    fits = [value for value in body.made if is_small(value)]
    return unique([body.case.pick(fits) for _ in range(body.case.between(0, 2)) if fits])


def loop(case: Case) -> list[Value]:
    """Counted, or until a condition says so, or both."""
    limit = 0 if case.chance(0.1) else case.between(1, 5)
    is_counted = case.chance(0.7)
    trip = case.ints(limit) if is_counted else None
    go = case.given(np.array(case.chance(0.95))) if not is_counted or case.chance(0.4) else None
    states = [case.value(where=is_small) for _ in range(case.between(0, 2))]
    number = Value(case.fresh("i"), np.array(0, I64), (np.array(0, I64),) * 2)
    on = Value(case.fresh("on"), np.array(True), (np.array(True),) * 2)
    body = Body(case, [number, on, *(formal(case, "state", value) for value in states)], 2)
    body.grow(recipes(case), case.between(1, 4))
    nexts = [body.result_like(value) for value in body.formals[2:]]
    scans = scan_outputs(body)
    case.require(bool(nexts or scans))
    if is_counted and case.chance(0.6):
        still = body.case.op("Identity", on)
    else:
        still = body.case.op("Less", number, body.case.ints(case.between(0, 4)))
    # Each value is a result once; duplicate results have a test of their own.
    results = [still, *nexts, *scans]
    results = [body.case.op("Identity", value) if value in results[:k] else value
               for k, value in enumerate(results)]
    graph, captures = body.close(case.fresh("body"), results, 1)
    names = [case.fresh("loop") for _ in results[1:]]
    given = [trip, go, *states]
    node = helper.make_node("Loop", [value.name if value else "" for value in given], names,
                            body=graph)
    made = case.fragment([node], unique([v for v in given if v] + captures), names)
    # Without an iteration there is no item, and onnxruntime knows less of its shape than Sluice.
    case.require(all(value.shape[0] > 0 for value in made[len(nexts):]))
    return made


def scanned_axis(case: Case, x: Value, steps: int) -> int:
    axes = [axis for axis, size in enumerate(x.shape) if size == steps]
    case.require(bool(axes))
    return case.pick(axes)


def first_slice(x: Value, axis: int, is_backward: int) -> tuple[np.ndarray, ...]:
    return tuple(np.take(data, -1 if is_backward else 0, axis) for data in (x.data, *x.twins))


def scan(case: Case) -> list[Value]:
    """Along any axis, forwards and backwards, of one tensor or two."""
    case.require(case.since(9))

    def has_parts(value: Value) -> bool:  # onnxruntime 1.31 divides by zero for an empty tensor
        return 0 < value.data.size <= SMALL

    x = case.value(ranks=(1, 4), where=lambda v: has_parts(v) and v.shape[0] <= 9)
    steps = x.shape[0]
    xs = [x] + [case.value(ranks=(1, 4), where=lambda v: has_parts(v) and steps in v.shape)
                for _ in range(case.between(0, 1))]
    axes = [scanned_axis(case, value, steps) for value in xs]
    ways = [case.between(0, 1) for _ in xs]
    states = [case.value(where=is_small) for _ in range(case.between(0, 2))]
    parts = []
    for value, axis, way in zip(xs, axes, ways):
        data, *twins = first_slice(value, axis, way)
        parts.append(Value(case.fresh("part"), data, (twins[0], twins[1])))
    formals = [*(formal(case, "state", value) for value in states), *parts]
    body = Body(case, formals, case.pick([0, len(formals)]))
    body.grow(recipes(case), case.between(1, 4))
    nexts = [body.result_like(value, 1.0) for value in body.formals[: len(states)]]
    scans = scan_outputs(body)
    case.require(bool(nexts or scans) and all(map(has_parts, scans)))
    results = [*nexts, *scans]
    results = [body.case.op("Identity", value) if value in results[:k] else value
               for k, value in enumerate(results)]
    graph, captures = body.close(case.fresh("body"), results, len(results))
    out_axes = [case.between(0, value.rank) for value in scans]
    if case.since(11):
        axes = [axis - (value.rank if case.chance(0.3) else 0) for axis, value in zip(axes, xs)]
        out_axes = [axis - (value.rank + 1 if case.chance(0.3) else 0)
                    for axis, value in zip(out_axes, scans)]
    out = {"scan_output_axes": out_axes,
           "scan_output_directions": [case.between(0, 1) for _ in scans]} if scans else {}
    names = [case.fresh("scan") for _ in results]
    node = helper.make_node("Scan", [value.name for value in states + xs], names, body=graph,
                            num_scan_inputs=len(xs), scan_input_axes=axes,
                            scan_input_directions=ways, **out)
    return case.fragment([node], unique([*states, *xs, *captures]), names)


RECIPES = [branch, branch, loop, loop, scan]
