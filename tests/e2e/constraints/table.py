"""Values that the standard forbids, by attribute; and the attributes without forbidden values.

Ranges stand in the text of the standard only, not in its schemas: hence this table. A key is
"Operator.attribute", or the attribute's name for all operators. Every attribute of the default
domain is in one of the two tables; tests/e2e/attribute_constraints.py sees to that.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

OUTSIDE = (-1000, 1000)
NO_SIZE = (0, -3)
NO_TYPE = (0, 12345)
NO_MODE = ("bogus",)
NO_FLAG = (-1, 2)


def rows(*values: int) -> Callable[[int, int], list[Any]]:
    """Lists of one number per spatial dimension."""
    return lambda rank, spatial: [[value] * spatial for value in values] + [[1] * (spatial + 3)]


def borders(rank: int, spatial: int) -> list[Any]:
    return [[-1] * (2 * spatial), [1] * (2 * spatial + 1)]


def positions(rank: int, spatial: int) -> list[Any]:
    """Axes outside, and one axis twice."""
    return [[99], [-99], [0, 0]]


FORBIDDEN: dict[str, Any] = {
    # Axes.
    "axis": OUTSIDE,
    "batch_axis": OUTSIDE,
    "time_axis": OUTSIDE,
    "axes": positions,
    "perm": lambda rank, spatial: [[0] * rank, [*range(1, rank + 1)], [*range(rank + 1)]],
    "batch_dims": OUTSIDE,
    "scan_input_axes": lambda rank, spatial: [[99], [-99]],
    "scan_output_axes": lambda rank, spatial: [[99], [-99]],
    "scan_input_directions": lambda rank, spatial: [[2], [-1]],
    "scan_output_directions": lambda rank, spatial: [[2], [-1]],
    "num_scan_inputs": (0, -1, 99),
    # Windows over images.
    "kernel_shape": rows(0, -3),
    "strides": rows(0, -1),
    "dilations": rows(0, -1),
    "pads": borders,
    "output_padding": rows(-1),
    "output_shape": rows(-1),
    "pooled_shape": lambda rank, spatial: [[0, 2], [-1, 2], [2]],
    "auto_pad": NO_MODE,
    "group": (0, -1, 1000),
    "offset_group": (0, -1),
    "p": (),
    "LpNormalization.p": (0, 3),
    "LpPool.p": NO_SIZE,
    "GlobalLpPool.p": NO_SIZE,
    "LRN.size": NO_SIZE,
    "blocksize": (0, -2),
    "output_height": NO_SIZE,
    "output_width": NO_SIZE,
    "sampling_ratio": (-1,),
    # Sizes and counts.
    "hidden_size": (0, -3, 1000),
    "num_groups": (0, -1, 1000),
    "q_num_heads": (-1,),
    "kv_num_heads": (-1,),
    "RotaryEmbedding.num_heads": (-1,),
    "rotary_embedding_dim": (-2,),
    "block_size": (-1,),
    "num_outputs": (0, -1, 1000),
    "sample_size": (0, -1),
    "shape": lambda rank, spatial: [[-1, 2]],
    "min_gram_length": NO_SIZE,
    "max_gram_length": NO_SIZE,
    "max_skip_count": (-1,),
    "ngram_counts": lambda rank, spatial: [[-1], [99]],
    "ngram_indexes": lambda rank, spatial: [[-1] * 7],
    # Element types.
    "to": NO_TYPE,
    "dtype": NO_TYPE,
    "output_dtype": (12345,),
    "output_datatype": NO_TYPE,
    "stash_type": (12345,),
    "precision": (12345,),
    "softmax_precision": (12345,),
    "qk_matmul_output_mode": (-1, 9),
    "left_window_size": (-2,),
    "right_window_size": (-2,),
    # Words.
    **dict.fromkeys(["mode", "direction", "reduction", "padding_mode", "approximate", "activation",
                     "update_rule", "round_mode", "nearest_mode", "keep_aspect_ratio_policy",
                     "coordinate_transformation_mode", "case_change_action", "pixel_format"],
                    NO_MODE),
    "equation": ("i,,j->", "ij->k", "i..j", "->->"),
    "pattern": ("(", "[a"),
    "activations": lambda rank, spatial: [["bogus"] * 8],
    # Numbers with a range.
    "center_point_box": NO_FLAG,
    "layout": NO_FLAG,
}

# Attributes without forbidden values, and the reason.
ANY_FLAG = "a flag: what is not 0 is true"
ANY_NUMBER = "a number of the formula"
DATA = "data"
ANY: dict[str, str] = {
    "QuantizeLinear.axis": "not looked at for one scale, as in the case",
    "DequantizeLinear.axis": "not looked at for one scale, as in the case",
    **dict.fromkeys([
        "reverse", "exclusive", "interleaved", "align_corners", "periodic", "saturate", "inverse",
        "onesided", "is_causal", "detect_negative", "detect_positive", "new_axis",
        "linear_before_reset", "fmod", "select_last_index", "keepdims", "noop_with_empty_axes",
        "storage_order", "ceil_mode", "sorted", "count_include_pad", "input_forget",
        "training_mode", "transA", "transB", "allowzero", "largest", "upper", "is_case_sensitive",
        "antialias", "exclude_outside"], ANY_FLAG),
    **dict.fromkeys([
        "alpha", "beta", "gamma", "bias", "lambd", "epsilon", "momentum", "scale", "softcap",
        "spatial_scale", "extrapolation_value", "cubic_coeff_a", "mean", "low", "high", "clip",
        "activation_alpha", "activation_beta", "seed", "weights"], ANY_NUMBER),
    **dict.fromkeys(["value_int", "value_ints", "value_float", "value_floats", "value_string",
                     "value_strings", "value", "sparse_value", "pool_int64s", "pool_strings",
                     "stopwords", "delimiter"], DATA),
    "ignore_index": "a class that need not exist",
    "k": "a diagonal that may lie outside",
    "start": "clamped to the rank",
    "end": "clamped to the rank",
    "maxsplit": "a limit; none below zero",
    "chunk_size": "a hint",
    "locale": "names that systems differ in; the standard leaves them open",
    "body": "a graph: its own tests",
    "then_branch": "a graph: its own tests",
    "else_branch": "a graph: its own tests",
    "type": "a type: its own tests",
}


def forbidden(operator: str, attribute: str) -> Any:
    """None if the tables do not know the attribute; () if it may be anything."""
    key = f"{operator}.{attribute}"
    if key in FORBIDDEN:
        return FORBIDDEN[key]
    if key in ANY or attribute in ANY:
        return ()
    return FORBIDDEN.get(attribute)
