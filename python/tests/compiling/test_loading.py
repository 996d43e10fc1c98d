"""sluice.load of ONNX models: compiled into the cache."""

from __future__ import annotations

import os
import pathlib
import pickle
import subprocess
import sys

import numpy as np
import onnx
import pytest
import sluice
from onnx import TensorProto, helper

from conftest import DIGITS


@pytest.fixture()
def cache(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> pathlib.Path:
    monkeypatch.setenv("SLUICE_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"


def doubled(dims: list[str | int]) -> onnx.ModelProto:
    """y = x + x."""
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, dims) for name in "xy")
    graph = helper.make_graph([helper.make_node("Add", ["x", "x"], ["y"])], "doubled", [x], [y])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def packages(cache: pathlib.Path) -> list[str]:
    return sorted(path.name for path in cache.iterdir())


def test_an_onnx_file_is_compiled_once(cache: pathlib.Path, image: np.ndarray, digits: sluice.Model) -> None:
    np.testing.assert_array_equal(sluice.load(DIGITS)(image), digits(image))
    (package,) = cache.iterdir()
    written = package.stat().st_ino
    np.testing.assert_array_equal(sluice.load(str(DIGITS), threads=1, seed=3)(image), digits(image))
    np.testing.assert_array_equal(sluice.load(DIGITS.read_bytes())(image), digits(image))
    sluice.load(DIGITS, weights="bf16")
    assert package.stat().st_ino == written
    assert len(packages(cache)) == 2, "one per options"


def test_a_damaged_package_of_the_cache_is_compiled_again(cache: pathlib.Path, image: np.ndarray,
                                                          digits: sluice.Model) -> None:
    sluice.load(DIGITS)
    (package,) = cache.iterdir()
    package.write_bytes(package.read_bytes()[:1000])
    np.testing.assert_array_equal(sluice.load(DIGITS)(image), digits(image))


def test_a_damaged_package_of_the_cache_is_compiled_again_for_a_runtime(cache: pathlib.Path, image: np.ndarray,
                                                                        digits: sluice.Model) -> None:
    sluice.load(DIGITS)
    (package,) = cache.iterdir()
    for damaged in (package.read_bytes()[:1000], b"", b"no package"):
        package.write_bytes(damaged)
        with sluice.Runtime() as runtime:
            np.testing.assert_array_equal(runtime.load(DIGITS)(image), digits(image))
            package.write_bytes(damaged)
            runtime.estimate(DIGITS)


def test_an_error_that_is_not_the_packages_compiles_nothing_again(cache: pathlib.Path) -> None:
    sluice.load(DIGITS)
    (package,) = cache.iterdir()
    written = package.stat().st_ino
    with pytest.raises(sluice.Error):
        sluice.load(DIGITS, cores=[9999])
    assert package.stat().st_ino == written


@pytest.mark.parametrize("location", ["onnx__MatMul_12", "sub/w.bin", "w.data"])
def test_external_data_that_changes_is_read_again(cache: pathlib.Path, tmp_path: pathlib.Path, location: str) -> None:
    weights = tmp_path / location
    weights.parent.mkdir(exist_ok=True)

    def load(factor: float, folder: pathlib.Path = tmp_path) -> float:
        (folder / location).parent.mkdir(parents=True, exist_ok=True)
        np.array([factor], np.float32).tofile(folder / location)
        os.utime(folder / location, ns=(int(factor), int(factor)) if folder == tmp_path else (7, 7))
        (folder / "x.onnx").write_bytes(scaled(location))
        return float(sluice.load(folder / "x.onnx")(np.ones(1, np.float32))[0])

    assert [load(2), load(3)] == [2, 3]
    # Folders whose files have equal sizes and times.
    assert [load(4, tmp_path / "a"), load(5, tmp_path / "b")] == [4, 5]


def scaled(location: str) -> bytes:
    """y = x * w, with w elsewhere."""
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, [1]) for name in "xy")
    w = TensorProto(name="w", data_type=TensorProto.FLOAT, dims=[1], data_location=TensorProto.EXTERNAL)
    w.external_data.add(key="location", value=location)
    graph = helper.make_graph([helper.make_node("Mul", ["x", "w"], ["y"])], "scaled", [x], [y], [w])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8).SerializeToString()


def test_a_model_proto_needs_no_file(cache: pathlib.Path) -> None:
    model = sluice.load(doubled(["N", 2]))
    np.testing.assert_array_equal(model(np.ones((3, 2), np.float32)), np.full((3, 2), 2, np.float32))
    assert not cache.exists()


def test_the_name_of_the_file_does_not_matter(cache: pathlib.Path, tmp_path: pathlib.Path, image: np.ndarray,
                                              digits: sluice.Model) -> None:
    (tmp_path / "digits.sluice").write_bytes(DIGITS.read_bytes())
    np.testing.assert_array_equal(sluice.load(tmp_path / "digits.sluice")(image), digits(image))
    digits.save(tmp_path / "digits.onnx")
    np.testing.assert_array_equal(sluice.load(tmp_path / "digits.onnx")(image), digits(image))


def test_options_of_the_compiler_are_keywords(cache: pathlib.Path, tmp_path: pathlib.Path) -> None:
    source = tmp_path / "doubled.onnx"
    onnx.save(doubled(["N", "C"]), source)
    assert sluice.load(source, shapes={"N": 4}).inputs["x"].shape == (4, None)
    assert sluice.load(source, shapes={"x": (4, 3)}).inputs["x"].shape == (4, 3)
    assert sluice.compile(source, shapes={"C": 2}, backends="reference", optimize=False, pack=False, winograd=False,
                          strassen=1, executor="linear", min_share=0.5).inputs["x"].shape == (None, 2)
    with pytest.raises(sluice.InvalidArgument, match="not an input, nor the name of a dimension"):
        sluice.load(source, shapes={"M": 4})
    with pytest.raises(TypeError, match="no option 'wieghts'; it has shapes, weights"):
        sluice.load(source, wieghts="bf16")  # type: ignore[call-arg]
    package = tmp_path / "doubled.sluice"
    sluice.compile(source, package)
    with pytest.raises(sluice.InvalidArgument, match="weights: the package is compiled already"):
        sluice.load(package, weights="bf16")


def test_every_option_of_the_command_has_a_keyword() -> None:
    from sluice.compiler import CompileOptions, as_flags
    values = {"shapes": {"x": (1,)}, "adapters": {"a": "b"}, "optimize": False, "winograd": False, "pack": False, "packed_only": True}
    given = CompileOptions(**{name: values.get(name, ["a"]) for name in CompileOptions.__annotations__})  # type: ignore
    flags = {flag for flag in as_flags(given) if flag.startswith("--")}
    with pytest.raises(sluice.InvalidArgument, match="unknown option") as refused:
        sluice.compile(DIGITS, options=["--zzzzzzzzzzzz"])
    known = {flag for flag in str(refused.value).replace(",", " ").split() if flag.startswith("--")}
    assert flags == known - {'--zzzzzzzzzzzz"', "--help"}


def test_inputs_and_outputs_are_found_by_name(digits: sluice.Model) -> None:
    assert digits.inputs["image"] is digits.inputs[0]
    assert digits.outputs["probabilities"] == digits.outputs[-1]
    assert [spec.name for spec in digits.inputs[:1]] == ["image"]
    with pytest.raises(KeyError, match='no tensor is called "x"; there are "image"'):
        digits.inputs["x"]


def test_a_pickled_model_is_loaded_where_it_arrives(cache: pathlib.Path, tmp_path: pathlib.Path, image: np.ndarray,
                                                    digits: sluice.Model) -> None:
    digits.save(tmp_path / "digits.sluice")
    by_path = pickle.dumps(sluice.load(tmp_path / "digits.sluice", threads=1))
    assert len(by_path) < 1000, "a path, no bytes"
    for pickled in (by_path, pickle.dumps(sluice.load((tmp_path / "digits.sluice").read_bytes())),
                    pickle.dumps(sluice.load(DIGITS)), pickle.dumps(digits.reopen(threads=1))):
        if pickled is not by_path:
            assert len(pickled) > 1000, "the cache may remove its files"
        (tmp_path / "model.pickle").write_bytes(pickled)
        np.save(tmp_path / "image.npy", image)
        code = (f"import pickle, numpy; model = pickle.load(open({str(tmp_path / 'model.pickle')!r}, 'rb'));"
                f"numpy.save({str(tmp_path / 'result.npy')!r}, model(numpy.load({str(tmp_path / 'image.npy')!r})))")
        subprocess.run([sys.executable, "-c", code], check=True, env=dict(os.environ))
        np.testing.assert_array_equal(np.load(tmp_path / "result.npy"), digits(image))


def test_a_closed_model_in_memory_has_no_package(digits: sluice.Model, tmp_path: pathlib.Path) -> None:
    model = sluice.load(digits.content())
    model.close()
    for use in (pickle.dumps, lambda closed: closed.content(), lambda closed: closed.save(tmp_path / "copy"),
                lambda closed: closed.reopen(), sluice.Runtime().load, lambda closed: closed.path):
        with pytest.raises(sluice.FailedPrecondition, match="closed"):
            use(model)
    assert not (tmp_path / "copy").exists()
    digits.save(tmp_path / "digits.sluice")
    with sluice.load(tmp_path / "digits.sluice") as model:
        pass
    assert pickle.loads(pickle.dumps(model)).inputs == digits.inputs


@pytest.mark.parametrize("threads", [-1, 513, 10**6, 2**31, 2**70])
def test_numbers_of_threads_that_are_slips_are_refused(threads: int, digits: sluice.Model) -> None:
    for use in (lambda: sluice.load(DIGITS, threads=threads), lambda: sluice.compile(DIGITS, threads=threads),
                lambda: sluice.load(digits.content(), threads=threads), lambda: digits.reopen(threads=threads),
                lambda: sluice.Session(digits.path, threads=threads)):
        with pytest.raises(sluice.InvalidArgument, match=f"threads are from 0, for all cores, to 512: {threads}"):
            use()
    sluice.load(DIGITS, threads=512)


def test_a_runtime_loads_onnx_models_under_their_names(cache: pathlib.Path, image: np.ndarray,
                                                       digits: sluice.Model) -> None:
    with sluice.Runtime() as runtime:
        for source, name in ((DIGITS, DIGITS.stem), (onnx.load(DIGITS), "model"), (sluice.load(DIGITS), "model")):
            loaded = runtime.load(source)
            assert loaded.name == name
            np.testing.assert_array_equal(loaded(image), digits(image))
            loaded.unload()
        assert runtime.deploy(onnx.load(DIGITS)).name == "function"


def test_what_is_neither_is_refused(cache: pathlib.Path, tmp_path: pathlib.Path) -> None:
    (tmp_path / "notes.txt").write_text("no model")
    for source in (tmp_path / "notes.txt", b"no model", b""):
        with pytest.raises(sluice.InvalidArgument):
            sluice.load(source)
    with pytest.raises(TypeError, match="list"):
        sluice.load([1])
    with pytest.raises(sluice.NotFound, match="no such file"):
        sluice.load(tmp_path / "missing.onnx")
