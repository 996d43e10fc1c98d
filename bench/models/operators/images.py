"""Convolutions and windows in one to three dimensions."""

from operators.case import Case, floats, integers, weights


def same(rank: int, pad: int) -> dict[str, object]:
    return {"pads": [pad] * (2 * rank)}


CASES = [
    Case("Conv", "f32 1-d", [floats(1, 80, 1000), weights(256, 80, 3)], same(1, 1)),
    Case("Conv", "f32 1-d dilated", [floats(1, 128, 1000), weights(128, 128, 3)], {**same(1, 4), "dilations": [4]}),
    Case("Conv", "f32 1-d depthwise", [floats(1, 256, 1000), weights(256, 1, 31)], {**same(1, 15), "group": 256}),
    Case("Conv", "f32 2-d 3 x 3", [floats(1, 64, 56, 56), weights(64, 64, 3, 3)], same(2, 1)),
    Case("Conv", "f32 2-d depthwise", [floats(1, 128, 56, 56), weights(128, 1, 3, 3)], {**same(2, 1), "group": 128}),
    Case("Conv", "f32 2-d weights at run time", [floats(1, 64, 28, 28), floats(64, 64, 3, 3)], same(2, 1)),
    Case("Conv", "f32 3-d 3 x 3 x 3", [floats(1, 16, 16, 32, 32), weights(32, 16, 3, 3, 3)], same(3, 1)),
    Case("Conv", "f32 3-d 3 x 1 x 1", [floats(1, 64, 8, 28, 28), weights(64, 64, 3, 1, 1)], {"pads": [1, 0, 0, 1, 0, 0]}),
    Case("Conv", "f32 3-d 1 x 1 x 1", [floats(1, 64, 8, 28, 28), weights(64, 64, 1, 1, 1)]),
    Case("ConvTranspose", "f32 2-d 2 x 2", [floats(1, 64, 28, 28), weights(64, 32, 2, 2)], {"strides": [2, 2]}),
    Case("ConvTranspose", "f32 2-d 4 x 4", [floats(1, 64, 28, 28), weights(64, 32, 4, 4)],
         {"strides": [2, 2], **same(2, 1)}),
    Case("ConvTranspose", "f32 1-d", [floats(1, 128, 200), weights(128, 64, 16)], {"strides": [8], **same(1, 4)}),
    Case("ConvTranspose", "f32 3-d", [floats(1, 32, 8, 16, 16), weights(32, 16, 2, 2, 2)], {"strides": [2, 2, 2]}),
    *(Case(op, f"f32 {rank}-d", [floats(1, 64, *([1024], [56, 56], [16, 28, 28])[rank - 1])],
           {"kernel_shape": [3] * rank, "strides": [2] * rank, **same(rank, 1)})
      for op in ("MaxPool", "AveragePool") for rank in (1, 2, 3)),
    Case("MaxPool", "f32 2-d with places", [floats(1, 64, 56, 56)], {"kernel_shape": [2, 2], "strides": [2, 2]},
         outputs=(True, True)),
    Case("MaxPool", "f32 2-d 5 x 5", [floats(1, 128, 20, 20)], {"kernel_shape": [5, 5], **same(2, 2)}),
    *(Case("MaxPool", f"{name} 2-d", [make], {"kernel_shape": [3, 3], "strides": [2, 2], **same(2, 1)})
      for name, make in (("u8", integers(1, 64, 56, 56, dtype="uint8")), ("i8", integers(1, 64, 56, 56, dtype="int8")),
                         ("f64", floats(1, 64, 56, 56, dtype="float64")))),
    Case("LpPool", "f32 2-d", [floats(1, 64, 56, 56)], {"kernel_shape": [2, 2], "strides": [2, 2]}),
    Case("GlobalAveragePool", "f32", [floats(1, 512, 14, 14)]),
    Case("GlobalMaxPool", "f32", [floats(1, 512, 14, 14)]),
    Case("GlobalAveragePool", "f32 3-d", [floats(1, 256, 8, 14, 14)]),
]
