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
