"""Element-wise operators, in the types in which exported networks have them."""

from operators.case import Case, booleans, exactly, floats, integers

TOKENS = (8, 128, 768)
IMAGE = (1, 64, 56, 56)
SCORES = (1, 12, 256, 256)


def unary(op: str, low: float = -3, high: float = 3) -> Case:
    return Case(op, "f32 [1, 64, 56, 56]", [floats(*IMAGE, low=low, high=high)])


CASES = [
    *(unary(op) for op in ("Abs", "Neg", "Exp", "Sigmoid", "Tanh", "Erf", "Sin", "Cos", "Floor", "Ceil", "Round",
                           "Sign", "Softplus", "Softsign", "Elu", "Selu", "Celu", "HardSigmoid", "HardSwish", "Mish",
                           "Gelu", "LeakyRelu", "Relu", "Tan", "Sinh", "Cosh", "Atan", "Asinh", "ThresholdedRelu")),
    unary("Log", 0.1, 9), unary("Sqrt", 0.1, 9), unary("Reciprocal", 0.5, 9), unary("Asin", -1, 1),
    unary("Acos", -1, 1), unary("Acosh", 1, 9), unary("Atanh", -0.9, 0.9),
    *(Case(op, f"f32 {list(TOKENS)}", [floats(*TOKENS, low=0.5), floats(*TOKENS, low=0.5)])
      for op in ("Add", "Sub", "Mul", "Div", "Pow", "Max", "Min", "Greater")),
    Case("Add", "f32 bias of the last axis", [floats(*TOKENS), floats(768)]),
    Case("Mul", "f32 a number per channel", [floats(*IMAGE), floats(1, 64, 1, 1)]),
    Case("Mul", "f32 a number per row", [floats(*TOKENS), floats(8, 128, 1)]),
    Case("Add", "f64 [1000, 200]", [floats(1000, 200, dtype="float64"), floats(1000, 200, dtype="float64")]),
    Case("Exp", "f64 [1000, 200]", [floats(1000, 200, dtype="float64")]),
    Case("Add", "f16 [8, 128, 768]", [floats(*TOKENS, dtype="float16"), floats(*TOKENS, dtype="float16")]),
    *(Case(op, "i64 [1, 12, 256, 256]", [integers(*SCORES, low=1), integers(*SCORES, low=1)])
      for op in ("Add", "Sub", "Mul", "Div", "Mod", "Max", "Min")),
    *(Case(op, "i32 [1, 12, 256, 256]", [integers(*SCORES, dtype="int32", low=1),
                                        integers(*SCORES, dtype="int32", low=1)])
      for op in ("Add", "Mul", "Div", "Max")),
    *(Case(op, "i64 [1, 12, 256, 256]", [integers(*SCORES), integers(1, 1, 1, 256)])
      for op in ("Equal", "Less", "Greater", "LessOrEqual", "GreaterOrEqual")),
    Case("Equal", "i32 [1, 12, 256, 256]", [integers(*SCORES, dtype="int32"), integers(*SCORES, dtype="int32")]),
    Case("Mod", "f32 fmod", [floats(*TOKENS, low=0.5, high=9), floats(*TOKENS, low=0.5, high=3)], {"fmod": 1}),
    Case("Pow", "i64 squares", [integers(*SCORES), exactly(2)]),
    Case("Pow", "f32 cubes", [floats(*TOKENS), exactly(3, "float32")]),
    Case("Pow", "f64 cubes", [floats(1000, 200, dtype="float64"), exactly(3, "float64")]),
    Case("Abs", "i64", [integers(*SCORES, low=-9)]), Case("Neg", "i64", [integers(*SCORES)]),
    *(Case(op, "bool [1, 12, 256, 256]", [booleans(*SCORES), booleans(1, 1, 256, 256)])
      for op in ("And", "Or", "Xor", "Equal")),
    Case("Not", "bool", [booleans(*SCORES)]),
    Case("BitShift", "u8", [integers(*SCORES, dtype="uint8"), exactly(2, "uint8")], {"direction": "RIGHT"}),
    Case("BitwiseAnd", "i64", [integers(*SCORES), integers(*SCORES)]),
    Case("BitwiseOr", "u8", [integers(*SCORES, dtype="uint8"), integers(*SCORES, dtype="uint8")]),
    Case("Where", "f32 masked scores", [booleans(1, 1, 256, 256), floats(*SCORES), exactly(-1e9, "float32")]),
    Case("Where", "i64", [booleans(*SCORES), integers(*SCORES), integers(*SCORES)]),
    Case("Clip", "f32", [floats(*IMAGE), exactly(0, "float32"), exactly(0.5, "float32")]),
    Case("Clip", "i64", [integers(*SCORES), exactly(3), exactly(50)]),
    Case("PRelu", "f32 per channel", [floats(*IMAGE), floats(64, 1, 1).const()]),
    *(Case("Cast", f"{source} to {target}", [make], {"to": number}) for source, target, number, make in (
        ("f32", "f16", 10, floats(*TOKENS)), ("f16", "f32", 1, floats(*TOKENS, dtype="float16")),
        ("f32", "f64", 11, floats(*TOKENS)), ("f64", "f32", 1, floats(*TOKENS, dtype="float64")),
        ("f32", "i64", 7, floats(*TOKENS, low=-99, high=99)), ("i64", "f32", 1, integers(*TOKENS)),
        ("f32", "i32", 6, floats(*TOKENS, low=-99, high=99)), ("i32", "f32", 1, integers(*TOKENS, dtype="int32")),
        ("i64", "i32", 6, integers(*TOKENS)), ("i32", "i64", 7, integers(*TOKENS, dtype="int32")),
        ("bool", "f32", 1, booleans(*TOKENS)), ("bool", "i64", 7, booleans(*TOKENS)),
        ("f32", "bool", 9, floats(*TOKENS)), ("i64", "bool", 9, integers(*TOKENS, high=2)),
        ("u8", "f32", 1, integers(*TOKENS, dtype="uint8")), ("f32", "u8", 2, floats(*TOKENS, low=0, high=255)),
        ("u32", "f32", 1, integers(*TOKENS, dtype="uint32")), ("i64", "f64", 11, integers(*TOKENS)),
        ("f64", "i64", 7, floats(*TOKENS, dtype="float64")),
        ("i64", "f16", 10, integers(*TOKENS)), ("i32", "f16", 10, integers(*TOKENS, dtype="int32")),
        ("u8", "f16", 10, integers(*TOKENS, dtype="uint8")), ("bool", "f16", 10, booleans(*TOKENS)),
        ("f64", "f16", 10, floats(*TOKENS, dtype="float64")), ("f16", "f64", 11, floats(*TOKENS, dtype="float16")),
        ("f16", "i64", 7, floats(*TOKENS, dtype="float16", low=-99, high=99)),
        ("f16", "bool", 9, floats(*TOKENS, dtype="float16")),
        ("f32", "i8", 3, floats(*TOKENS, low=-99, high=99)), ("i64", "u8", 2, integers(*TOKENS)),
        ("i32", "u32", 12, integers(*TOKENS, dtype="int32")), ("f32", "u64", 13, floats(*TOKENS, low=0, high=99)))),
    *(Case(op, f"{name} [8, 128, 768]", [floats(*TOKENS, dtype=dtype)]) for op, name, dtype in (
        ("IsNaN", "f64", "float64"), ("IsNaN", "f16", "float16"), ("IsInf", "f64", "float64"),
        ("Round", "f16", "float16"), ("Sign", "f16", "float16"))),
    Case("IsNaN", "f32", [floats(*TOKENS)]), Case("IsInf", "f32", [floats(*TOKENS)]),
    *(Case(op, "f64 [1000, 200]", [floats(1000, 200, dtype="float64", low=low, high=3)]) for op, low in (
        ("Relu", -3), ("Floor", -3), ("Ceil", -3), ("Round", -3), ("Sin", -3), ("Cos", -3), ("Abs", -3), ("Sign", -3),
        ("Sigmoid", -3), ("Tanh", -3), ("Log", 0.1), ("Sqrt", 0.1))),
    *(Case(op, "f64 [1000, 200]", [floats(1000, 200, dtype="float64", low=0.5), floats(1000, 200, dtype="float64",
                                                                                      low=0.5)])
      for op in ("Div", "Max", "Less", "Equal")),
    Case("Clip", "f64", [floats(1000, 200, dtype="float64"), exactly(-0.5, "float64"), exactly(0.5, "float64")]),
    Case("Clip", "f16", [floats(*TOKENS, dtype="float16"), exactly(-0.5, "float16"), exactly(0.5, "float16")]),
    Case("Max", "f16 [8, 128, 768]", [floats(*TOKENS, dtype="float16"), floats(*TOKENS, dtype="float16")]),
    *(Case("Relu", f"{name} [8, 128, 768]", [integers(*TOKENS, dtype=dtype, low=-9)])
      for name, dtype in (("i32", "int32"), ("i8", "int8"))),
]
