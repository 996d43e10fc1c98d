#!/usr/bin/env python3
"""Control flow, sequences, optionals and strings in small models: each agrees with onnxruntime."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import onnx.parser
import onnxruntime
from onnx import numpy_helper
from report import Report, scratch_folder

from harness.sluice_cli import binary

F32 = np.float32
HEADER = '<ir_version: 8, opset_import: ["" : 17]>\n'

# name -> (graph, input sets). An input is an array, a list (a sequence) or None (an empty optional).
CASES: dict[str, tuple[str, list[list]]] = {}


def case(name: str, graph: str, *feeds: list) -> None:
    CASES[name] = (HEADER + graph, list(feeds))


X3 = np.array([1.5, -2.0, 3.25], F32)
TRUE, FALSE = np.array(True), np.array(False)

case("if_in_if", """
main (bool a, bool b, float[N] x) => (float[M] y, float[M] z)
<float[1] w = {2.0}> {
  s = Mul (x, w)
  y, z = If (a) <
    then_branch = then_a () => (p, q) {
      p = If (b) <then_branch = then_b () => (t) { t = Add (s, w) },
                  else_branch = else_b () => (t2) { t2 = Sub (x, w) }>
      q = Identity (x)
    },
    else_branch = else_a () => (p2, q2) { p2 = Neg (s)  q2 = Relu (s) }>
}""", [TRUE, TRUE, X3], [TRUE, FALSE, X3], [FALSE, TRUE, X3], [FALSE, FALSE, X3[:1]])

case("loop_grows", """
main (int64 n, float[K] x) => (float[M] y, float[P] sums)
{
  yes = Constant <value = bool {1}> ()
  y, sums = Loop (n, yes, x) <body = grow (int64 i, bool go, float[A] v) => (bool on, float[B] w, float[1] s) {
    on = Identity (go)
    axis = Constant <value_ints = [0]> ()
    s = ReduceSum (v, axis)
    w = Concat <axis = 0> (v, s)
  }>
}""", [np.array(4), X3], [np.array(0), X3], [np.array(1), X3[:0]])

case("loop_while", """
main (float limit, float start) => (float y, int64 count)
{
  zero = Constant <value = int64 {0}> ()
  go0 = Less (start, limit)
  y, count = Loop ("", go0, start, zero) <body = step (int64 i, bool go, float v, int64 c) => (bool on, float w, int64 d) {
    two = Constant <value = float {2.0}> ()
    one = Constant <value = int64 {1}> ()
    w = Mul (v, two)
    d = Add (c, one)
    on = Less (w, limit)
  }>
}""", *([np.array(limit, F32), np.array(start, F32)] for limit, start in ((100, 1), (1, 5), (3, 1))))

case("loops_nest", """
main (int64 n, float[2,2] x) => (float[2,2] y, float[?,2,2] all)
{
  yes = Constant <value = bool {1}> ()
  y, all = Loop (n, yes, x) <body = outer (int64 i, bool go, float[2,2] v) => (bool on, float[2,2] w, float[2,2] seen) {
    on = Identity (go)
    one = Constant <value = int64 {1}> ()
    m = Add (i, one)
    w0 = Loop (m, go, v) <body = inner (int64 j, bool g, float[2,2] u) => (bool h, float[2,2] r) {
      h = Identity (g)
      f = Cast <to = 1> (i)
      k = Cast <to = 1> (j)
      p = MatMul (u, x)
      q = Add (p, f)
      r = Sub (q, k)
    }>
    w = Tanh (w0)
    seen = Identity (w)
  }>
}""", [np.array(3), np.array([[0.5, -0.25], [0.75, 1.0]], F32)], [np.array(0), np.eye(2, dtype=F32)])

case("loop_slices", """
main (int64 n, float[T,D] x) => (float[T,D] y)
{
  yes = Constant <value = bool {1}> ()
  nothing = Shape (x)
  y = Loop (n, yes) <body = slice (int64 i, bool go) => (bool on, float[D] row) {
    on = Identity (go)
    shape = Constant <value_ints = [1]> ()
    begin = Reshape (i, shape)
    one = Constant <value_ints = [1]> ()
    end = Add (begin, one)
    axes = Constant <value_ints = [0]> ()
    part = Slice (x, begin, end, axes)
    row = Squeeze (part, axes)
  }>
}""", [np.array(4), np.arange(12, dtype=F32).reshape(4, 3)])

case("loop_in_if_with_data_dependent_shapes", """
main (bool c, float[N] x) => (int64[A,B] y)
{
  y = If (c) <
    then_branch = t () => (p) {
      n = Constant <value = int64 {3}> ()
      yes = Constant <value = bool {1}> ()
      v = Loop (n, yes, x) <body = b (int64 i, bool go, float[M] u) => (bool on, float[K] r) {
        on = Identity (go)
        idx = NonZero (u)
        axes = Constant <value_ints = [0]> ()
        flat = Squeeze (idx, axes)
        f = Cast <to = 1> (flat)
        r = Relu (f)
      }>
      p = NonZero (v)
    },
    else_branch = e () => (q) { q = NonZero (x) }>
}""", [TRUE, np.array([0, 1, 2, 0, 5], F32)], [FALSE, np.array([0, 1, 2, 0, 5], F32)],
     [TRUE, np.zeros(3, F32)])

case("scan_both_ways", """
main (float[2] s, float[T,2] x, float[2,T] z) => (float[2] last, float[2,T] a, float[T,2] b)
{
  last, a, b = Scan <num_scan_inputs = 2, scan_input_axes = [0, 1], scan_input_directions = [0, 1],
                     scan_output_axes = [1, 0], scan_output_directions = [0, 1],
    body = step (float[2] st, float[2] e, float[2] f) => (float[2] nx, float[2] o, float[2] o2) {
      nx = Add (st, e)
      o = Mul (nx, f)
      o2 = Sub (nx, f)
    }> (s, x, z)
}""", [np.array([1, 2], F32), np.arange(8, dtype=F32).reshape(4, 2),
       np.arange(8, dtype=F32).reshape(2, 4)],
     [np.array([1, 2], F32), np.arange(34, dtype=F32).reshape(17, 2),
      np.arange(34, dtype=F32).reshape(2, 17)])

case("sequences", """
main (float[N] a, float[M] b, int64 at) => (float[K] joined, float[P] item, int64 count, seq(float[Q]) all)
{
  pair = SequenceConstruct (a, b)
  three = SequenceInsert (pair, b, at)
  minus = Constant <value = int64 {-2}> ()
  all = SequenceErase (three, minus)
  item = SequenceAt (three, at)
  count = SequenceLength (all)
  joined = ConcatFromSequence <axis = 0> (three)
}""", [X3, X3[:2], np.array(0)], [X3, X3[:0], np.array(-1)])

case("sequence_stacked", """
main (float[A,B] x) => (float[C,D,E] y, float[F,G] z)
{
  parts = SplitToSequence <axis = 1, keepdims = 0> (x)
  y0 = ConcatFromSequence <axis = -1, new_axis = 1> (parts)
  y = Unsqueeze (y0, last)
  sizes = Constant <value_ints = [1, 3]> ()
  uneven = SplitToSequence <axis = 1> (x, sizes)
  zero = Constant <value = int64 {1}> ()
  z = SequenceAt (uneven, zero)
}""".replace("<axis = 1, keepdims = 0>", "<axis = 1, keepdims = 0>").replace(
    "{\n  parts", "<int64[1] last = {2}> {\n  parts"), [np.arange(8, dtype=F32).reshape(2, 4)])

case("sequence_split_in_chunks", """
main (float[A] x, int64 size) => (seq(float[B]) y)
{
  y = SplitToSequence (x, size)
}""", [np.arange(7, dtype=F32), np.array(3)], [np.arange(6, dtype=F32), np.array(2)])

case("sequence_map_of_nothing", """
main (float[N] x) => (int64 count)
{
  none = SequenceEmpty <dtype = 1> ()
  all = SequenceMap (none, x) <body = b (float e, float[P] o) => (float[Q] d) {
    t = Add (e, o)
    d = Tanh (t)
  }>
  count = SequenceLength (all)
}""", [X3])

case("sequence_carried", """
main (int64 n, float[N] x) => (float[M] y, int64 count, seq(float[K]) all)
{
  yes = Constant <value = bool {1}> ()
  none = SequenceEmpty ()
  start = SequenceInsert (none, x)
  all = Loop (n, yes, start) <body = b (int64 i, bool go, seq(float[P]) s) => (bool on, seq(float[Q]) r) {
    on = Identity (go)
    last = SequenceAt (s, i)
    twice = Concat <axis = 0> (last, x)
    r = SequenceInsert (s, twice)
  }>
  y = ConcatFromSequence <axis = 0> (all)
  count = SequenceLength (all)
}""", [np.array(3), X3], [np.array(0), X3])

case("sequence_input", """
main (seq(float[N]) s, bool c) => (seq(float[M]) y, float[K] first)
{
  zero = Constant <value = int64 {0}> ()
  y = If (c) <then_branch = t () => (p) { p = SequenceErase (s, zero) },
              else_branch = e () => (q) { q = Identity (s) }>
  first = SequenceAt (s, zero)
}""", [[X3, X3[:1]], TRUE], [[X3, X3[:1]], FALSE])

case("strings", """
main (string[N] a, string[N] b, bool c, int64 n) => (string[N] y, string[M] all, seq(string[K]) s)
<string[1] mark = {"<>"}> {
  y = If (c) <then_branch = t () => (p) { p = Identity (a) },
              else_branch = e () => (q) { q = Identity (b) }>
  yes = Constant <value = bool {1}> ()
  all = Loop (n, yes, a) <body = l (int64 i, bool go, string[P] v) => (bool on, string[Q] w) {
    on = Identity (go)
    w = Concat <axis = 0> (v, mark)
  }>
  s = SequenceConstruct (a, all)
}""", [np.array(["one", "", "drei"], object), np.array(["x", "yy", "ü"], object), TRUE, np.array(2)],
     [np.array(["one", "", "drei"], object), np.array(["x", "yy", "ü"], object), FALSE, np.array(0)])

case("empty_dimensions", """
main (float[N,D] x, bool c) => (float[N,D] y, float[M,D] z, int64[A,B] where)
{
  y = If (c) <then_branch = t () => (p) { p = Relu (x) },
              else_branch = e () => (q) { q = Neg (x) }>
  z = Concat <axis = 0> (x, y)
  where = NonZero (z)
}""", [np.zeros((0, 3), F32), TRUE], [np.ones((2, 3), F32), FALSE], [np.zeros((0, 3), F32), FALSE])


def write_value(path: Path, info: onnx.ValueInfoProto, value) -> None:
    if isinstance(value, list):
        proto = numpy_helper.from_list([np.asarray(item) for item in value], info.name)
    else:
        proto = numpy_helper.from_array(np.asarray(value), info.name)
    path.write_bytes(proto.SerializeToString())


def write_case(folder: Path, graph: str, feeds: list[list]) -> None:
    model = onnx.parser.parse_model(graph)
    folder.mkdir()
    onnx.save_model(model, folder / "model.onnx")
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(model.SerializeToString(), options,
                                           providers=["CPUExecutionProvider"])
    for number, feed in enumerate(feeds):
        data = folder / f"test_data_set_{number}"
        data.mkdir()
        names = [info.name for info in model.graph.input]
        outputs = session.run(None, dict(zip(names, feed)))
        for index, (info, value) in enumerate(zip(model.graph.input, feed)):
            write_value(data / f"input_{index}.pb", info, value)
        for index, (info, value) in enumerate(zip(model.graph.output, outputs)):
            write_value(data / f"output_{index}.pb", info, value)


def run_cases(folder: Path, backend: str, optimize: bool, report: Report) -> None:
    command = [str(binary()), "conformance", str(folder), "--verbose", "--backend", backend]
    command += [] if optimize else ["--no-optimize"]
    output = subprocess.run(command, stdout=subprocess.PIPE, text=True).stdout
    names = {path.name for path in folder.iterdir()}
    how = f"{backend}{'' if optimize else ', not optimized'}"
    for line in output.splitlines():
        told = re.match(r"(pass|FAIL|skip) (\w+)", line)
        if told and told[2] in names:
            names.discard(told[2])
            report.add(told[1] == "pass", f"{line} ({how})")
    for name in names:
        report.add(False, f"{name}: no answer ({how})")


def main() -> int:
    report = Report()
    with scratch_folder() as folder:
        for name, (graph, feeds) in CASES.items():
            write_case(Path(folder) / name, graph, feeds)
        for backend in ("reference", "cpu"):
            for optimize in (True, False):
                run_cases(Path(folder), backend, optimize, report)
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
