#!/usr/bin/env python3
"""Memory plans of the light models: the arena is within 5 % of the lower bound, and a context takes
within 5 % of what `sluice explain` predicts before there is one.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from light_models import NAMES, model_path  # noqa: E402
from report import Report, scratch_folder  # noqa: E402

from harness.sluice_cli import compile_model, run_command  # noqa: E402

# Outputs and padding may add this much to a context that needs next to nothing.
SLACK_BYTES = 256


def main() -> int:
    report = Report()
    for name in sys.argv[1:] or NAMES:
        with scratch_folder() as folder:
            package = compile_model(model_path(name), Path(folder) / "model.sluice")
            memory = json.loads(run_command("explain", package, "--json"))["memory"]
            arena, bound = memory["arena_bytes"], memory["lower_bound_bytes"]
            report.add(0 < bound <= arena <= 1.05 * bound,
                       f"{name}: arena {arena} bytes, lower bound {bound}, ratio {arena / max(bound, 1):.4f}")
            used = json.loads(run_command("bench", package, "--open", "--json"))["context_bytes"]
            predicted = memory["context_bytes"]
            report.add(abs(used - predicted) <= 0.05 * used + SLACK_BYTES,
                       f"{name}: {used} bytes used, {predicted} predicted")
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
