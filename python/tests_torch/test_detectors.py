"""Detectors of torchvision, whose numbers of boxes only a run knows: one list of boxes per class or level, joined."""

from __future__ import annotations

import os
from typing import Any

import pytest
import sluice.torch
import torch
import torchvision
from torch import nn

pytestmark = pytest.mark.skipif(
    not os.environ.get("SLUICE_DETECTORS"), reason="takes minutes of a processor: set SLUICE_DETECTORS=1 to run it")

SMALL = {"min_size": 128, "max_size": 128, "box_detections_per_img": 20}
DETECTORS: dict[str, dict[str, Any]] = {
    "ssdlite320_mobilenet_v3_large": {}, "maskrcnn_resnet50_fpn": SMALL, "keypointrcnn_resnet50_fpn": SMALL}


class OneImage(nn.Module):
    def __init__(self, detector: nn.Module) -> None:
        super().__init__()
        self.detector = detector

    def forward(self, image: torch.Tensor) -> dict[str, torch.Tensor]:
        found: dict[str, torch.Tensor] = self.detector([image])[0]
        return found


def enliven(detector: nn.Module) -> None:
    """As made, all scores are equal, and the order of the boxes is that of their last bits."""
    for module in detector.modules():
        if isinstance(module, (nn.Conv2d, nn.ConvTranspose2d, nn.Linear)):
            nn.init.kaiming_normal_(module.weight, nonlinearity="relu")
            if module.bias is not None:
                nn.init.uniform_(module.bias, -0.1, 0.1)


def num_unmatched(want: dict[str, torch.Tensor], got: dict[str, torch.Tensor]) -> int:
    """Boxes of `want` that `got` does not have.

    Hundreds of boxes have scores that differ by less than their rounding, so their order is not defined, and a box
    at the limit of an overlap or at the last place may be another one.
    """
    unmatched = 0
    for box, score, label in zip(want["boxes"], want["scores"], want["labels"]):
        is_near = torch.isclose(got["boxes"], box, rtol=1e-3, atol=0.02).all(1)
        is_it = is_near & (got["labels"] == label) & torch.isclose(got["scores"], score, rtol=0, atol=1e-4)
        unmatched += not is_it.any()
    return unmatched


@pytest.mark.parametrize("name", DETECTORS)
def test_a_detector_agrees_with_eager(name: str) -> None:
    detector = torchvision.models.get_model(name, weights=None, weights_backbone=None, **DETECTORS[name])
    if name.startswith("ssd"):
        enliven(detector)
    model = OneImage(detector.eval()).eval()
    image = torch.rand(3, 128, 128)
    traced = sluice.torch.trace(model, image, frontend="torchscript")
    for _ in range(2):
        with torch.no_grad():
            want = model(image)
        got = traced(image)
        assert got.keys() == want.keys()
        assert len(want["scores"]) > 0, "random weights find something"
        if name.startswith("ssd"):
            assert len(got["scores"]) == len(want["scores"])
            assert num_unmatched(want, got) <= len(want["scores"]) // 100
            assert num_unmatched(got, want) <= len(want["scores"]) // 100
            image = torch.rand(3, 128, 128)
            continue
        for key, tensor in want.items():
            torch.testing.assert_close(got[key], tensor, rtol=1e-3, atol=1e-3)
        image = torch.rand(3, 128, 128)
