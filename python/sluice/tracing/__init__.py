"""What sluice.torch does with the ONNX graphs of a trace, without torch."""
