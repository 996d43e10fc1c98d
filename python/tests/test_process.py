"""What a process may do to the package: import others, fork, interrupt, end."""

from __future__ import annotations

import itertools
import os
import pathlib
import signal
import subprocess
import sys
import textwrap
import threading

import numpy as np
import pytest
import sluice

from conftest import DIGITS, PATIENCE, eventually
from daemon import Daemon


def python(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True,
                          text=True, timeout=PATIENCE)


@pytest.mark.parametrize("order", list(itertools.permutations(("sluice", "onnx", "onnxruntime"))),
                         ids="-".join)
def test_imports_in_every_order(order: tuple[str, ...]) -> None:
    done = python(f"""
        import {", ".join(order)}
        import numpy as np
        model = onnx.load({str(DIGITS)!r})
        x = np.zeros((1, 1, 8, 8), np.float32)
        theirs = onnxruntime.InferenceSession(model.SerializeToString()).run(None, {{"image": x}})[0]
        assert abs(sluice.compile(model)(x) - theirs).max() < 1e-5
        onnx.checker.check_model(model)
        """)
    assert done.returncode == 0, done.stderr


def test_forked_child_refuses_old_models_and_loads_new_ones(digits: sluice.Model,
                                                            image: np.ndarray) -> None:
    expected = digits(image)
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        answer = b"no error"
        try:
            digits(image)
        except sluice.FailedPrecondition as error:
            answer = str(error).encode()
        if (sluice.compile(DIGITS)(image) == expected).all():
            answer += b"; new model runs"
        os.write(write, answer)
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    answer = os.read(read, 1000).decode()
    assert "load it again" in answer and "new model runs" in answer
    np.testing.assert_array_equal(digits(image), expected)


def test_interrupt_ends_a_wait_for_a_result(slow: sluice.Model) -> None:
    main = threading.main_thread().ident
    assert main is not None

    def interrupt() -> None:
        eventually(lambda: sys._current_frames()[main].f_code.co_name == "wait")
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    with pytest.raises(KeyboardInterrupt):
        thread.start()
        slow.run({"n": np.int64(1_000_000), "x": np.ones(64, np.float32)}, timeout=PATIENCE)
        threading.Event().wait(PATIENCE)  # a machine that is done before the signal comes
    thread.join()


def test_runs_beyond_their_time_end(slow: sluice.Model) -> None:
    x = np.ones(64, np.float32)
    for _ in range(len(os.sched_getaffinity(0)) + 1):  # more than run at a time
        with pytest.raises(sluice.DeadlineExceeded):
            slow.run({"n": np.int64(90_000_000), "x": x}, timeout=0.05)
    assert slow.submit(np.int64(1), x).result(PATIENCE).shape == (64,)
    with pytest.raises(sluice.InvalidArgument, match="timeout must be positive"):
        slow.run({"n": np.int64(1), "x": x}, timeout=-1)


def test_interrupt_during_a_call_is_raised_behind_it(slow: sluice.Model) -> None:
    timer = threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGINT))
    with pytest.raises(KeyboardInterrupt):
        timer.start()
        slow(np.int64(500_000), np.ones(64, np.float32))
        threading.Event().wait(PATIENCE)  # a machine that is done before the signal comes
    timer.join()
    slow(np.int64(1), np.ones(64, np.float32))


SHUTDOWN = """
    import threading
    import numpy as np, sluice
    model = sluice.load({package!r}, threads=1)
    x = np.ones(64, np.float32)
    answered = threading.Event()
    def call(times):
        for _ in range(times):
            model(np.int64(20_000), x)
            answered.set()
    def submit(times):
        for _ in range(times):
            model.submit(np.int64(20_000), x).add_done_callback(lambda _: answered.set())
    {start}
    answered.wait()
    print("done")
    """


@pytest.mark.parametrize("start", [
    "submit(50)",
    "[threading.Thread(target=call, args=(10**6,), daemon=True).start() for _ in range(4)]",
    "threading.Thread(target=submit, args=(20,)).start()",
], ids=["submitted", "daemon-threads", "submitting-thread"])
def test_interpreter_ends_with_requests_in_flight(start: str, slow: sluice.Model,
                                                  tmp_path: pathlib.Path) -> None:
    package = str(tmp_path / "slow.sluice")
    slow.save(package)
    done = python(SHUTDOWN.format(package=package, start=start))
    assert done.returncode == 0 and done.stdout == "done\n", (done.returncode, done.stderr)


RUNTIME_SHUTDOWN = """
    import threading
    import numpy as np, sluice
    {runtime}
    model = runtime.load({package!r}, depth=1, queue_limit=100)
    x = np.ones(64, np.float32)
    answered = threading.Event()
    def call(times):
        for _ in range(times):
            model(np.int64(20_000), x)
            answered.set()
    def wait(times):
        for _ in range(times):
            model.submit(np.int64(20_000), x).result()
            answered.set()
    {start}
    answered.wait()
    print("done")
    """


@pytest.mark.parametrize("where", ["local", "daemon"])
@pytest.mark.parametrize("start", [
    "requests = [model.submit(np.int64(20_000), x) for _ in range(50)]; requests[0].result(); answered.set()",
    "[threading.Thread(target=call, args=(10**6,), daemon=True).start() for _ in range(4)]",
    "threading.Thread(target=wait, args=(9,)).start()",
], ids=["submitted", "daemon-threads", "waiting-thread"])
def test_interpreter_ends_with_requests_of_a_runtime_in_flight(
        start: str, where: str, slow: sluice.Model, daemon: Daemon, tmp_path: pathlib.Path) -> None:
    package = str(tmp_path / "slow.sluice")
    slow.save(package)
    opening = "sluice.Runtime()" if where == "local" else f"sluice.Client({daemon.address!r})"
    done = python(RUNTIME_SHUTDOWN.format(runtime="runtime = " + opening, package=package, start=start))
    assert done.returncode == 0 and done.stdout == "done\n", (done.returncode, done.stderr)


@pytest.mark.parametrize("where", ["local", "daemon"])
def test_forked_child_refuses_the_runtime_and_opens_its_own(where: str, slow: sluice.Model,
                                                            daemon: Daemon) -> None:
    def open_runtime() -> sluice.Runtime:
        return sluice.Runtime() if where == "local" else sluice.Client(daemon.address)

    runtime = open_runtime()
    model = runtime.load(slow)
    x = np.ones(64, np.float32)
    pending = model.submit(np.int64(200_000), x)
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        answer = ""
        for call in (lambda: model(np.int64(1), x), lambda: model.submit(np.int64(1), x),
                     lambda: runtime.load(slow)):
            try:
                call()
            except sluice.FailedPrecondition as error:
                answer += type(error).__name__ + ";"
        # gRPC does not work in a child whose parent used it, so that only an engine opens here.
        if where == "local":
            with open_runtime() as own:
                answer += str(own.load(slow).submit(np.int64(1), x).result(PATIENCE).shape)
        os.write(write, answer.encode())
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    answer = os.read(read, 1000).decode()
    assert answer == "FailedPrecondition;" * 3 + ("(64,)" if where == "local" else "")
    assert pending.result(PATIENCE).shape == (64,)
    runtime.close()


def test_a_fork_within_a_call_leaves_a_child_that_calls() -> None:
    done = python(f"""
        import os, sluice
        forked = []

        def progress(_):
            if not forked:
                forked.append(os.fork())

        sluice.compile({str(DIGITS)!r}, progress=progress)
        sluice.compile({str(DIGITS)!r})
        if forked[0] != 0:
            assert os.waitpid(forked[0], 0)[1] == 0
    """)
    assert (done.returncode, done.stderr) == (0, "")


def test_threads_close_and_call_at_once(image: np.ndarray) -> None:
    model = sluice.compile(DIGITS)
    calls = threading.Semaphore(0)

    def call() -> None:
        try:
            while True:
                model(image)
                calls.release()
        except sluice.FailedPrecondition:
            pass

    threads = [threading.Thread(target=call) for _ in range(4)]
    for thread in threads:
        thread.start()
    for _ in range(100):
        assert calls.acquire(timeout=PATIENCE)
    model.close()
    for thread in threads:
        thread.join(PATIENCE)
        assert not thread.is_alive()


def test_models_do_not_leak(image: np.ndarray) -> None:
    def open_files() -> int:
        return len(os.listdir("/proc/self/fd"))

    sluice.compile(DIGITS)(image)
    before = open_files()
    for _ in range(5):
        sluice.compile(DIGITS)(image)
    eventually(lambda: open_files() <= before)


def test_command_line_is_the_program() -> None:
    done = subprocess.run([sys.executable, "-m", "sluice", "--version"], capture_output=True,
                          text=True)
    assert done.returncode == 0 and done.stdout.startswith("sluice 0.")
    assert "cpu" in sluice.doctor()


@pytest.mark.parametrize("missing", [("torch",), ("onnxscript",), ("torch", "onnx", "onnxscript")], ids="-".join)
def test_sluice_torch_names_the_packages_that_it_lacks(missing: tuple[str, ...]) -> None:
    there = "; ".join(f"sys.modules[{name!r}] = {'None' if name in missing else 'importlib.util'}"
                      for name in ("torch", "onnx", "onnxscript"))
    done = python(f"import importlib.util, sys; {there}; import sluice.torch")
    assert f"sluice.torch needs {', '.join(missing)}: pip install {' '.join(missing)}" in done.stderr


@pytest.mark.parametrize("kept", ["sluice.compile({path!r})", "sluice.Runtime()", "sluice.Runtime().create_group(1)",
                                  "sluice.Runtime().load({path!r})"])
@pytest.mark.parametrize("by", ["ctypes.pythonapi.Py_IncRef(ctypes.py_object(kept))",
                                "kept.itself = kept; sys.modules['another'] = kept",
                                "sys.modules['another'] = type('Cycle', (), {})(); sys.modules['another'].kept = kept"])
def test_what_outlives_the_interpreter_says_nothing(kept: str, by: str) -> None:
    done = python(f"""
        import ctypes, sluice, sys
        kept = {kept.format(path=str(DIGITS))}
        {by}
    """)
    assert (done.returncode, done.stderr) == (0, "")
