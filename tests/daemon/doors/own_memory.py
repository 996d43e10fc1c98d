#!/usr/bin/env python3
"""A daemon on a device whose memory the host cannot read: the plug-in `far` of examples/12_plugin, which computes the
Softmax of a network while the processors compute the rest.

    tests/daemon/doors/own_memory.py BUILD_FOLDER CXX
"""

import json
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from harness import DIGITS, ROOT, Daemon, Sluice, at, holds, prove, same  # noqa: E402
from metrics import get, samples  # noqa: E402

EXAMPLE = ROOT / "examples/12_plugin"
LABELS = (ROOT / "examples/digits/labels.txt").read_text().split()
IMAGES = [line.split() for line in (ROOT / "examples/digits/expected.txt").read_text().splitlines()[:3]]


def place_of(folder: Path, *kinds: str, end: str | None = None) -> dict[str, str]:
    """The environment in which Sluice finds `far`, and the same by other names, built from the public headers alone.
    `end` takes the place of the line that makes the plug-in."""
    plugins = folder / "plugins"
    plugins.mkdir()
    for kind in kinds:
        source = folder / f"{kind}.cc"
        text = (EXAMPLE / "far.cc").read_text().replace('"far"', f'"{kind}"')
        made = f'SLUICE_HOST_BACKEND(FarBackend, "{kind}", "1.0")'
        source.write_text(text.replace(made, made if end is None else end.replace("KIND", kind)))
        subprocess.run([sys.argv[2], "-std=c++20", "-O1", "-shared", "-fPIC", "-fvisibility=hidden",
                        f"-I{ROOT / 'include'}", f"-I{EXAMPLE}", str(source),
                        "-o", str(plugins / f"libsluice_backend_{kind}.so")], check=True)
    return {"SLUICE_BACKEND_PATH": str(plugins), "SLUICE_CACHE_DIR": ""}


def compile_for_far(folder: Path, place: dict[str, str], *options: str) -> str:
    package = str(folder / "digits.sluice")
    Sluice(environment=place).text("compile", str(DIGITS), "-o", package, "--place", "Softmax=far", *options)
    return package


def device_of_kind(sluice: Sluice, kind: str) -> int:
    [device] = [number for number, one in enumerate(sluice.json("capacity")["devices"]) if one["kind"] == kind]
    return device


def answers_are_right(sluice: Sluice, folder: Path, model: str) -> None:
    for image, truth in IMAGES:
        said = sluice.text("infer", model, "--input", f"image={ROOT / 'examples/digits/images' / image}",
                           "--output-dir", str(folder / "out"))
        holds(said, "probabilities")
        raw = (folder / "out/probabilities.npy").read_bytes()[-40:]
        numbers = memoryview(raw).cast("f").tolist()
        same(LABELS[numbers.index(max(numbers))], truth)
        assert abs(sum(numbers) - 1) < 1e-4, "the last operation, a Softmax, ran on the device"


def model_runs_on_cores_of_the_device_and_gives_its_memory_back(folder: Path) -> None:
    place = place_of(folder, "far")
    package = compile_for_far(folder, place)
    with Daemon(folder / "d", "--metrics", "localhost:0", environment=place, is_simulated=False) as daemon:
        sluice = at(daemon)
        far = device_of_kind(sluice, "far")
        holds(daemon.said(), f"device.ready device={far} kind=far ")
        sluice.text("load", package)
        [group] = sluice.json("groups")
        same({core["device"] for core in group["cores"]}, {far})
        answers_are_right(sluice, folder, "digits")
        held = samples(get(daemon)[2])
        assert held[f'sluice_device_memory_bytes{{device="{far}",category="arenas"}}'] > 0, held
        same(held[f'sluice_device_requests_answered_total{{device="{far}",code="ok"}}'], len(IMAGES))
        same(held[f'sluice_device_copy_duration_seconds_count{{device="{far}"}}'], 0)  # within its segment
        pools_are_shown(daemon, held, far)
        sluice.text("unload", "digits")
        after = samples(get(daemon)[2])
        same({name: value for name, value in after.items()
              if name.startswith(f'sluice_device_memory_bytes{{device="{far}"') and value > 0}, {})
        same(after[f'sluice_device_cores_reserved{{device="{far}"}}'], 0)
        nothing_is_left(after, far)


def pools_are_shown(daemon: Daemon, held: dict[str, float], far: int) -> None:
    """A model is on the device."""
    of = f'{{device="{far}"'
    in_use = held[f'sluice_device_streams{of},state="in_use"}}']
    unused = held[f'sluice_device_streams{of},state="unused"}}']
    assert in_use > 0 and held[f"sluice_device_streams_made_total{of}}}"] >= in_use + unused, held
    used, reserved = (held[f'sluice_device_pool_bytes{of},state="{state}"}}'] for state in ("used", "reserved"))
    assert 0 < used <= reserved <= held[f"sluice_device_pool_grown_bytes_total{of}}}"], held
    same(held[f"sluice_device_left_bytes{of}}}"], 0)
    line = json.loads(at(daemon).text("monitor", "--interval", "0.05", "--count", "1"))
    pools = line["devices"][far]["pools"]
    same((pools["reserved_bytes"], pools["used_bytes"], pools["left"]), (reserved, used, []))
    wide = Sluice("--address", daemon.socket, environment={"COLUMNS": "250"})
    frame = wide.text("top", "--once", "--interval", "0.05")
    for part in ("STREAMS", "POOL", f"{int(in_use)} of {int(in_use + unused)} "):
        holds(frame, part)
    holds(at(daemon).text("stats"), f"device {far}: streams: {int(in_use)} in use")


def nothing_is_left(after: dict[str, float], far: int) -> None:
    """No model is on the device: the streams of its transfers stay."""
    of = f'{{device="{far}"'
    for state in ("used", "reserved", "idle"):
        same(after[f'sluice_device_pool_bytes{of},state="{state}"}}'], 0)
    same(after[f"sluice_device_pool_grown_bytes_total{of}}}"], after[f"sluice_device_pool_shrunk_bytes_total{of}}}"])
    assert after[f"sluice_device_streams_drained_total{of}}}"] > 0, after
    same((after[f"sluice_device_left_bytes{of}}}"], after[f"sluice_device_left_streams{of}}}"]), (0, 0))


def daemon_without_the_device_refuses_the_package(folder: Path) -> None:
    place = place_of(folder, "far")
    package = compile_for_far(folder, place)
    with Daemon(folder / "d", "-t", "0", environment=place, is_simulated=False) as daemon:
        sluice = at(daemon)
        same([one["kind"] for one in sluice.json("capacity")["devices"]], ["cpu"])
        holds(sluice.refusal("load", package), 'of kind "far": no device of this machine is such; kinds: cpu')
        same(sluice.json("groups"), [])


def segment_of_a_second_kind_needs_a_device_of_this_daemon(folder: Path) -> None:
    place = place_of(folder, "far", "near")
    package = compile_for_far(folder, place, "--place", "Relu=near")
    with Daemon(folder / "all", environment=place, is_simulated=False) as daemon:
        far = device_of_kind(at(daemon), "far")
    with Daemon(folder / "d", "-t", str(far), environment=place, is_simulated=False) as daemon:
        holds(at(daemon).refusal("load", package), 'is for a device of kind "near", and there is none here')
        same(at(daemon).json("groups"), [])


#: The end of a source of a device with one core.
ONE_CORE = """namespace {
class OneCore : public FarBackend {
 public:
  int num_cores() const override { return 1; }
};
}  // namespace
SLUICE_HOST_BACKEND(OneCore, "KIND", "1.0")
"""


def group_owns_cores_of_both_kinds_of_its_model(folder: Path) -> None:
    place = place_of(folder, "far", "near", end=ONE_CORE)
    both = compile_for_far(folder, place, "--place", "Relu=near")
    alone = str(folder / "alone.sluice")
    Sluice(environment=place).text("compile", str(DIGITS), "-o", alone, "--place", "Softmax=near")
    with Daemon(folder / "d", "--metrics", "localhost:0", environment=place, is_simulated=False) as daemon:
        sluice = at(daemon)
        kinds = {number: one["kind"] for number, one in enumerate(sluice.json("capacity")["devices"])}

        def owned() -> list[list[str]]:
            return [sorted({kinds[core["device"]] for core in group["cores"]} - {"cpu"}) for group in sluice.json("groups")]

        def reserved(kind: str) -> float:
            [device] = [number for number, name in kinds.items() if name == kind]
            return samples(get(daemon)[2])[f'sluice_device_cores_reserved{{device="{device}"}}']

        sluice.text("load", both, "--name", "first")
        same(owned(), [["far", "near"]])
        assert reserved("far") > 0 and reserved("near") > 0
        answers_are_right(sluice, folder, "first")
        sluice.text("load", both, "--name", "second")
        same(owned(), [["far", "near"]])  # the two take turns on the cores of one group
        answers_are_right(sluice, folder, "second")
        for kind in ("far", "near"):
            holds(sluice.refusal("groups", "--create", "1", "--kind", kind), "not free now")
        holds(sluice.refusal("load", alone), "not free now")
        sluice.text("unload", "first")
        holds(sluice.refusal("load", alone), "not free now")
        sluice.text("unload", "second")
        same((owned(), reserved("far"), reserved("near")), ([], 0, 0))
        sluice.text("load", alone)
        same(owned(), [["near"]])
        answers_are_right(sluice, folder, "alone")
        refused = sluice.refusal("load", both)
        holds(refused, 'of kind "near"')
        holds(refused, "not free now")
        same(owned(), [["near"]])  # what the refused load had taken of the other device is free again
        same(reserved("far"), 0)


def functions_share_the_device_and_put_a_tensor(folder: Path) -> None:
    place = place_of(folder, "far")
    package = compile_for_far(folder, place)
    with Daemon(folder / "all", environment=place, is_simulated=False) as daemon:
        far = device_of_kind(at(daemon), "far")
    with Daemon(folder / "d", "-t", str(far), environment=place, is_simulated=False) as daemon:
        sluice = at(daemon)
        for name in ("first", "second"):
            sluice.text("deploy", package, "--name", name)
        same(len({one["group"] for one in sluice.json("functions")}), 1)
        for name in ("first", "second"):
            answers_are_right(sluice, folder, name)
        holds(sluice.text("infer", "first", "--input", "image=zeros", "--put", "probabilities"), "exchange:")


def profile_of_the_device_places_operations(folder: Path) -> None:
    place = place_of(folder, "far")
    sluice, times = Sluice(environment=place), folder / "times.json"
    sluice.text("operator-times", str(DIGITS), "--backend", "cpu,far", "--shape", "image=1,1,8,8", "-o", str(times))
    profile = json.loads(times.read_text())
    [key] = [name for name in profile["devices"] if name.startswith("far ")]
    measured = profile["devices"][key]["times_ns"]
    [softmax] = [name for name in measured if "Softmax" in name]
    assert measured[softmax] > 0, measured
    for cost, backend in ((1e12, "cpu"), (0, "far")):
        measured[softmax] = cost
        for one in profile["devices"].values():
            one["launch_ns"] = 0
        for part in ("to_device", "from_device"):
            profile["devices"][key][part] = {"latency_ns": 0, "ns_per_byte": 0}
        times.write_text(json.dumps(profile))
        package = str(folder / f"{backend}.sluice")
        sluice.text("compile", str(DIGITS), "-o", package, "--backend", "cpu,far", "--shape", "image=1,1,8,8",
                    "--operator-times", str(times))
        placed = {one["operator"]: one["backend"] for one in sluice.json("inspect", package)["operations"]}
        same(placed["Softmax"], backend)


#: The end of a source in which copies back take some milliseconds more, whatever their size.
SLOW_BACK = """namespace {
struct Slow : plugin::HostPlugin<FarBackend> {
  static constexpr const char* kName = "slow";
  static constexpr const char* kVersion = "1.0";
  static plugin::Status submit(Stream& stream, CommandList& list, std::span<void* const> bindings) {
    volatile std::uint64_t work = 0;
    for (const auto& command : list.commands) {
      const bool is_back = command.kernel == nullptr && (number(command.inputs[0].address) & kFar) != 0;
      for (int i = 0; is_back && i < 30000000; ++i) work = work + 1;
    }
    return HostPlugin::submit(stream, list, bindings);
  }
};
}  // namespace
SLUICE_PLUGIN(Slow)
"""


def slow_copies_back_keep_operations_on_the_host(folder: Path) -> None:
    placed = {}
    for kind, end in (("far", None), ("slow", SLOW_BACK)):
        (folder / kind).mkdir()
        place = place_of(folder / kind, kind, end=end)
        sluice, times = Sluice(environment=place), folder / kind / "times.json"
        options = [str(DIGITS), "--backend", f"cpu,{kind}", "--shape", "image=1,1,8,8"]
        holds(sluice.text("operator-times", *options, "-o", str(times)), "; copies back take ")
        profile = json.loads(times.read_text())
        [device] = [one for name, one in profile["devices"].items() if name.startswith(f"{kind} ")]
        assert device["launch_ns"] > 0 and device["to_device"]["ns_per_byte"] > 0, device
        # The device gains 2 ms, which a copy back of the one takes and one of the other does not.
        for name, one in profile["devices"].items():
            one["times_ns"] = {key: 2e6 if "Softmax" in key and name.startswith("cpu ") else 0 for key in one["times_ns"]}
        times.write_text(json.dumps(profile))
        package = str(folder / f"{kind}.sluice")
        sluice.text("compile", *options, "-o", package, "--operator-times", str(times))
        shown = sluice.json("inspect", package)
        placed[kind] = [one["backend"] for one in shown["operations"] if one["operator"] == "Softmax"], \
            len(shown["segments"])
    same(placed, {"far": (["far"], 2), "slow": (["cpu"], 1)})


#: The end of a source with two linked devices. It writes a letter per copy to the file $FAR_COPIES: u for one from the host to
#: a device, b for one back, d for one from a device to a device.
LINKED = """#include <cstdlib>
#include <fstream>
#include "sluice/extensions/foreign_memory.h"
#include "sluice/extensions/topology.h"
namespace {
struct Linked : plugin::HostPlugin<FarBackend> {
  using Host = plugin::HostPlugin<FarBackend>;
  static constexpr const char* kName = "far";
  static constexpr const char* kVersion = "1.0";
  static std::int32_t num_devices(Backend&) { return 2; }
  static plugin::Status describe(Backend& backend, std::int32_t, sluice_device_info& info) {
    return Host::describe(backend, 0, info);
  }
  static plugin::Status make_kernel(Backend& backend, std::int32_t, const sluice_op& op, Kernel** kernel,
                                    sluice_kernel_info& info) {
    return Host::make_kernel(backend, 0, op, kernel, info);
  }
  static plugin::Status allocate(Backend& backend, std::int32_t, std::int64_t size, void** address) {
    return Host::allocate(backend, 0, size, address);
  }
  static plugin::Status make_group(Backend& backend, std::int32_t, std::span<const std::int32_t> cores, Group** group) {
    return Host::make_group(backend, 0, cores, group);
  }
  static bool is_far(const sluice_argument& end, std::span<void* const> bindings) {
    void* const base = end.binding < 0 ? end.address : bindings[static_cast<std::size_t>(end.binding)];
    return (number(base) & kFar) != 0;
  }
  static plugin::Status submit(Stream& stream, CommandList& list, std::span<void* const> bindings) {
    std::ofstream copies(std::getenv("FAR_COPIES"), std::ios::app);
    for (const auto& command : list.commands) {
      if (command.kernel != nullptr) continue;
      const bool from = is_far(command.inputs[0], bindings), to = is_far(command.outputs[0], bindings);
      copies << (from && to ? 'd' : to ? 'u' : 'b');
    }
    return Host::submit(stream, list, bindings);
  }
  static std::int32_t link_count(sluice_backend*) { return 1; }
  static sluice_code describe_link(sluice_backend*, std::int32_t, sluice_link* link, sluice_message*) {
    link->device_a = 0;
    link->device_b = 1;
    link->bytes_per_s = 1000000000;
    return SLUICE_OK;
  }
  static sluice_code check(sluice_backend*, std::int32_t, const void* address, std::int64_t, sluice_message*) {
    return (reinterpret_cast<std::uintptr_t>(address) & kFar) != 0 ? SLUICE_OK : SLUICE_INVALID_ARGUMENT;
  }
  static const void* find_extension(Backend&, const char* name) {
    static const sluice_topology topology = {sizeof(topology), link_count, describe_link};
    static const sluice_foreign_memory memory = {sizeof(memory), 0, check};
    if (std::string_view(name) == SLUICE_TOPOLOGY) return &topology;
    return std::string_view(name) == SLUICE_FOREIGN_MEMORY ? &memory : nullptr;
  }
};
}  // namespace
SLUICE_PLUGIN(Linked)
"""


def softmax_model(folder: Path, *dims: int) -> Path:
    """An ONNX file of one Softmax from x to y, floats: fields of protobuf, by their numbers. Dimensions under 128."""
    def part(number: int, content: bytes | str | int) -> bytes:
        if isinstance(content, int):
            return bytes([number << 3, content])
        data = content.encode() if isinstance(content, str) else content
        return bytes([number << 3 | 2, len(data)]) + data

    def value(name: str) -> bytes:
        shape = b"".join(part(1, part(1, dim)) for dim in dims)
        return part(1, name) + part(2, part(1, part(1, 1) + part(2, shape)))

    node = part(1, "x") + part(2, "y") + part(4, "Softmax")
    graph = part(1, node) + part(2, "softmax") + part(11, value("x")) + part(12, value("y"))
    path = folder / "softmax.onnx"
    path.write_bytes(part(1, 8) + part(8, part(2, 17)) + part(7, graph))
    return path


def tensor_crosses_the_link_and_is_read_where_it_is(folder: Path) -> None:
    copies = folder / "copies"
    place = {**place_of(folder, "far", end=LINKED), "FAR_COPIES": str(copies)}
    package, softmax = str(folder / "digits.sluice"), str(folder / "softmax.sluice")
    Sluice(environment=place).text("compile", str(DIGITS), "-o", package)
    Sluice(environment=place).text("compile", str(softmax_model(folder, 1, 10)), "-o", softmax, "--backend", "far")
    with Daemon(folder / "d", environment=place, is_simulated=False) as daemon:
        sluice = at(daemon)
        first, second = [number for number, one in enumerate(sluice.json("capacity")["devices"]) if one["kind"] == "far"]
        sluice.text("load", package)
        group = sluice.json("groups", "--create", "1", "--kind", "far", "--device", str(second))["group"]
        sluice.text("load", softmax, "--group", str(group))
        sluice.text("start", "softmax")
        tensor = next(word for word in sluice.text("infer", "digits", "--input", "image=zeros", "--put",
                                                   "probabilities").split() if word.startswith("exchange:"))

        def copied(*command: str) -> str:
            before = len(copies.read_text()) if copies.exists() else 0
            sluice.text(*command)
            return copies.read_text()[before:]

        infer = ("infer", "softmax", "--input", f"x={tensor}")
        same(copied(*infer), "ub")
        same(sluice.json("fetch", tensor, "--device", str(first))["from"], None)
        same(sluice.json("fetch", tensor, "--device", str(second))["from"], first)
        assert copies.read_text().endswith("ud"), copies.read_text()
        same(copied(*infer), "db")  # the list copies it within the device
        same(copied("fetch", tensor, "--device", str(second)), "")
        holds(sluice.refusal("fetch", tensor, "--device", "0"), "works on the host's memory")
        holds(sluice.refusal("fetch", tensor), "give --from HOST:PORT, or --device NUMBER")
        holds(sluice.refusal("fetch", "exchange:999", "--device", str(first)), "no tensor 0x3e7 of this session")


#: The same devices, whose kernels reach memory of the host, too: Sluice copies then by transfers of its own, not in lists.
REACHING = LINKED.replace("    return Host::describe(backend, 0, info);\n", """    plugin::Status status = Host::describe(backend, 0, info);
    info.flags |= SLUICE_DEVICE_HOST_MEMORY;
    return status;
""")


def kept_output_stays_on_its_device(folder: Path) -> None:
    """Functions on one device pass a tensor by address."""
    assert REACHING != LINKED
    shown = {}
    for kind, end in (("lists", LINKED), ("transfers", REACHING)):
        (folder / kind).mkdir()
        copies = folder / kind / "copies"
        place = {**place_of(folder / kind, "far", end=end), "FAR_COPIES": str(copies)}
        package = str(folder / kind / "softmax.sluice")
        Sluice(environment=place).text("compile", str(softmax_model(folder / kind, 1, 10)), "-o", package, "--backend", "far")
        with Daemon(folder / kind / "all", environment=place, is_simulated=False) as daemon:
            far = min(number for number, one in enumerate(at(daemon).json("capacity")["devices"]) if one["kind"] == "far")
        with Daemon(folder / kind / "d", "-t", str(far), "--metrics", "localhost:0", environment=place,
                    is_simulated=False) as daemon:
            shown[kind] = copies_of_two_functions(daemon, package, far, copies, folder / kind)
    # Lists copy within the device; the transfers copy nothing but what comes from a client or goes to one.
    same(shown, {"lists": ["ud", "dd", "", "db"], "transfers": ["u", "", "", "b"]})


def copies_of_two_functions(daemon: Daemon, package: str, far: int, copies: Path, folder: Path) -> list[str]:
    """Copies of a first request, of a second one that reads what the first left, of a call that brings that, and of a
    request whose output the client gets."""
    sluice = at(daemon)
    for name in ("first", "second"):
        sluice.text("deploy", package, "--name", name)
        sluice.text("infer", name, "--input", "x=zeros")  # warm from now on

    def copied(*command: str) -> tuple[str, str]:
        before = len(copies.read_text())
        said = sluice.text(*command)
        return copies.read_text()[before:], said

    def tensor_of(said: str) -> str:
        return next(word for word in said.split() if word.startswith("exchange:"))

    def held() -> float:
        name = f'sluice_device_memory_bytes{{device="{far}",category="constants"}}'
        return samples(get(daemon)[2]).get(name, 0)  # a category without bytes has no sample

    before = held()
    first, said = copied("infer", "first", "--input", "x=zeros", "--put", "y")
    tensor = tensor_of(said)
    assert held() > before, "the tensor is on the device"
    second, _ = copied("infer", "second", "--input", f"x={tensor}", "--put", "y")
    brought, said_brought = copied("fetch", tensor, "--device", str(far), "--json")
    same(json.loads(said_brought)["from"], far)
    read, _ = copied("infer", "second", "--input", f"x={tensor}", "--output-dir", str(folder / "out"))
    numbers = memoryview((folder / "out/y.npy").read_bytes()[-40:]).cast("f").tolist()
    assert all(abs(number - 0.1) < 1e-6 for number in numbers), numbers
    return [first, second, brought, read]


def request_reads_a_tensor_of_a_linked_device_over_the_link(folder: Path) -> None:
    shown = {}
    for kind, end in (("lists", LINKED), ("transfers", REACHING)):
        (folder / kind).mkdir()
        copies = folder / kind / "copies"
        place = {**place_of(folder / kind, "far", end=end), "FAR_COPIES": str(copies)}
        package = str(folder / kind / "softmax.sluice")
        Sluice(environment=place).text("compile", str(softmax_model(folder / kind, 1, 10)), "-o", package, "--backend", "far")
        with Daemon(folder / kind / "d", environment=place, is_simulated=False) as daemon:
            sluice = at(daemon)
            far = [number for number, one in enumerate(sluice.json("capacity")["devices"]) if one["kind"] == "far"]
            for name, number in zip(("first", "second"), far):
                group = sluice.json("groups", "--create", "1", "--kind", "far", "--device", str(number))["group"]
                sluice.text("load", package, "--group", str(group), "--name", name)
                sluice.text("start", name)
            said = sluice.text("infer", "first", "--input", "x=zeros", "--put", "y")
            tensor = next(word for word in said.split() if word.startswith("exchange:"))
            before = len(copies.read_text())
            for _ in range(2):
                sluice.text("infer", "second", "--input", f"x={tensor}", "--output-dir", str(folder / "out"))
                numbers = memoryview((folder / "out/y.npy").read_bytes()[-40:]).cast("f").tolist()
                assert all(abs(number - 0.1) < 1e-6 for number in numbers), numbers
            shown[kind] = copies.read_text()[before:]
    # Over the link for each request; a list then copies it within the device. No copy comes from the host.
    same(shown, {"lists": "ddb" * 2, "transfers": "db" * 2})


def copies_to_a_device_come_in_blocks(folder: Path) -> None:
    copies = folder / "copies"
    place = {**place_of(folder, "far", end=LINKED), "FAR_COPIES": str(copies)}
    package = str(folder / "softmax.sluice")
    Sluice(environment=place).text("compile", str(softmax_model(folder, 100, 100)), "-o", package)
    with Daemon(folder / "d", "--transfer-block-bytes", "4096", environment=place, is_simulated=False) as daemon:
        sluice = at(daemon)
        far = [number for number, one in enumerate(sluice.json("capacity")["devices"]) if one["kind"] == "far"]
        sluice.text("load", package)
        tensor = next(word for word in sluice.text("infer", "softmax", "--input", "x=zeros", "--put", "y").split()
                      if word.startswith("exchange:"))
        before = len(copies.read_text()) if copies.exists() else 0
        for device in far:
            sluice.text("fetch", tensor, "--device", str(device))
        same(copies.read_text()[before:], 10 * "u" + 10 * "d")  # 40,000 bytes


if __name__ == "__main__":
    sys.exit(prove([
        model_runs_on_cores_of_the_device_and_gives_its_memory_back,
        daemon_without_the_device_refuses_the_package,
        segment_of_a_second_kind_needs_a_device_of_this_daemon,
        group_owns_cores_of_both_kinds_of_its_model,
        functions_share_the_device_and_put_a_tensor,
        profile_of_the_device_places_operations,
        slow_copies_back_keep_operations_on_the_host,
        tensor_crosses_the_link_and_is_read_where_it_is,
        kept_output_stays_on_its_device,
        request_reads_a_tensor_of_a_linked_device_over_the_link,
        copies_to_a_device_come_in_blocks,
    ]))
