"""YOLOv8 nano, 3x640x640: C2f blocks, pyramid pooling, two-way feature pyramid, decoded boxes."""

from __future__ import annotations

import numpy as np
import onnx
from conv_layers import conv_bn, filters, image, silu
from graph_writer import GraphWriter

SIZE, CLASSES, BINS = 640, 80, 16
STRIDES = (8, 16, 32)
CELLS = sum((SIZE // stride) ** 2 for stride in STRIDES)


def conv(g: GraphWriter, name: str, x: str, channels: tuple[int, int], kernel: int = 1,
         stride: int = 1) -> str:
    return silu(g, conv_bn(g, name, x, channels, kernel, stride, gain=1.15))


def halves(g: GraphWriter, name: str, x: str, channels: int) -> list[str]:
    sizes = g.constant([channels // 2] * 2, "int64")
    return g.multi_op("Split", x, sizes, names=[f"{name}.left", f"{name}.right"], axis=1)


def c2f(g: GraphWriter, name: str, x: str, channels: tuple[int, int], count: int,
        shortcut: bool = True) -> str:
    ins, outs = channels
    width = outs // 2
    parts = halves(g, name, conv(g, f"{name}.cv1", x, (ins, outs)), outs)
    for i in range(count):
        y = conv(g, f"{name}.m.{i}.cv1", parts[-1], (width, width), 3)
        y = conv(g, f"{name}.m.{i}.cv2", y, (width, width), 3)
        parts.append(g.op("Add", parts[-1], y) if shortcut else y)
    return conv(g, f"{name}.cv2", g.op("Concat", *parts, axis=1), ((2 + count) * width, outs))


def pyramid_pooling(g: GraphWriter, x: str, channels: int) -> str:
    parts = [conv(g, "sppf.cv1", x, (channels, channels // 2))]
    for _ in range(3):
        parts.append(g.op("MaxPool", parts[-1], kernel_shape=[5, 5], pads=[2, 2, 2, 2],
                          strides=[1, 1]))
    return conv(g, "sppf.cv2", g.op("Concat", *parts, axis=1), (2 * channels, channels))


def upsample(g: GraphWriter, x: str) -> str:
    scales = g.constant([1.0, 1.0, 2.0, 2.0], "float32")
    return g.op("Resize", x, "", scales, mode="nearest", nearest_mode="floor",
                coordinate_transformation_mode="asymmetric")


def backbone(g: GraphWriter, x: str) -> tuple[str, str, str]:
    x = conv(g, "b0", x, (3, 16), 3, 2)
    x = c2f(g, "b2", conv(g, "b1", x, (16, 32), 3, 2), (32, 32), 1)
    fine = c2f(g, "b4", conv(g, "b3", x, (32, 64), 3, 2), (64, 64), 2)
    middle = c2f(g, "b6", conv(g, "b5", fine, (64, 128), 3, 2), (128, 128), 2)
    x = c2f(g, "b8", conv(g, "b7", middle, (128, 256), 3, 2), (256, 256), 1)
    return fine, middle, pyramid_pooling(g, x, 256)


def neck(g: GraphWriter, fine: str, middle: str, coarse: str) -> tuple[str, str, str]:
    def joined(name: str, a: str, b: str, channels: tuple[int, int]) -> str:
        return c2f(g, name, g.op("Concat", a, b, axis=1), channels, 1, shortcut=False)

    up = joined("n12", upsample(g, coarse), middle, (384, 128))
    first = joined("n15", upsample(g, up), fine, (192, 64))
    second = joined("n18", conv(g, "n16", first, (64, 64), 3, 2), up, (192, 128))
    third = joined("n21", conv(g, "n19", second, (128, 128), 3, 2), coarse, (384, 256))
    return first, second, third


def branch(g: GraphWriter, name: str, x: str, ins: int, width: int, outs: int) -> str:
    x = conv(g, f"{name}.0", x, (ins, width), 3)
    x = conv(g, f"{name}.1", x, (width, width), 3)
    weight = filters(g, f"{name}.2.weight", (outs, width, 1, 1))
    return g.op("Conv", x, weight, g.normal(f"{name}.2.bias", (outs,), 0.3), kernel_shape=[1, 1])


def anchors() -> tuple[np.ndarray, np.ndarray]:
    """Middles of the cells, [1, 2, cells] in cells; their strides, [1, cells]."""
    points, strides = [], []
    for stride in STRIDES:
        side = np.arange(SIZE // stride, dtype=np.float32) + np.float32(0.5)
        y, x = np.meshgrid(side, side, indexing="ij")
        points.append(np.stack([x.ravel(), y.ravel()]))
        strides.append(np.full(x.size, stride, np.float32))
    return np.concatenate(points, axis=1)[None], np.concatenate(strides)[None]


def boxes(g: GraphWriter, x: str, batch: int) -> str:
    """Distances to the four sides, each the mean of a softmax over bins, to centre and size."""
    x = g.op("Reshape", x, g.constant([batch, 4, BINS, CELLS], "int64"))
    x = g.op("Softmax", g.op("Transpose", x, perm=[0, 2, 1, 3]), axis=1)
    bins = g.weight("dfl.weight", np.arange(BINS, dtype=np.float32).reshape(1, BINS, 1, 1))
    x = g.op("Conv", x, bins, kernel_shape=[1, 1])
    x = g.op("Reshape", x, g.constant([batch, 4, CELLS], "int64"))
    near, far = g.multi_op("Split", x, g.constant([2, 2], "int64"), names=["near", "far"], axis=1)
    points, strides = anchors()
    points = g.weight("anchors", points)
    low, high = g.op("Sub", points, near), g.op("Add", points, far)
    centre = g.op("Div", g.op("Add", low, high), g.constant(2.0, "float32"))
    sides = g.op("Concat", centre, g.op("Sub", high, low), axis=1)
    return g.op("Mul", sides, g.weight("strides", strides))


def detect(g: GraphWriter, levels: tuple[str, str, str], batch: int) -> None:
    rows = 4 * BINS + CLASSES
    flat = []
    for i, (x, ins, stride) in enumerate(zip(levels, (64, 128, 256), STRIDES)):
        box = branch(g, f"detect.box.{i}", x, ins, 64, 4 * BINS)
        kind = branch(g, f"detect.class.{i}", x, ins, 80, CLASSES)
        shape = g.constant([batch, rows, (SIZE // stride) ** 2], "int64")
        flat.append(g.op("Reshape", g.op("Concat", box, kind, axis=1), shape))
    names = ["detect.boxes", "detect.classes"]
    sizes = g.constant([4 * BINS, CLASSES], "int64")
    box, kind = g.multi_op("Split", g.op("Concat", *flat, axis=2), sizes, names=names, axis=1)
    g.op("Concat", boxes(g, box, batch), g.op("Sigmoid", kind), name="output", axis=1)
    g.output("output", [batch, 4 + CLASSES, CELLS])


def build(batch: int = 1) -> onnx.ModelProto:
    g = GraphWriter("yolov8n", seed=8)
    x = g.input("images", [batch, 3, SIZE, SIZE])
    detect(g, neck(g, *backbone(g, x)), batch)
    return g.model()


def inputs(rng: np.random.Generator, batch: int = 1) -> dict[str, np.ndarray]:
    return {"images": image(rng, batch, SIZE)}
