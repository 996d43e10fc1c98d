"""Reductions, running sums, extremes and norms over each axis."""

from operators.case import MICROSOFT, Case, exactly, floats, integers, weights

TOKENS = (8, 128, 768)
IMAGE = (1, 64, 56, 56)


def reductions() -> list[Case]:
    rows = []
    for op in ("ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceL1", "ReduceL2",
               "ReduceSumSquare", "ReduceLogSumExp", "ReduceLogSum"):
        for axis in ((-1,), (1,), (0,)) if op in ("ReduceSum", "ReduceMax", "ReduceProd") else ((-1,),):
            # Products of many numbers stay far from the least float.
            low, high = (0.9, 1.1) if op == "ReduceProd" else (0.5, 1)
            rows.append(Case(op, f"f32 axis {axis[0]}", [floats(*TOKENS, low=low, high=high), exactly(axis)]))
    rows += [Case("ReduceMean", "f32 axes 2, 3", [floats(*IMAGE), exactly([2, 3])]),
             Case("ReduceMean", "f32 axes 0, 2", [floats(*TOKENS), exactly([0, 2])]),
             Case("ReduceSum", "i64 axis -1", [integers(*TOKENS), exactly([-1])]),
             Case("ReduceSum", "i32 axis 1", [integers(*TOKENS, dtype="int32"), exactly([1])]),
             Case("ReduceMax", "i64 axis -1", [integers(*TOKENS), exactly([-1])]),
             Case("ReduceMax", "u8 axis -1", [integers(*TOKENS, dtype="uint8"), exactly([-1])]),
             *(Case(op, "f32 3 columns", [floats(100000, 3), exactly([-1])]) for op in ("ReduceSum", "ReduceMax")),
             Case("ReduceSum", "i64 3 columns", [integers(100000, 3), exactly([-1])]),
             Case("ReduceSum", "f64 axis -1", [floats(1000, 200, dtype="float64"), exactly([-1])]),
             *(Case(op, f"f64 96 columns, axis {axis}", [floats(2000, 96, dtype="float64"), exactly([axis])])
               for op in ("ReduceMax", "ReduceMin", "ReduceMean", "ReduceSum", "ReduceL2") for axis in (-1, 0)),
             *(Case(op, "f64 10 columns", [floats(5000, 10, dtype="float64"), exactly([-1])])
               for op in ("ReduceMax", "ReduceSum")),
             Case("ReduceMax", "i64 3 columns", [integers(100000, 3), exactly([-1])])]
    return rows


CASES = [
    *reductions(),
    *(Case("CumSum", f"f32 axis {axis}", [floats(*TOKENS), exactly(axis)]) for axis in (0, 1, 2)),
    Case("CumSum", "f32 2 rows", [floats(64, 2, 1024), exactly(1)]),
    Case("CumSum", "i64 axis 1", [integers(8, 2048), exactly(1)]),
    Case("CumSum", "i32 axis 1", [integers(8, 2048, dtype="int32"), exactly(1)]),
    *(Case(op, f"f32 axis {axis}", [floats(*TOKENS)], {"axis": axis}) for op in ("ArgMax", "ArgMin")
      for axis in (0, 1, -1)),
    Case("ArgMax", "f32 vocabulary", [floats(4, 32000)], {"axis": -1}),
    Case("ArgMax", "f32 classes of pixels", [floats(1, 21, 128, 128)], {"axis": 1}),
    Case("ArgMax", "f64 classes", [floats(1000, 10, dtype="float64")], {"axis": 1}),
    Case("ArgMax", "f32 classes", [floats(1000, 10)], {"axis": 1}),
    Case("ArgMax", "f64 96 columns", [floats(2000, 96, dtype="float64")], {"axis": 1}),
    Case("ArgMax", "i64 axis 1", [integers(8, 64, 256)], {"axis": 1}),
    Case("ArgMax", "i64 axis -1", [integers(8, 2048)], {"axis": -1}),
    Case("TopK", "f32 5 of 1000", [floats(8, 1000), exactly([5])], outputs=(True, True)),
    Case("TopK", "f32 1000 of 20000", [floats(1, 20000), exactly([1000])], outputs=(True, True)),
    Case("TopK", "f32 axis 1", [floats(8, 128, 64), exactly([8])], {"axis": 1}, outputs=(True, True)),
    Case("TopK", "u8 10 of 5000", [integers(4, 5000, dtype="uint8", high=255), exactly([10])], outputs=(True, True)),
    Case("TopK", "i64 10 of 5000", [integers(4, 5000, high=9999), exactly([10])], outputs=(True, True)),
    *(Case(op, f"f32 axis {axis}", [floats(*TOKENS)], {"axis": axis}) for op in ("Softmax", "LogSoftmax")
      for axis in (1, -1)),
    Case("Softmax", "f32 attention scores", [floats(1, 12, 256, 256)], {"axis": -1}),
    Case("Softmax", "f64 axis -1", [floats(1000, 200, dtype="float64")], {"axis": -1}),
    *(Case("Hardmax", f"f32 axis {axis}", [floats(*TOKENS)], {"axis": axis}) for axis in (-1, 1, 0)),
    Case("LayerNormalization", "f32", [floats(*TOKENS), weights(768), weights(768)], {"axis": -1}),
    Case("SkipLayerNormalization", "f32", [floats(*TOKENS), floats(*TOKENS), weights(768), weights(768)],
         {"epsilon": 1e-5}, MICROSOFT),
    Case("SimplifiedLayerNormalization", "f32", [floats(*TOKENS), weights(768)], {"axis": -1, "epsilon": 1e-5}),
    Case("InstanceNormalization", "f32", [floats(*IMAGE), weights(64), weights(64)]),
    Case("GroupNormalization", "f32", [floats(*IMAGE), weights(32), weights(32)], {"num_groups": 32}, opset=18),
    Case("BatchNormalization", "f32", [floats(*IMAGE), *(weights(64, low=0.5, high=1) for _ in range(4))]),
    Case("LpNormalization", "f32 axis -1", [floats(*TOKENS)], {"axis": -1, "p": 2}),
    Case("MeanVarianceNormalization", "f32", [floats(*IMAGE)], {"axes": [0, 2, 3]}),
    Case("LRN", "f32", [floats(1, 96, 27, 27)], {"size": 5}),
]
