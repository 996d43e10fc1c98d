#!/usr/bin/env python3
"""A package that carries a module of operators, the one of examples/13_module.cc, in the command and in a daemon.

    tests/daemon/doors/operator_modules.py BUILD_FOLDER
"""

import hashlib
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from harness import BUILD, ROOT, Daemon, Sluice, at, holds, prove, same  # noqa: E402

MODULES = BUILD / "test_plugins"
MODULE = MODULES / "libsluice_operator_module.so"
SHA256 = hashlib.sha256(MODULE.read_bytes()).hexdigest()
CUSTOM = ROOT / "examples/digits/custom.onnx"
LABELS = str(ROOT / "examples/digits/labels.txt")
IMAGE, TRUTH = (ROOT / "examples/digits/expected.txt").read_text().splitlines()[0].split()
INPUT = f"image={ROOT / 'examples/digits/images' / IMAGE}"


def compile_custom(folder: Path) -> Path:
    package = folder / "custom.sluice"
    Sluice().text("compile", str(CUSTOM), "--operators", str(MODULE), "-o", str(package))
    return package


def replaced(package: Path, old: bytes, new: bytes) -> Path:
    """The package with other bytes of the same length in one place."""
    data = package.read_bytes()
    assert data.count(old) == 1 and len(old) == len(new), (data.count(old), len(old), len(new))
    damaged = package.with_name("damaged.sluice")
    damaged.write_bytes(data.replace(old, new))
    return damaged


def package_names_its_module(folder: Path) -> None:
    package = compile_custom(folder)
    facts = Sluice().json("inspect", str(package))["facts"]
    same((facts["operator_module"], facts["operator_module_sha256"]), (MODULE.name, SHA256))
    assert MODULE.read_bytes() in package.read_bytes(), "the module lies in the package"


def only_who_allows_the_module_runs_it(folder: Path) -> None:
    package, sluice = str(compile_custom(folder)), Sluice()
    run = ("run", package, "--input", INPUT, "--top", "1", LABELS)
    refused = sluice.refusal(*run)
    holds(refused, f'module of operators "{MODULE.name}"')
    holds(refused, f"allow its SHA-256 {SHA256}")
    holds(sluice.refusal(*run, "--allow-operators", "0" * 64), SHA256)
    holds(sluice.refusal(*run, "--allow-operators", "any"), "no SHA-256")
    holds(sluice.text(*run, "--allow-operators", SHA256), TRUTH)


def damaged_module_is_not_opened(folder: Path) -> None:
    """The checksum of the file is compared before the digest."""
    package, sluice = compile_custom(folder), Sluice()
    entry = b"sluice_operator_module_1\0"
    damaged = replaced(package, MODULE.read_bytes(), MODULE.read_bytes().replace(entry, entry.upper()))
    run = ("run", str(damaged), "--input", INPUT, "--allow-operators", SHA256)
    holds(sluice.refusal(*run), f'module of operators "{MODULE.name}": file "operators.so"')


def library_without_the_function_is_refused(folder: Path) -> None:
    [no_entry] = MODULES.glob("*sluice_no_entry*")
    compile = ("compile", str(CUSTOM), "-o", str(folder / "a.sluice"), "--operators")
    holds(Sluice().refusal(*compile, str(no_entry)), 'it exports no function "sluice_operator_module_1"')
    holds(Sluice().refusal(*compile, str(CUSTOM)), "cannot open library")
    holds(Sluice().refusal(*compile, str(folder / "missing.so")), "missing.so")
    assert not (folder / "a.sluice").exists()


def daemon_runs_what_its_administrator_allows(folder: Path) -> None:
    package = str(compile_custom(folder))
    with Daemon(folder / "a", is_simulated=False) as daemon:
        holds(at(daemon).refusal("load", package), f"allow its SHA-256 {SHA256}")
    with Daemon(folder / "b", "--allow-operators", SHA256, is_simulated=False) as daemon:
        sluice = at(daemon)
        group = str(sluice.json("groups", "--create", "1")["group"])  # both parts on one core
        sluice.text("load", package, "--name", "custom", "--group", group)
        sluice.text("start", "custom")
        reply = sluice.json("infer", "custom", "--input", INPUT)
        same((reply["code"], "custom" in reply["backends"]), (0, True))
        sluice.text("unload", "custom")
        sluice.json("groups", "--destroy", group)  # its core is for the worker
        worker = str(sluice.json("groups", "--create", "1", "--isolation", "process")["group"])
        holds(sluice.refusal("load", package, "--name", "worker", "--group", worker),
              "worker processes run no code of packages")


if __name__ == "__main__":
    sys.exit(prove([
        package_names_its_module,
        only_who_allows_the_module_runs_it,
        damaged_module_is_not_opened,
        library_without_the_function_is_refused,
        daemon_runs_what_its_administrator_allows,
    ]))
