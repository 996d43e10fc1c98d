"""Profiles of models and runtimes."""

from __future__ import annotations

import pathlib
import xml.etree.ElementTree
from typing import Any

import pytest
import sluice


def test_model_profile_names_its_operations(digits: sluice.Model, image: Any, tmp_path: pathlib.Path) -> None:
    profile = digits.profile(image, runs=5)
    operations = profile.operations()
    assert any("conv1" in row.name and row.runs == 5 for row in operations)
    assert abs(sum(row.share for row in operations) - 1) < 1e-9
    assert operations == sorted(operations, key=lambda row: -row.total_ns)
    assert not any(row.is_generic for row in operations)
    assert "of 5 requests" in repr(profile) and "conv1" in repr(profile)
    picture = profile.plot(tmp_path / "profile.svg", top=2)
    assert (tmp_path / "profile.svg").read_text() == picture == profile.plot(top=2)
    texts = [node.text or "" for node in xml.etree.ElementTree.fromstring(picture).iter()]
    assert any("more" in text for text in texts)
    assert profile._repr_svg_() == profile.plot()


def test_runtime_profile_has_spans_of_its_block(runtime: sluice.Runtime, digits: sluice.Model, image: Any) -> None:
    first, second = runtime.load(digits, name="first"), runtime.load(digits, name="second")
    first(image)
    with runtime.profile() as both:
        first(image)
        second(image)
    with runtime.profile(second) as one:
        first(image)
        second(image)
    assert {span.model for span in both.spans} == {"first", "second"}
    assert {span.model for span in one.spans} == {"second"}
    requests = [span for span in one.spans if span.kind == "request"]
    assert len(requests) == 1 and requests[0].runtime_code == "ok" and requests[0].duration_ns > 0
    assert one.num_dropped == 0 and one.duration_ns >= requests[0].duration_ns


def test_profile_has_no_spans_before_its_end(local: sluice.Runtime) -> None:
    profile = local.profile()
    for call in (lambda: profile.spans, profile.stop, profile.operations):
        with pytest.raises(sluice.FailedPrecondition):
            call()
    with profile:
        assert "recording" in repr(profile) and profile._repr_svg_() is None
        with pytest.raises(sluice.FailedPrecondition, match="already"):
            profile.start()
