"""Operators that move or make elements."""

from operators.case import Case, exactly, floats, integers

TOKENS = (8, 128, 768)
IMAGE = (1, 64, 56, 56)

CASES = [
    *(Case("Transpose", f"f32 {shape} by {perm}", [floats(*shape)], {"perm": perm}) for shape, perm in (
        ([8, 128, 768], [0, 2, 1]), ([8, 128, 12, 64], [0, 2, 1, 3]), ([8, 12, 128, 64], [0, 1, 3, 2]),
        ([1, 64, 56, 56], [0, 2, 3, 1]), ([1, 56, 56, 64], [0, 3, 1, 2]), ([1, 224, 224, 3], [0, 3, 1, 2]),
        ([128, 8, 768], [1, 0, 2]), ([8, 128, 768], [2, 1, 0]), ([4, 6, 8, 10, 60], [4, 2, 0, 3, 1]))),
    Case("Transpose", "u8 [1, 480, 640, 3] by [0, 3, 1, 2]", [integers(1, 480, 640, 3, dtype="uint8")],
         {"perm": [0, 3, 1, 2]}),
    Case("Transpose", "i64 [8, 128, 64] by [0, 2, 1]", [integers(8, 128, 64)], {"perm": [0, 2, 1]}),
    Case("Transpose", "i64 [64, 96, 50] by [0, 2, 1]", [integers(64, 96, 50)], {"perm": [0, 2, 1]}),
    Case("Concat", "f32 axis 1", [floats(*IMAGE), floats(*IMAGE)], {"axis": 1}),
    Case("Concat", "f32 axis -1", [floats(8, 128, 64), floats(8, 128, 64)], {"axis": -1}),
    Case("Split", "f32 axis -1", [floats(*TOKENS)], {"axis": -1, "num_outputs": 3}, outputs=(True, True, True)),
    Case("Slice", "f32 last axis", [floats(*TOKENS), exactly([0]), exactly([384]), exactly([-1])]),
    Case("Slice", "f32 steps of 2", [floats(*IMAGE), exactly([0, 0]), exactly([56, 56]), exactly([2, 3]),
                                     exactly([2, 2])]),
    Case("Expand", "f32 rows", [floats(8, 128, 1), exactly([8, 128, 768])]),
    Case("Expand", "u8 rows", [integers(64, 1, dtype="uint8"), exactly([64, 3000])]),
    Case("Expand", "f32 heads", [floats(1, 8, 1, 128, 64), exactly([1, 8, 4, 128, 64])]),
    Case("Tile", "f32 [1, 1, 4]", [floats(8, 128, 192), exactly([1, 1, 4])]),
    Case("Tile", "i64 [4, 1]", [integers(8, 2048), exactly([4, 1])]),
    Case("Pad", "f32 zeros of images", [floats(*IMAGE), exactly([0, 0, 1, 1, 0, 0, 1, 1])]),
    Case("Pad", "f32 channels", [floats(1, 16, 64, 96), exactly([0, 0, 0, 0, 0, 16, 0, 0])]),
    Case("Pad", "f32 reflected", [floats(*IMAGE), exactly([0, 0, 3, 3, 0, 0, 3, 3])], {"mode": "reflect"}),
    Case("DepthToSpace", "f32 DCR", [floats(1, 256, 56, 56)], {"blocksize": 2, "mode": "DCR"}),
    Case("DepthToSpace", "f32 CRD", [floats(1, 256, 56, 56)], {"blocksize": 2, "mode": "CRD"}),
    Case("SpaceToDepth", "f32", [floats(1, 64, 112, 112)], {"blocksize": 2}),
    Case("Trilu", "f32 upper", [floats(12, 256, 256), exactly(1)], {"upper": 1}),
    Case("Trilu", "f32 lower", [floats(12, 256, 256)], {"upper": 0}),
    Case("EyeLike", "f32", [floats(512, 512)], {"dtype": 1}),
    Case("ConstantOfShape", "f32", [integers(3, low=64, high=128)]),
    Case("Range", "i64", [integers(low=0, high=1), integers(low=20000, high=20001),
                          integers(low=1, high=2)]),
    Case("OneHot", "f32 1000 classes", [integers(512, high=1000), exactly(1000), exactly([0, 1], "float32")]),
    Case("ReverseSequence", "f32", [floats(128, 8, 256), integers(8, low=1, high=128)],
         {"time_axis": 0, "batch_axis": 1}),
    Case("NonZero", "f32", [integers(256, 256, high=2)]),
    Case("Compress", "f32 rows", [floats(1024, 64), exactly([i % 3 == 0 for i in range(1024)], "bool")], {"axis": 0}),
]
