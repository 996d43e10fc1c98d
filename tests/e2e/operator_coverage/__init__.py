"""Every operator of ONNX's default domain, in every version and with every type that it takes."""
