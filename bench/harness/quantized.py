"""What the peers run where Sluice multiplies in 8 bits."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def onnxruntime_model(model: Path) -> Path:
    """`model` as onnxruntime's own dynamic quantisation makes it: products with constant matrices in
    8 bits, a scale per column. Written once, beside it."""
    quantized = model.with_suffix(".int8.onnx")
    if not quantized.exists():
        from onnxruntime.quantization import QuantType, quantize_dynamic

        quantize_dynamic(model, quantized, op_types_to_quantize=["MatMul", "Gemm"],
                         per_channel=True, weight_type=QuantType.QInt8)
    return quantized


@contextmanager
def folded_model(model: Path) -> Iterator[Path]:
    """`model` with batch normalisation folded into convolutions, as onnxruntime's documentation recommends before
    quantisation: a file that goes with the context."""
    import onnxruntime

    plain = model.with_suffix(".plain.onnx")
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC
    options.optimized_model_filepath = str(plain)
    onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    try:
        yield plain
    finally:
        plain.unlink()


def dynamic_model(model: Path) -> Path:
    """`model` after onnxruntime's dynamic quantisation of every operator that it knows, convolutions too:
    DynamicQuantizeLinear, ConvInteger, a Cast and a scale. Written once, beside it. Weights are u8, on which
    onnxruntime's ConvInteger is several times as fast as on i8."""
    quantized = model.with_suffix(".dynamic.onnx")
    if not quantized.exists():
        from onnxruntime.quantization import QuantType, quantize_dynamic

        with folded_model(model) as plain:
            quantize_dynamic(plain, quantized, weight_type=QuantType.QUInt8)
    return quantized


def static_model(model: Path, samples: list[dict], form: str = "static") -> Path:
    """The result of onnxruntime's static quantisation of `model`, cached beside it: QuantizeLinear and
    DequantizeLinear around every operator, or for the form "qoperator" quantized operators; u8 activations
    with the range of `samples`, i8 weights with a scale per channel."""
    quantized = model.with_suffix(f".{form}.onnx")
    if not quantized.exists():
        from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_static

        class Samples(CalibrationDataReader):
            def __init__(self) -> None:
                self._left = iter(samples)

            def get_next(self) -> dict | None:
                return next(self._left, None)

        with folded_model(model) as plain:
            quantize_static(plain, quantized, Samples(), per_channel=True,
                            quant_format=QuantFormat.QOperator if form == "qoperator" else QuantFormat.QDQ,
                            activation_type=QuantType.QUInt8, weight_type=QuantType.QInt8)
    return quantized
