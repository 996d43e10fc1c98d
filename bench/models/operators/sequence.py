"""Recurrent networks, attention and signals."""

from operators.case import MICROSOFT, Case, exactly, floats, integers, weights


def recurrent(op: str, label: str, steps: int, batch: int, inputs: int, hidden: int, directions: int = 1,
              **attributes: object) -> Case:
    gates = {"RNN": 1, "GRU": 3, "LSTM": 4}[op]
    return Case(op, f"f32 {label}",
                [floats(steps, batch, inputs), weights(directions, gates * hidden, inputs),
                 weights(directions, gates * hidden, hidden), weights(directions, 2 * gates * hidden)],
                {"hidden_size": hidden, "direction": "bidirectional" if directions == 2 else "forward", **attributes},
                outputs=(True, True))


CASES = [
    *(recurrent(op, "100 steps, 256", 100, 1, 256, 256) for op in ("RNN", "GRU", "LSTM")),
    recurrent("GRU", "bidirectional, batch 8", 50, 8, 128, 128, 2),
    recurrent("GRU", "linear before reset", 100, 1, 128, 256, linear_before_reset=1),
    recurrent("RNN", "bidirectional, batch 8", 50, 8, 128, 128, 2, activations=["Tanh", "Tanh"]),
    recurrent("LSTM", "bidirectional, batch 8", 50, 8, 128, 128, 2),
    # Weights of 7 bits: on AVX2 without VNNI, onnxruntime's sums of products of full bytes saturate.
    Case("DynamicQuantizeLSTM", "i8", [
        floats(50, 1, 128), integers(1, 128, 512, dtype="int8", low=-64, high=64).const(),
        integers(1, 128, 512, dtype="int8", low=-64, high=64).const(), weights(1, 1024), None, None, None, None,
        exactly([0.0003], "float32"), exactly([0], "int8"), exactly([0.0003], "float32"), exactly([0], "int8")],
         {"hidden_size": 128}, MICROSOFT, outputs=(True, True, True), tolerance=1e-2),  # both round states
    Case("DFT", "f32 real 512", [floats(1, 100, 512, 1), exactly(512), exactly(2)], {"onesided": 1}),
    Case("DFT", "f32 real 400", [floats(1, 100, 400, 1), exactly(400), exactly(2)], {"onesided": 1}),
    Case("DFT", "f32 complex 1024", [floats(8, 1024, 2), exactly(1024), exactly(1)]),
    Case("DFT", "f32 inverse 509", [floats(8, 509, 2), exactly(509), exactly(1)], {"inverse": 1}),
    Case("STFT", "f32 400 of 16000", [floats(1, 16000, 1), exactly(160), weights(400, low=0, high=1), exactly(400)]),
    Case("STFT", "f32 1024 of 44100", [floats(1, 44100, 1), exactly(256), weights(1024, low=0, high=1), exactly(1024)]),
    Case("HannWindow", "512", [integers(low=512, high=513)]),
    Case("MelWeightMatrix", "80 bins", [exactly(80), exactly(400), exactly(16000), floats(low=0, high=1),
                                        exactly(8000, "float32")]),
    Case("RotaryEmbedding", "f32", [floats(1, 12, 128, 64), exactly([list(range(128))]), weights(256, 32),
                                    weights(256, 32)], {}, MICROSOFT),
    Case("MultiHeadAttention", "f32", [floats(1, 128, 768), floats(1, 128, 768), floats(1, 128, 768)],
         {"num_heads": 12}, MICROSOFT),
    Case("GroupQueryAttention", "f32 first tokens", [
        floats(1, 64, 512), floats(1, 64, 128), floats(1, 64, 128), floats(1, 2, 0, 64), floats(1, 2, 0, 64),
        exactly([63], "int32"), exactly(64, "int32")], {"num_heads": 8, "kv_num_heads": 2}, MICROSOFT,
         outputs=(True, True, True)),
    Case("BiasGelu", "f32", [floats(8, 128, 768), weights(768)], {}, MICROSOFT),
    Case("FastGelu", "f32", [floats(8, 128, 768), weights(768)], {}, MICROSOFT),
    Case("QuickGelu", "f32", [floats(8, 128, 768)], {}, MICROSOFT),
]
