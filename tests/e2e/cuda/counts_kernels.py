#!/usr/bin/env python3
"""What generated kernels do at most: traffic, scattered accesses, bank conflicts, and products without matrix units, as
the emulator counts them; that the page of counts has those of the operator cases, and a reason for what is beyond the
limits; and spills of hot kernels, as ptxas reports them.

Skipped where no CUDA toolkit is installed to compile the kernels.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import cuda_compiler  # noqa: E402
from report import ROOT  # noqa: E402

sys.path.insert(0, str(ROOT / "bench/cuda"))
import operator_cases  # noqa: E402
from kernel_counts import MEASURES, Work, count, count_network, row, rows_of_page  # noqa: E402
from kernel_resources import PTXAS, assemble_all  # noqa: E402
from network_kernels import emit, kernels_of, write_models  # noqa: E402

from harness.sluice_cli import Arrays  # noqa: E402
from models_agree import write_cnn, write_transformer  # noqa: E402

ELEMENTS = {TensorProto.FLOAT: np.float32, TensorProto.FLOAT16: np.float16}


def write(path: Path, element: int, nodes: list[onnx.NodeProto], shapes: dict[str, list[int]], result: list[int],
          constants: dict[str, list[int]] | None = None) -> Arrays:
    """A model of one element type with the output y; returns its inputs."""
    generator = np.random.default_rng(0)

    def numbers(dims: list[int]) -> np.ndarray:
        return (generator.standard_normal(dims) / 8).astype(ELEMENTS[element])

    weights = [helper.make_tensor(name, element, dims, numbers(dims).ravel()) for name, dims in (constants or {}).items()]
    graph = helper.make_graph(nodes, path.stem, [helper.make_tensor_value_info(name, element, dims)
                                                 for name, dims in shapes.items()],
                              [helper.make_tensor_value_info("y", element, result)], weights)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9), path)
    return {name: numbers(dims) for name, dims in shapes.items()}


def works(folder: Path, name: str, *model: object) -> list[Work]:
    path = folder / f"{name}.onnx"
    return count(path, write(path, *model), ["y"], folder / name)


def above(works: list[Work], **limits: float) -> str:
    """The kernels and properties that are above their limits; "" if none is."""
    return "; ".join(f"{work.kernel}: {name} {value:.3f}, at most {limit}" for work in works
                     for name, limit in limits.items() if (value := getattr(work, name) or 0) > limit)


def elementwise_kernels_move_each_byte_once(folder: Path) -> str:
    dims = [4, 33, 1000]
    nodes = [helper.make_node("Mul", ["a", "b"], ["c"]), helper.make_node("Sigmoid", ["c"], ["d"]),
             helper.make_node("Add", ["d", "a"], ["y"])]
    return "".join(above(works(folder, f"chain{element}", element, nodes, {"a": dims, "b": dims}, dims),
                         traffic=1.05, scattered=0) for element in ELEMENTS)


def rows_are_read_and_written_once(folder: Path) -> str:
    dims = [64, 768]
    parts = {"scale": [768], "bias": [768]}
    problem = ""
    for element in ELEMENTS:
        softmax = works(folder, f"softmax{element}", element, [helper.make_node("Softmax", ["x"], ["y"])], {"x": dims}, dims)
        problem += above(softmax, traffic=1.05, scattered=0, conflicts=0)
        normal = works(folder, f"normal{element}", element,
                       [helper.make_node("LayerNormalization", ["x", "scale", "bias"], ["y"])], {"x": dims}, dims, parts)
        # Each row reads scale and bias again, out of caches.
        problem += above(normal, stores=1.05, scattered=0, conflicts=0)
    return problem


def products_of_halves_use_matrix_units(folder: Path) -> str:
    product = works(folder, "product", TensorProto.FLOAT16, [helper.make_node("MatMul", ["a", "w"], ["y"])],
                    {"a": [256, 256]}, [256, 256], {"w": [256, 256]})
    convolution = works(folder, "convolution", TensorProto.FLOAT16,
                        [helper.make_node("Conv", ["x", "w", "b"], ["y"], pads=[1, 1, 1, 1])],
                        {"x": [1, 64, 16, 16]}, [1, 64, 16, 16], {"w": [64, 64, 3, 3], "b": [64]})
    problem = above([*product, *convolution], conflicts=0, stores=1.05)
    return problem + "".join(f"{work.kernel}: {work.matrix_share} of the multiplications by matrix units; "
                             for work in (*product, *convolution) if (work.matrix_share or 0) < 0.95)


def products_of_floats_have_few_bank_conflicts(folder: Path) -> str:
    product = works(folder, "product", TensorProto.FLOAT, [helper.make_node("MatMul", ["a", "w"], ["y"])],
                    {"a": [128, 128]}, [128, 128], {"w": [128, 128]})
    return above(product, conflicts=0, stores=1.05, scattered=0)


def write_expansion(path: Path) -> Arrays:
    """A convolution of MobileNetV2 whose products take one step."""
    nodes = [helper.make_node("Constant", [], ["least"], value_float=0.0),
             helper.make_node("Constant", [], ["most"], value_float=6.0),
             helper.make_node("Conv", ["x", "w", "b"], ["c"]), helper.make_node("Clip", ["c", "least", "most"], ["y"])]
    return write(path, TensorProto.FLOAT, nodes, {"x": [1, 16, 112, 112]}, [1, 96, 112, 112],
                 {"w": [96, 16, 1, 1], "b": [96]})


def measures_of(line: str) -> tuple[str, list[float]]:
    """What a row says of an operator and its result, and its numbers but the instructions, which depend on the compiler."""
    cells = [cell.strip() for cell in line.split("|")[1:-1]]
    numbers = [float(cell) if cell != "-" else -1.0 for cell in cells[4:4 + len(MEASURES)]]
    return f"{cells[1].rsplit('_', 1)[0]} {cells[2]}", numbers


def page_has_the_counts_of_the_operators(folder: Path) -> str:
    problems = []
    for model in write_models([operator_cases.NAME], folder):
        network, found = count_network(model, folder)
        page = sorted(map(measures_of, rows_of_page().get(network, [])))
        here = sorted(measures_of(row(network, work)) for work in found)
        problems += [f"{network}: {name}: {numbers}, not on the page" for name, numbers in here
                     if not any(name == other and np.allclose(numbers, written, rtol=0.05, atol=0.02)
                                for other, written in page)]
        problems += [f"{network}: the page has {len(page)} kernels, not {len(here)}"] * (len(page) != len(here))
    advice = "; python3 bench/cuda/kernel_counts.py --networks operators --write renews the page"
    return "; ".join(problems) + advice if problems else ""


def page_gives_reasons_for_what_is_beyond_the_limits(folder: Path) -> str:
    rows = [line for lines in rows_of_page().values() for line in lines]
    return "; ".join(line for line in rows if "?" in line) if rows else "the page has no counts"


def hot_kernels_do_not_spill(folder: Path) -> str:
    if not PTXAS.exists():
        print(f"spills are not looked for: {PTXAS} is missing")
        return ""
    spilling = set()
    for make in (write_cnn, write_transformer, write_expansion):
        make(folder / f"{make.__name__}.onnx")
        kernels = kernels_of(emit(folder / f"{make.__name__}.onnx", folder / make.__name__, "cuda"), folder / make.__name__)
        spilling |= {f"{used.kernel} on {arch}" for arch in ("sm_75", "sm_90", "sm_120") for used in assemble_all(kernels, arch)
                     if used.is_hot and used.spilled_bytes}
    return f"spilling: {sorted(spilling)}" if spilling else ""


CASES = (elementwise_kernels_move_each_byte_once, rows_are_read_and_written_once, products_of_halves_use_matrix_units,
         products_of_floats_have_few_bank_conflicts, page_has_the_counts_of_the_operators,
         page_gives_reasons_for_what_is_beyond_the_limits, hot_kernels_do_not_spill)


if __name__ == "__main__":
    sys.exit(cuda_compiler.run(*CASES))
