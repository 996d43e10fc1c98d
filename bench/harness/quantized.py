"""What the peers run where Sluice multiplies in 8 bits."""

from __future__ import annotations

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


def static_model(model: Path, samples: list[dict], form: str = "static") -> Path:
    """The result of onnxruntime's static quantisation of `model`, cached beside it: QuantizeLinear and
    DequantizeLinear around every operator, or for the form "qoperator" quantized operators; u8 activations
    with the range of `samples`, i8 weights with a scale per channel. Batch normalisation is folded first, as
    its documentation recommends."""
    quantized = model.with_suffix(f".{form}.onnx")
    if not quantized.exists():
        import onnxruntime
        from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_static

        class Samples(CalibrationDataReader):
            def __init__(self) -> None:
                self._left = iter(samples)

            def get_next(self) -> dict | None:
                return next(self._left, None)

        plain = model.with_suffix(".plain.onnx")
        options = onnxruntime.SessionOptions()
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC
        options.optimized_model_filepath = str(plain)
        onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
        quantize_static(plain, quantized, Samples(), per_channel=True,
                        quant_format=QuantFormat.QOperator if form == "qoperator" else QuantFormat.QDQ,
                        activation_type=QuantType.QUInt8, weight_type=QuantType.QInt8)
        plain.unlink()
    return quantized
