"""Resampling and operators of detection."""

import numpy as np

from operators.case import Case, Operand, exactly, floats, integers, weights


def resize(label: str, shape: tuple[int, ...], factors: list[float], **attributes: object) -> Case:
    return Case("Resize", f"f32 {label}", [floats(*shape), None, exactly(factors, "float32")], attributes)


def boxes(count: int, size: float) -> Operand:
    def make(rng: np.random.Generator) -> np.ndarray:
        corner = rng.uniform(0, size * 0.7, (count, 2))
        return np.concatenate([corner, corner + rng.uniform(size * 0.05, size * 0.3, (count, 2))], 1).astype("float32")
    return Operand(make)


def pooled_places() -> Operand:
    def make(_: np.random.Generator) -> np.ndarray:
        at = np.arange(28)[:, None] * 2 * 56 + np.arange(28) * 2
        return (np.arange(64)[:, None, None] * 56 * 56 + at)[None].astype("int64")
    return Operand(make)


CASES = [
    resize("nearest, doubled", (1, 64, 28, 28), [1, 1, 2, 2], mode="nearest"),
    resize("nearest, asymmetric floor", (1, 64, 28, 28), [1, 1, 2, 2], mode="nearest", nearest_mode="floor",
           coordinate_transformation_mode="asymmetric"),
    resize("linear, doubled", (1, 64, 28, 28), [1, 1, 2, 2], mode="linear"),
    resize("linear, aligned corners", (1, 64, 28, 28), [1, 1, 2, 2], mode="linear",
           coordinate_transformation_mode="align_corners"),
    resize("cubic", (1, 3, 128, 128), [1, 1, 2, 2], mode="cubic"),
    resize("linear, antialias", (1, 3, 448, 448), [1, 1, 0.5, 0.5], mode="linear", antialias=1),
    resize("cubic, antialias", (1, 3, 448, 448), [1, 1, 0.5, 0.5], mode="cubic", antialias=1),
    resize("nearest, 1-d", (1, 256, 500), [1, 1, 2], mode="nearest"),
    resize("linear, 3-d", (1, 16, 8, 28, 28), [1, 1, 2, 2, 2], mode="linear"),
    Case("Resize", "u8 linear", [integers(1, 3, 240, 320, dtype="uint8", high=255), None,
                                 exactly([1, 1, 0.5, 0.5], "float32")], {"mode": "linear"}),
    Case("GridSample", "f32 bilinear", [floats(1, 64, 56, 56), floats(1, 56, 56, 2)], {"mode": "linear"}),
    Case("GridSample", "f32 nearest", [floats(1, 64, 56, 56), floats(1, 56, 56, 2)], {"mode": "nearest"}),
    Case("GridSample", "f32 cubic", [floats(1, 16, 56, 56), floats(1, 56, 56, 2)], {"mode": "cubic"}),
    Case("AffineGrid", "f32", [floats(4, 2, 3), exactly([4, 3, 112, 112])]),
    Case("RoiAlign", "f32 7 x 7", [floats(1, 256, 50, 68), boxes(100, 800), integers(100, high=1)],
         {"output_height": 7, "output_width": 7, "sampling_ratio": 2, "spatial_scale": 0.0625}),
    Case("RoiAlign", "f32 14 x 14, adaptive", [floats(1, 64, 50, 68), boxes(20, 800), integers(20, high=1)],
         {"output_height": 14, "output_width": 14, "sampling_ratio": 0, "spatial_scale": 0.0625}),
    Case("MaxRoiPool", "f32", [floats(1, 64, 50, 50), Operand(lambda rng: np.concatenate(
        [np.zeros((50, 1)), boxes(50, 50).make(rng)], 1).astype("float32"))], {"pooled_shape": [7, 7]}),
    Case("DeformConv", "f32 3 x 3", [floats(1, 64, 28, 28), weights(64, 64, 3, 3), floats(1, 18, 28, 28), weights(64),
                                     floats(1, 9, 28, 28, low=0)], {"kernel_shape": [3, 3], "pads": [1] * 4}),
    Case("Col2Im", "f32", [floats(1, 64 * 9, 784), exactly([28, 28]), exactly([3, 3])], {"pads": [1] * 4}),
    Case("MaxUnpool", "f32", [floats(1, 64, 28, 28), pooled_places()], {"kernel_shape": [2, 2], "strides": [2, 2]}),
    Case("NonMaxSuppression", "f32", [Operand(lambda rng: boxes(2000, 640).make(rng)[None]), floats(1, 1, 2000, low=0),
                                      exactly([100]), exactly([0.5], "float32"), exactly([0.05], "float32")]),
]
