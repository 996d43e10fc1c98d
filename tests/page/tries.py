#!/usr/bin/env python3
"""The page's form with pictures whose boxes are found, and with sounds.

    tests/page/tries.py BUILD_FOLDER

Ends with 77 where there is no Chromium (`apt-get install chromium`)."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "daemon"))
from browser import Browser, find_browser  # noqa: E402
from harness import Daemon, Sluice, prove, same  # noqa: E402
from page import CHOOSE_PICTURE, check_in_all_sizes, choose, record  # noqa: E402

# Two seconds of a tone in two channels, one of which is silent, as a file in the field.
CHOOSE_SOUND = """(() => {
  const rate = 8000, count = 2 * rate;
  const view = new DataView(new ArrayBuffer(44 + 4 * count));
  const text = (at, letters) => [...letters].forEach((letter, i) => view.setUint8(at + i, letter.charCodeAt(0)));
  text(0, 'RIFF'); view.setUint32(4, 36 + 4 * count, true); text(8, 'WAVEfmt '); view.setUint32(16, 16, true);
  view.setUint16(20, 1, true); view.setUint16(22, 2, true); view.setUint32(24, rate, true);
  view.setUint32(28, 4 * rate, true); view.setUint16(32, 4, true); view.setUint16(34, 16, true);
  text(36, 'data'); view.setUint32(40, 4 * count, true);
  for (let i = 0; i < count; i += 1) view.setInt16(44 + 4 * i, 16384 * Math.sin(i / 10), true);
  const transfer = new DataTransfer();
  transfer.items.add(new File([view.buffer], 'tone.wav', {type: 'audio/wav'}));
  document.querySelector('form.try input[type=file]').files = transfer.files;
})()"""


def save_model(path: Path, nodes: list, inputs: list, outputs: list, constants: dict[str, np.ndarray]) -> None:
    values = [numpy_helper.from_array(value, name) for name, value in constants.items()]
    graph = helper.make_graph(nodes, "g", inputs, outputs, values)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9), path)
    Sluice().text("compile", str(path), "-o", str(path.parent / f"models/{path.stem}.sluice"))


def make_detector(path: Path) -> None:
    """Finds the same two boxes in every picture."""
    tensor, nodes = helper.make_tensor_value_info, []
    nodes.append(helper.make_node("ReduceMean", ["image"], ["mean"], keepdims=0))
    nodes.append(helper.make_node("Mul", ["mean", "zero"], ["nothing"]))
    nodes += [helper.make_node("Add", [f"some_{name}", "nothing"], [name]) for name in ("boxes", "scores")]
    nodes.append(helper.make_node("Identity", ["some_classes"], ["classes"]))
    save_model(path, nodes, [tensor("image", TensorProto.FLOAT, [1, 3, 32, 64])], [
        tensor("boxes", TensorProto.FLOAT, [2, 4]), tensor("scores", TensorProto.FLOAT, [2]),
        tensor("classes", TensorProto.INT64, [2])], {
        "zero": np.float32(0), "some_boxes": np.float32([[0.1, 0.1, 0.5, 0.9], [0.6, 0.2, 0.9, 0.8]]),
        "some_scores": np.float32([0.91, 0.3]), "some_classes": np.int64([1, 0])})


def make_listener(path: Path) -> None:
    """Counts samples, and finds the loudest."""
    tensor = helper.make_tensor_value_info
    nodes = [helper.make_node("Size", ["sound"], ["count"]),
             helper.make_node("ReduceMax", ["sound"], ["loudest"], keepdims=0)]
    save_model(path, nodes, [tensor("sound", TensorProto.FLOAT, [1, "N"])], [
        tensor("count", TensorProto.INT64, []), tensor("loudest", TensorProto.FLOAT, [])], {})


@contextmanager
def trying(folder: Path, name: str) -> Iterator[Browser]:
    """A browser that shows one of the models."""
    (folder / "models").mkdir()
    make_detector(folder / "detector.onnx")
    make_listener(folder / "listener.onnx")
    flags = ("--http", "localhost:0", "--repository", str(folder / "models"))
    with Daemon(folder / "d", *flags, is_simulated=False) as daemon, Browser() as browser:
        browser.open(f"http://{daemon.door('http')}/")
        link = f"[...document.querySelectorAll('tbody th a')].find((one) => one.textContent === {name!r})"
        browser.wait_for(f"{link} !== undefined")
        browser.run(f"{link}.click()")
        browser.wait_for("document.querySelector('form.try button') !== null")
        yield browser
        same(browser.problems, [])


def run(browser: Browser) -> None:
    browser.run("document.querySelector('form.try button').click()")
    browser.wait_for("document.querySelector('.answer') !== null")


def found(browser: Browser) -> list[str]:
    return browser.run("[...document.querySelectorAll('.answer .texts')[0].children].map((one) => one.textContent)")


def boxes_are_drawn_over_the_picture(folder: Path) -> None:
    with trying(folder, "detector") as browser:
        drops = "document.querySelector('.drop').dispatchEvent(new DragEvent('drop', {dataTransfer: transfer, bubbles: true}));"
        browser.run(CHOOSE_PICTURE.replace("HOW", drops))
        browser.wait_for("document.querySelector('.preview').getAttribute('aria-label').includes('zero.png')")
        run(browser)
        same(found(browser), ["class 1 91 %"])
        edge = browser.run("""(() => {
          const canvas = document.querySelector('canvas.found');
          const {data} = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
          const pixel = (x, y) => [...data.slice(4 * (Math.floor(y * canvas.height) * canvas.width + Math.floor(x * canvas.width)))].slice(0, 4);
          return [pixel(0.1, 0.6), pixel(0.95, 0.95)];
        })()""")
        assert edge[0] != edge[1] and max(edge[0][:3]) > 60, f"no line where the box begins: {edge}"
        browser.run("""(() => {
          const least = document.querySelector('.answer input[type=range]');
          least.value = 0;
          least.dispatchEvent(new Event('input'));
        })()""")
        same(found(browser), ["class 1 91 %", "class 0 30 %"])
        check_in_all_sizes(browser)


def sound_is_mixed_resampled_and_answered(folder: Path) -> None:
    with trying(folder, "listener") as browser:
        choose(browser, "Sound")
        browser.run("document.querySelector('form.try button').click()")
        browser.wait_for("document.querySelector('form.try [role=status]').textContent.includes('choose a file first')")
        browser.run(CHOOSE_SOUND)
        run(browser)
        count, loudest = browser.run("[...document.querySelectorAll('.answer .values')].map((one) => "
                                     "Number(one.textContent.replace(/[^0-9.]/g, '')))")
        assert abs(count - 32000) < 100, f"{count} samples of 16,000 a second"
        assert abs(loudest - 0.25) < 0.02, f"{loudest} is not half of the tone's, whose other channel is silent"
        check_in_all_sizes(browser)


def timeline_and_graph_have_operations(folder: Path) -> None:
    with trying(folder, "listener") as browser:
        choose(browser, "Sound")
        browser.run(CHOOSE_SOUND)
        # Its tries are the requests.
        browser.run("""window.tries = setInterval(() => {
          const button = document.querySelector('form.try button');
          if (!button.disabled) button.click();
        }, 20)""")
        record(browser, ".recorder button", "document.querySelector('.timeline .operation') !== null")
        browser.run("clearInterval(window.tries)")
        titles = browser.run("[...document.querySelectorAll('.timeline .operation title')].map((one) => one.textContent)")
        assert any("ReduceMax" in title for title in titles), titles[:5]
        assert browser.run("document.querySelector('.graph .time') !== null"), "the drawing of the graph has the times, too"


if __name__ == "__main__":
    if find_browser() is None:
        print("skipped: there is no Chromium; apt-get install chromium")
        sys.exit(77)
    sys.exit(prove([boxes_are_drawn_over_the_picture, sound_is_mixed_resampled_and_answered,
                    timeline_and_graph_have_operations]))
