#!/usr/bin/env python3
"""The commands of `sluice` that speak to a daemon, as a user runs them, against a running sluiced.

    tests/daemon/remote_commands.py BUILD_FOLDER
"""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

from harness import BUILD, DIGITS, Daemon, Sluice, at, compile_digits, eventually, holds, prove, same


def the_implicit_flow_is_load_infer_unload(folder: Path) -> None:
    package = compile_digits(folder)
    with Daemon(folder / "d") as daemon:
        sluice = at(daemon)
        model = sluice.json("load", str(package))
        same((model["name"], model["phase"], model["is_implicit"]), ("digits", "started", True))
        same(sluice.json("models"), [model])
        reply = sluice.json("infer", "digits", "--input", "image=zeros")
        same((reply["code"], reply["outputs"]), (0, [{"name": "probabilities", "type": "f32[1,10]"}]))
        same(reply["group"], model["group"])
        same(reply["backends"], ["sim"])
        same(sluice.json("unload", str(model["model"])), {"model": model["model"]})
        same(sluice.json("models"), [])
        same(sluice.json("server")["num_free_cores"], 16)


def a_request_is_repeated_over_one_stream(folder: Path) -> None:
    package = str(compile_digits(folder))
    with Daemon(folder / "d", "--stream-requests", "3") as daemon:
        sluice = at(daemon)
        model = sluice.json("load", package, "--depth", "4", "--queue-limit", "6")
        same((model["depth"], model["queue_limit"]), (4, 6))
        same(sluice.json("server")["stream_requests"], 3)
        figures = sluice.json("infer", "digits", "--input", "image=random", "--repeat", "50", "--in-flight", "9")
        same((figures["answered"], figures["failed"], figures["first_error"]), (50, 0, None))
        assert 0 < figures["p50_ns"] <= figures["p99_ns"] <= figures["longest_ns"], figures
        holds(sluice.text("infer", "digits", "--input", "image=zeros", "--repeat", "5",
                          "--output-dir", str(folder / "out")), "5 answered, 0 failed")
        assert (folder / "out" / "probabilities.npy").exists()
        [stats] = sluice.json("stats", "digits")
        same((stats["answered"]["ok"], stats["refused"], stats["waiting"]), (55, 0, 0))
        holds(sluice.refusal("infer", "digits", "--input", "image=zeros", "--repeat", "0", code=2), "--repeat")


def functions_share_a_core_and_become_cold_and_warm(folder: Path) -> None:
    package = str(compile_digits(folder))
    with Daemon(folder / "d") as daemon:
        sluice = at(daemon)
        a = sluice.json("deploy", package, "--name", "a", "--share", "3", "--always-warm", "--queue-limit", "5")
        sluice.json("deploy", package, "--name", "b", "--memory", "1g", "--depth", "2")
        same((a["depth"], a["queue_limit"], a["function"]["share"]), (1, 5, 3))
        same(sluice.json("server")["num_free_cores"], 15)
        for name in ("a", "b"):
            same(sluice.json("infer", name, "--input", "image=zeros")["code"], 0)
        same([one["name"] for one in sluice.json("functions")], ["a", "b"])
        holds(sluice.text("functions"), "LAST START")
        sluice.json("stop", "a")
        cold = sluice.json("functions")[0]["function"]
        same((cold["phase"], cold["held_bytes"], cold["num_starts"]), ("cold", 0, 1))
        same(sluice.json("infer", "a", "--input", "image=zeros")["code"], 0)
        warm = sluice.json("functions")[0]["function"]
        same((warm["num_starts"], warm["num_requests"]), (2, 2))
        holds(sluice.refusal("deploy", package, "--memory", "1k"), "quota")
        kept = sluice.json("infer", "a", "--input", "image=zeros", "--put", "probabilities")["outputs"][0]
        assert kept["exchange"] > 0, kept
        holds(sluice.text("infer", "a", "--input", "image=zeros", "--put", "probabilities"), "exchange:")
        holds(sluice.refusal("infer", "b", "--input", f"image=exchange:{kept['exchange']}"), "f32[1,10]")
        holds(sluice.refusal("infer", "b", "--input", "image=exchange:999"), "no longer")
        for name in ("a", "b"):
            sluice.json("unload", name)
        same((sluice.json("functions"), sluice.json("server")["num_free_cores"]), ([], 16))


def an_onnx_file_is_compiled_and_deployed(folder: Path) -> None:
    with Daemon(folder / "d") as daemon:
        temporary = folder / "temporary"
        temporary.mkdir()
        sluice = Sluice("--address", daemon.socket, environment={"TMPDIR": str(temporary)})
        function = sluice.json("deploy", str(DIGITS), "--backend", "sim")
        same((function["name"], function["function"]["phase"]), ("digits", "warm"))
        model = sluice.json("load", str(DIGITS), "--backend", "sim", "--name", "model")
        for one in (function, model):
            same(sluice.json("infer", one["name"], "--input", "image=zeros")["backends"], ["sim"])
        holds(sluice.text("load", str(DIGITS), "--backend", "sim", "--estimate"), "constants")
        damaged = folder / "damaged.onnx"
        damaged.write_bytes(DIGITS.read_bytes()[:1000])
        holds(sluice.refusal("deploy", str(damaged)), "sluice compile: ")
        holds(sluice.refusal("deploy", str(damaged)), "was not compiled")
        holds(sluice.refusal("deploy", str(DIGITS), "--by-path"), "compile the file first")
        same(list(temporary.iterdir()), [])


def a_graph_of_functions_is_deployed_listed_and_removed(folder: Path) -> None:
    package = str(compile_digits(folder))
    graph = folder / "pair.json"
    with Daemon(folder / "d") as daemon:
        sluice = at(daemon)
        for name in ("digits", "twin"):
            sluice.json("deploy", package, "--name", name)
        graph.write_text('{"functions": ["a=digits", "twin"], "edges": ["a.probabilities=twin.image"]}')
        holds(sluice.refusal("deploy-graph", str(graph)), "a.probabilities is f32[N,10], and twin.image takes")
        graph.write_text('{"functions": ["a=digits", "twin"]}')
        holds(sluice.text("deploy-graph", str(graph)), "pair, 2 functions, 2 inputs, 2 outputs")
        answer = sluice.json("infer", "pair", "--input", "a.image=zeros", "--input", "twin.image=zeros")
        same([one["name"] for one in answer["outputs"]], ["a.probabilities", "twin.probabilities"])
        holds(sluice.text("functions"), "pair")
        same([one["name"] for one in sluice.json("functions")[2]["graph"]["functions"]], ["a", "twin"])
        holds(sluice.refusal("unload", "digits"), "graph pair")
        for name in ("pair", "digits", "twin"):
            sluice.json("unload", name)
        same(sluice.json("functions"), [])


def the_explicit_flow_starts_one_model_of_a_group_at_a_time(folder: Path) -> None:
    package = str(compile_digits(folder))
    with Daemon(folder / "d") as daemon:
        sluice = at(daemon)
        group = sluice.json("groups", "--create", "2", "--kind", "sim", "--device", "1")
        same([(core["device"], core["core"]) for core in group["cores"]], [(1, 0), (1, 1)])
        number = str(group["group"])
        for name in ("a", "b"):
            same(sluice.json("load", package, "--group", number, "--name", name)["phase"], "loaded")
        holds(sluice.refusal("infer", "a", "--input", "image=zeros"), "start")
        same(sluice.text("start", "a"), "")
        holds(sluice.refusal("start", "b"), '"a"')
        holds(sluice.text("infer", "a", "--input", "image=zeros"), "probabilities: f32[1,10]")
        sluice.text("stop", "a", "--drain", "1")
        same(sluice.json("start", "b")["model"], sluice.json("models")[1]["model"])
        same([model["phase"] for model in sluice.json("models")], ["stopped", "started"])
        same(sluice.json("groups")[0]["active_model"], "b")
        holds(sluice.refusal("groups", "--destroy", number), "models")
        for name in ("a", "b"):
            sluice.text("unload", name)
        same(sluice.json("groups", "--destroy", number), {"group": group["group"]})
        same(sluice.json("groups"), [])


def a_worker_on_the_hosts_processors_answers_as_the_daemon_does(folder: Path) -> None:
    package = folder / "digits.sluice"
    Sluice().text("compile", str(DIGITS), "--backend", "cpu", "-o", str(package))
    with Daemon(folder / "d", "--sim", "") as daemon:
        sluice = at(daemon)
        answers = {}
        for isolation in ("stream", "process"):
            model = str(sluice.json("load", str(package), "--isolation", isolation, "--name", isolation)["model"])
            group = sluice.json("groups")[0]
            same(group["isolation"], isolation)
            out = folder / isolation
            sluice.text("infer", isolation, "--input", "image=zeros", "--output-dir", str(out))
            answers[isolation] = (out / "probabilities.npy").read_bytes()
            if isolation == "process":
                # The worker stays on its core: every other core has a processor at least.
                others = sluice.json("server")["num_cores"] - len(group["cores"])
                worker = group["worker_process"]
                eventually(lambda: len(os.sched_getaffinity(worker)) <= len(os.sched_getaffinity(0)) - others)
                holds(sluice.text("groups"), str(group["worker_process"]))
            sluice.text("unload", model)
        same(answers["stream"], answers["process"])
        holds(sluice.refusal("load", str(package), "--isolation", "none", code=2), "stream")


def estimate_prints_the_footprint_and_loads_nothing(folder: Path) -> None:
    package = str(compile_digits(folder))
    with Daemon(folder / "d", "--model-folders", str(folder)) as daemon:
        sluice = at(daemon)
        by_upload = sluice.json("load", package, "--estimate")
        assert by_upload["total_bytes"] > 0, by_upload
        same(sluice.json("load", package, "--estimate", "--by-path"), by_upload)
        same(sluice.json("models"), [])


def a_path_is_read_by_the_daemon_in_its_model_folders_only(folder: Path) -> None:
    inside, outside = folder / "inside", folder / "outside"
    inside.mkdir()
    outside.mkdir()
    with Daemon(folder / "d", "--model-folders", str(inside)) as daemon:
        sluice = at(daemon)
        same(sluice.json("load", str(compile_digits(inside)), "--by-path")["name"], "digits")
        said = sluice.refusal("load", str(compile_digits(outside)), "--by-path")
        holds(said, f"models are loaded by path from {inside}")


def statistics_count_requests(folder: Path) -> None:
    package = str(compile_digits(folder))
    with Daemon(folder / "d") as daemon:
        sluice = at(daemon)
        sluice.text("load", package)
        for _ in range(3):
            sluice.text("infer", "digits", "--input", "image=zeros")
        sluice.refusal("infer", "digits", "--input", "image=zeros", "--shape", "image=1,1,9,9")
        [stats] = sluice.json("stats", "digits")
        same((stats["name"], stats["answered"]["ok"], stats["total"]["count"]), ("digits", 3, 3))
        assert stats["accepted"] - 3 + stats["refused"] == 1, stats
        assert 0 < stats["total"]["p50_ns"] <= stats["total"]["p99_ns"] <= stats["total"]["max_ns"], stats
        holds(sluice.text("stats"), "digits")


def statistics_show_the_worker_and_its_restarts(folder: Path) -> None:
    package = str(compile_digits(folder))
    with Daemon(folder / "d") as daemon:
        sluice = at(daemon)
        sluice.text("load", package, "--isolation", "process")
        first = sluice.json("groups")[0]["worker_process"]
        same(sluice.text("stats").splitlines()[1].split()[-1], str(first))
        os.kill(first, signal.SIGKILL)
        while ", 1 restart" not in sluice.text("stats"):  # it comes back by itself
            pass
        same(sluice.json("groups")[0]["num_worker_restarts"], 1)
        sluice.text("load", package, "--name", "beside")
        same(sluice.text("stats", "beside").splitlines()[1].split()[-1], "-")


def outputs_are_written_and_json_stays_json(folder: Path) -> None:
    package = str(compile_digits(folder))
    with Daemon(folder / "d") as daemon:
        sluice = at(daemon)
        sluice.text("load", package)
        arguments = ("infer", "digits", "--input", "image=zeros", "--output-dir", str(folder / "out"))
        holds(sluice.text(*arguments), "probabilities.npy: f32[1,10]")
        reply = sluice.json(*arguments)
        same(reply["outputs"][0]["file"], str(folder / "out/probabilities.npy"))
        assert (folder / "out/probabilities.npy").stat().st_size > 40


def a_command_acts_without_a_session_and_sessions_are_listed(folder: Path) -> None:
    with Daemon(folder / "d") as daemon:
        sluice = at(daemon)
        same(sluice.json("sessions"), [])
        holds(sluice.refusal("sessions", "--kill", "7"), "no session 7 is open")


def server_command_prints_devices_and_health(folder: Path) -> None:
    with Daemon(folder / "d", "-t", "0000:00:11.0") as daemon:
        server = at(daemon).json("server")
        same((server["num_cores"], server["process"], server["state"]), (4, daemon.process.pid, "ready"))
        same([device["bus_address"] for device in server["devices"]], ["0000:00:11.0"])
        health = server["health"]
        same([health[key] for key in ("is_ready", "reason", "models", "num_refused_connections")], [True, "", [], 0])
        assert 10 < health["descriptors"] < health["max_descriptors"], health
        holds(at(daemon).text("server"), "1 device, 4 of 4 cores free")


def the_address_may_stand_in_the_environment(folder: Path) -> None:
    with Daemon(folder / "d") as daemon:
        same(Sluice(environment={"SLUICE_ADDRESS": daemon.socket}).json("models"), [])


def help_lists_remote_commands_with_their_descriptions(_: Path) -> None:
    def listed(program: str) -> set[str]:
        done = subprocess.run([str(BUILD / "bin" / program), "--help"], capture_output=True, text=True, check=True)
        return {line for line in done.stdout.partition("Usage:")[2].splitlines() if line.startswith("  ")}

    remote = listed("sluice-remote")
    assert len(remote) > 10, remote
    assert remote < listed("sluice"), remote - listed("sluice")
    holds(Sluice().text("load", "--help"), "Usage: sluice load [OPTIONS] package")


def missing_remote_program_is_reported(folder: Path) -> None:
    alone = folder / "sluice"
    alone.write_bytes((BUILD / "bin/sluice").read_bytes())
    alone.chmod(0o755)
    done = subprocess.run([str(alone), "models"], capture_output=True, text=True, check=False)
    same(done.returncode, 1)
    holds(done.stderr, "sluice-remote: it is not there")
    printed = subprocess.run([str(alone), "--help"], capture_output=True, text=True, check=True).stdout
    assert "sessions" not in printed, printed


def wrong_use_is_named(folder: Path) -> None:
    package = compile_digits(folder)
    (folder / "cut.sluice").write_bytes(package.read_bytes()[:2000])
    with Daemon(folder / "d") as daemon:
        sluice = at(daemon)
        holds(sluice.refusal("start", "nobody"), 'no model "nobody" is loaded')
        holds(sluice.refusal("unload", "0x123"), "0x123")
        holds(sluice.refusal("groups", "--destroy", "frog"), '"frog" is not a handle')
        holds(sluice.refusal("groups", "--create", "17"), "cores")
        holds(sluice.refusal("load", str(folder / "missing.sluice")), "missing.sluice")
        holds(sluice.refusal("load", str(folder / "cut.sluice")), "truncated")
        holds(sluice.refusal("load", str(package), "--group", "9"), "no group")
        sluice.text("load", str(package))
        sluice.text("load", str(package))
        holds(sluice.refusal("start", "digits"), '2 models are called "digits"')
        sluice.refusal("groups", "--create", "1", "--destroy", "1", code=2)
        sluice.refusal("load", code=2)
        holds(Sluice("--address", "nowhere").refusal("models"), 'address "nowhere"')


def absent_daemon_is_reported(folder: Path) -> None:
    said = Sluice("--address", f"unix:{folder / 'nothing.sock'}").refusal("models")
    holds(said, "is sluiced running")


def killed_daemon_does_not_block_its_successor(folder: Path) -> None:
    package = str(compile_digits(folder))
    with Daemon(folder / "d") as daemon:
        at(daemon).text("load", package)
        daemon.kill()
        daemon.start()
        same(at(daemon).json("models"), [])
        same(at(daemon).json("load", package)["phase"], "started")
        same(daemon.stop(), 0)


def dry_run_prints_settings_with_their_origin(folder: Path) -> None:
    config = folder / "sluiced.json"
    config.write_text(json.dumps({"log_level": 6, "session_models": 3}))
    command = [str(BUILD / "bin/sluiced"), "-c", str(config), "-l", "7", "--check-config"]
    settings = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    same(settings["log_level"], {"value": 7, "origin": "flag"})
    same(settings["session_models"], {"value": 3, "origin": "file", "file": str(config)})
    same(settings["session_cores"]["origin"], "default")


def later_files_of_the_folder_win_and_errors_name_the_file(folder: Path) -> None:
    config, dropped = folder / "sluiced.json", folder / "sluiced.d"
    dropped.mkdir()
    config.write_text(json.dumps({"log_level": 6, "session_models": 3, "session_cores": 1}))
    (dropped / "90-site.json").write_text(json.dumps({"session_models": 5}))
    (dropped / "10-package.json").write_text(json.dumps({"session_models": 4, "session_cores": 2}))
    (dropped / ".90-site.json.swp").write_text("{")
    (dropped / "README").write_text("{")
    command = [str(BUILD / "bin/sluiced"), "-c", str(config), "-l", "7", "--check-config"]
    settings = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    same(settings["log_level"], {"value": 7, "origin": "flag"})
    same(settings["session_models"], {"value": 5, "origin": "file", "file": str(dropped / "90-site.json")})
    same(settings["session_cores"]["value"], 2)
    (dropped / "95-wrong.json").write_text(json.dumps({"session_model": 5}))
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    same((done.returncode, done.stdout), (1, ""))
    holds(done.stderr, str(dropped / "95-wrong.json"))
    holds(done.stderr, "session_model: no such setting")


def daemon_prints_version_options_and_default_address(folder: Path) -> None:
    def said(*arguments: str) -> str:
        return subprocess.run([str(BUILD / "bin/sluiced"), *arguments], capture_output=True, text=True, check=True).stdout

    holds(said("-v"), "sluiced 0.")
    for option in ("-t,--devices", "-m,--map", "-g,--listen", "-c,--config", "-l,--log-level", "-x,--log-console"):
        holds(said("-h"), option)
    (folder / "empty.json").write_text("{}")
    settings = json.loads(said("-c", str(folder / "empty.json"), "--check-config"))
    same(settings["listen"], {"value": ["unix:/run/sluice.sock"], "origin": "default"})
    same((settings["devices"]["value"], settings["huge_pages"]["value"]), ([], 0))


if __name__ == "__main__":
    sys.exit(prove([
        the_implicit_flow_is_load_infer_unload,
        a_request_is_repeated_over_one_stream,
        functions_share_a_core_and_become_cold_and_warm,
        an_onnx_file_is_compiled_and_deployed,
        a_graph_of_functions_is_deployed_listed_and_removed,
        the_explicit_flow_starts_one_model_of_a_group_at_a_time,
        a_worker_on_the_hosts_processors_answers_as_the_daemon_does,
        estimate_prints_the_footprint_and_loads_nothing,
        a_path_is_read_by_the_daemon_in_its_model_folders_only,
        statistics_count_requests,
        statistics_show_the_worker_and_its_restarts,
        outputs_are_written_and_json_stays_json,
        a_command_acts_without_a_session_and_sessions_are_listed,
        server_command_prints_devices_and_health,
        the_address_may_stand_in_the_environment,
        help_lists_remote_commands_with_their_descriptions,
        missing_remote_program_is_reported,
        wrong_use_is_named,
        absent_daemon_is_reported,
        killed_daemon_does_not_block_its_successor,
        dry_run_prints_settings_with_their_origin,
        later_files_of_the_folder_win_and_errors_name_the_file,
        daemon_prints_version_options_and_default_address,
    ]))
