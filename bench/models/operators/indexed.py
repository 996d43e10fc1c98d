"""Operators that read and write by index."""

from operators.case import MICROSOFT, Case, floats, integers, weights

CASES = [
    Case("Gather", "f32 embeddings", [weights(30000, 256), integers(8, 128, high=30000)], {"axis": 0}),
    Case("Gather", "f32 axis 1", [floats(8, 512, 64), integers(128, high=512)], {"axis": 1}),
    Case("Gather", "f32 axis -1", [floats(8, 128, 768), integers(128, high=768)], {"axis": -1}),
    *(Case("GatherElements", f"f32 axis {axis}", [floats(12, 256, 256), integers(12, 256, 256, high=12)],
           {"axis": axis}) for axis in (0, 1, 2)),
    Case("GatherElements", "f32 relative positions", [floats(12, 256, 512), integers(12, 256, 256, high=512)],
         {"axis": 2}),
    Case("GatherND", "f32 rows", [floats(8, 512, 64), integers(8, 128, 2, high=8)]),
    Case("GatherND", "f32 points", [floats(64, 64, 64), integers(50000, 3, high=64)]),
    *(Case("ScatterElements", f"f32 {reduction} axis 1", [floats(12, 256, 256), integers(12, 256, 256, high=256),
                                                          floats(12, 256, 256)],
           {"axis": 1, "reduction": reduction}) for reduction in ("none", "add", "max", "mul")),
    Case("ScatterElements", "f32 none axis 2", [floats(12, 256, 256), integers(12, 256, 64, high=256),
                                                floats(12, 256, 64)], {"axis": 2}),
    Case("ScatterND", "f32 rows", [floats(1024, 256), integers(512, 1, high=1024), floats(512, 256)]),
    Case("ScatterND", "f32 rows added", [floats(1024, 256), integers(512, 1, high=1024), floats(512, 256)],
         {"reduction": "add"}),
    Case("ScatterND", "f32 points", [floats(64, 64, 64), integers(20000, 3, high=64), floats(20000)]),
    Case("GatherBlockQuantized", "u4 embeddings", [integers(4096, 128, dtype="uint8", high=255).const(),
                                                   integers(8, 128, high=4096), weights(4096, 8)],
         {"bits": 4, "block_size": 32, "gather_axis": 0, "quantize_axis": 1}, MICROSOFT),
]
