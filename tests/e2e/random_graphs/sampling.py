"""Reading images between their pixels: resizes, grids, regions, moved taps."""

from __future__ import annotations

import numpy as np

from random_graphs.case import Case, Value
from random_graphs.images import image, weight
from random_graphs.values import F32, I64

MODES = ["nearest", "linear", "cubic"]
PLACES = ["half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel", "half_pixel_symmetric"]


def resize(case: Case) -> Value:
    case.require(case.since(11))
    x = image(case, "Resize", (4, 4), (F32,))
    mode, place = case.pick(MODES), case.pick(PLACES if case.since(19) else PLACES[:4])
    if place not in PLACES[:2]:  # the reference evaluator, which takes its time, has the say
        case.require(x.data.size < 300)
    attributes = {"mode": mode, "coordinate_transformation_mode": place}
    if mode == "nearest":
        attributes["nearest_mode"] = case.pick(
            ["round_prefer_floor", "round_prefer_ceil", "floor", "ceil"])
    if mode == "cubic":
        attributes["cubic_coeff_a"] = case.pick([None, -0.5])
        attributes["exclude_outside"] = case.pick([None, 1])
    if case.since(18) and case.chance(0.15):
        attributes["antialias"] = 1
        case.require(mode != "nearest")
    roi = None if case.since(13) else case.given(np.zeros(0, F32), 1.0)
    if case.chance(0.5):
        scales = [1.0, 1.0, *(case.pick([0.5, 0.75, 1.0, 1.5, 2.0, 3.0]) for _ in range(2))]
        return case.op("Resize", x, roi, case.given(np.array(scales, F32), 0.9), **attributes)
    sizes = case.ints([*x.shape[:2], *(case.between(1, 12) for _ in range(2))])
    none = None if case.since(13) else case.given(np.zeros(0, F32), 1.0)
    return case.op("Resize", x, roi, none, sizes, **attributes)


def upsample(case: Case) -> Value:
    """Resize under its first names."""
    x = image(case, "Upsample", (4, 4), (F32,))
    scales = [1.0, 1.0, case.pick([1.0, 2.0, 3.0]), case.pick([1.0, 2.0])]
    mode = case.pick(["nearest", "linear"])
    if not case.since(9):
        return case.op("Upsample", x, scales=scales, mode=mode)
    given = case.given(np.array(scales, F32), 1.0)
    return case.op("Upsample" if not case.since(10) else "Resize", x, given, mode=mode)


def grid_sample(case: Case) -> Value:
    x = image(case, "GridSample", (4, 4), (F32,))
    grid = case.rng.uniform(-1.2, 1.2, (x.shape[0], case.between(1, 6), case.between(1, 6), 2))
    names = ["linear", "nearest", "cubic"] if case.since(20) else ["bilinear", "nearest", "bicubic"]
    return case.op("GridSample", x, case.given(grid.astype(x.dtype), 0.2), mode=case.pick(names),
                   padding_mode=case.pick([None, "zeros", "border", "reflection"]),
                   align_corners=case.pick([None, 0, 1]))


def affine_grid(case: Case) -> Value:
    batch, volume = case.between(1, 2), case.chance(0.3)
    rank = 3 if volume else 2
    theta = case.given(case.rng.uniform(-1, 1, (batch, rank, rank + 1)).astype(F32), 0.2)
    size = case.ints([batch, 2, *(case.between(2, 5) for _ in range(rank))])
    return case.op("AffineGrid", theta, size, align_corners=case.pick([None, 0, 1]))


def regions(case: Case, x: Value, count: int) -> np.ndarray:
    first = case.rng.uniform(0, 3, (count, 2))
    return np.concatenate([first, first + case.rng.uniform(1, 5, (count, 2))], -1).astype(x.dtype)


def roi_align(case: Case) -> Value:
    x = image(case, "RoiAlign", (4, 4), (F32,))
    count = case.between(1, 4)
    batches = case.given(case.rng.integers(0, x.shape[0], count).astype(I64), 0.3)
    place = case.pick([None, "half_pixel", "output_half_pixel"]) if case.since(16) else None
    return case.op("RoiAlign", x, case.given(regions(case, x, count), 0.3), batches,
                   mode=case.pick([None, "avg", "max"]), output_height=case.between(1, 3),
                   output_width=case.between(1, 3), sampling_ratio=case.between(0, 2),
                   spatial_scale=case.pick([1.0, 0.5]), coordinate_transformation_mode=place)


def max_roi_pool(case: Case) -> Value:
    x = image(case, "MaxRoiPool", (4, 4), (F32,))
    count = case.between(1, 4)
    batches = case.rng.integers(0, x.shape[0], (count, 1)).astype(x.dtype)
    rois = np.concatenate([batches, np.round(regions(case, x, count))], -1).astype(x.dtype)
    return case.op("MaxRoiPool", x, case.given(rois, 0.3), spatial_scale=case.pick([1.0, 0.5]),
                   pooled_shape=[case.between(1, 3), case.between(1, 3)])


def deform_conv(case: Case) -> Value:
    x = image(case, "DeformConv", (4, 4), (F32,))
    case.require(min(x.shape[2:]) >= 3)
    out = [size - 1 for size in x.shape[2:]]
    filters = weight(case, x, (case.between(1, 5), x.shape[1], 2, 2))
    offsets = case.rng.uniform(-1.5, 1.5, (x.shape[0], 8, *out)).astype(x.dtype)
    mask = case.rng.random((x.shape[0], 4, *out)).astype(x.dtype)
    more = [None, case.given(mask, 0.3)] if case.chance(0.5) else []
    return case.op("DeformConv", x, filters, case.given(offsets, 0.3), *more, kernel_shape=[2, 2])


RECIPES = [resize, resize, resize, upsample, grid_sample, affine_grid, roi_align, max_roi_pool,
           deform_conv]
