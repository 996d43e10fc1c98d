#!/usr/bin/env python3
"""Daemons on a machine with four devices in a chain, whose memory the host cannot read: the plug-in `far` of
examples/12_plugin, built from the public headers with four devices on a bus.

    tests/daemon/doors/four_devices.py BUILD_FOLDER CXX
"""

import contextlib
import os
import re
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parent))
from harness import BUILD, Daemon, Sluice, at, eventually, holds, prove, same  # noqa: E402
from own_memory import place_of, softmax_model  # noqa: E402

#: The end of a source with four devices. An address of device D has D in bits 60 and 61. In the folder $FAR_FAULTS/D, a pipe
#: `held` holds the device's work until it has a writer; the plug-in makes the file `waiting` before. With a file `lost` the
#: device is lost.
FOUR = """#include <cstdlib>
#include <filesystem>
#include <fstream>
#include "sluice/extensions/topology.h"
namespace {
struct FourDevices : FarBackend {
  void* reach(void* address) const override {
    return pointer(number(address) & ~(std::uintptr_t{7} << 60));
  }
};
struct Four : plugin::HostPlugin<FourDevices> {
  using Host = plugin::HostPlugin<FourDevices>;
  static constexpr const char* kName = "far";
  static constexpr const char* kVersion = "1.0";
  static std::int32_t num_devices(Backend&) { return 4; }
  static plugin::Status describe(Backend& backend, std::int32_t device, sluice_device_info& info) {
    const std::string address = std::string(std::getenv("FAR_BUS")) + ":00:1" + std::to_string(device) + ".0";
    plugin::detail::copy_text(address, info.bus_address);
    return Host::describe(backend, 0, info);
  }
  static plugin::Status make_kernel(Backend& backend, std::int32_t, const sluice_op& op, Kernel** kernel,
                                    sluice_kernel_info& info) {
    return Host::make_kernel(backend, 0, op, kernel, info);
  }
  static plugin::Status allocate(Backend& backend, std::int32_t device, std::int64_t size, void** address) {
    plugin::Status status = Host::allocate(backend, 0, size, address);
    if (status.is_ok()) *address = pointer(number(*address) | std::uintptr_t(device) << 60);
    return status;
  }
  static plugin::Status make_group(Backend& backend, std::int32_t, std::span<const std::int32_t> cores, Group** group) {
    return Host::make_group(backend, 0, cores, group);
  }
  /// "": the commands use no memory of a device.
  static std::string device_of(const CommandList& list, std::span<void* const> bindings) {
    for (const auto& command : list.commands) {
      for (const auto* arguments : {&command.inputs, &command.outputs}) {
        for (const sluice_argument& each : *arguments) {
          const std::uintptr_t at = number(plugin::detail::address_of(each, bindings));
          if ((at & kFar) != 0) return std::to_string(at >> 60 & 3);
        }
      }
    }
    return "";
  }
  static plugin::Status submit(Stream& stream, CommandList& list, std::span<void* const> bindings) {
    namespace fs = std::filesystem;
    const std::string device = device_of(list, bindings);
    const fs::path faults = fs::path(std::getenv("FAR_FAULTS")) / device;
    if (!device.empty() && fs::exists(faults / "held")) {
      std::ofstream(faults / "waiting");
      std::ifstream(faults / "held").get();
    }
    if (!device.empty() && fs::exists(faults / "lost")) return {SLUICE_UNAVAILABLE, "device " + device + " is lost"};
    return Host::submit(stream, list, bindings);
  }
  static std::int32_t link_count(sluice_backend*) { return 3; }
  static sluice_code describe_link(sluice_backend*, std::int32_t index, sluice_link* link, sluice_message*) {
    constexpr std::int32_t kChain[] = {1, 3, 0, 2};
    link->device_a = std::min(kChain[index], kChain[index + 1]);
    link->device_b = std::max(kChain[index], kChain[index + 1]);
    link->bytes_per_s = 1000000000;
    return SLUICE_OK;
  }
  static const void* find_extension(Backend&, const char* name) {
    static const sluice_topology topology = {sizeof(topology), link_count, describe_link};
    return std::string_view(name) == SLUICE_TOPOLOGY ? &topology : nullptr;
  }
};
}  // namespace
SLUICE_PLUGIN(Four)
"""
CHAIN = (1, 3, 0, 2)  #: the plug-in's devices along their links

#: The bus of this run: one daemon of a machine serves an address.
BUS = f"{1 + os.getpid() % 0xffff:04x}:00"


def bus_address(device: int) -> str:
    return f"{BUS[:4]}:00:1{device}.0"


def four_devices(folder: Path) -> tuple[dict[str, str], str]:
    """The environment in which Sluice finds them, and a model for one of them."""
    faults = folder / "faults"
    for device in range(4):
        (faults / str(device)).mkdir(parents=True)
    place = {**place_of(folder, "far", end=FOUR), "FAR_FAULTS": str(faults), "FAR_BUS": BUS[:4]}
    package = str(folder / "softmax.sluice")
    Sluice(environment=place).text("compile", str(softmax_model(folder, 1, 10)), "-o", package, "--backend", "far")
    return place, package


def numbers_by_address(daemon: Daemon) -> dict[str, int]:
    """The logical number of each of its devices that has an address."""
    ready = re.findall(r'device\.ready device=(\d+) .* address="([^"]+)"', daemon.said())
    return {address: int(number) for number, address in ready}


def answer(sluice: Sluice, model: str) -> None:
    holds(sluice.text("infer", model, "--input", "x=zeros"), "y: f32[1,10]")


def load_on(sluice: Sluice, package: str, device: int, name: str) -> None:
    group = sluice.json("groups", "--create", "1", "--kind", "far", "--device", str(device))["group"]
    sluice.text("load", package, "--group", str(group), "--name", name)
    sluice.text("start", name)


def one_daemon_serves_four_devices_in_a_chain(folder: Path) -> None:
    place, package = four_devices(folder)
    with Daemon(folder / "d", environment=place, is_simulated=False) as daemon:
        sluice = at(daemon)
        numbers = numbers_by_address(daemon)
        along = [numbers[bus_address(device)] for device in CHAIN]
        same(along, list(range(min(along), min(along) + 4)))
        for number in along:
            links = ",".join(str(next_) for next_ in (number - 1, number + 1) if next_ in along)
            [line] = [line for line in daemon.said().splitlines() if f"device.ready device={number} kind=far " in line]
            assert line.endswith(f'links="{links}"'), line
            load_on(sluice, package, number, f"m{number}")
        for number in along:
            answer(sluice, f"m{number}")
        same({core["device"] for group in sluice.json("groups") for core in group["cores"]}, set(along))


def four_daemons_have_the_device_of_an_address_each(folder: Path) -> None:
    place, package = four_devices(folder)
    with contextlib.ExitStack() as running:
        daemons = [running.enter_context(Daemon(folder / f"d{device}", "-t", bus_address(device), environment=place,
                                                is_simulated=False)) for device in range(4)]
        for device, daemon in enumerate(daemons):
            same(list(numbers_by_address(daemon)), [bus_address(device)])
            at(daemon).text("load", package)
        for daemon in daemons:
            answer(at(daemon), "softmax")
        fifth = subprocess.run([str(BUILD / "bin/sluiced"), "-t", bus_address(2), "-g", f"unix:{folder / 's'}"], check=False,
                               capture_output=True, text=True, env={**os.environ, **place})
        same(fifth.returncode, 1)
        holds(fifth.stderr, "is served by ")
        for device in (0, 2):
            daemons[device].kill()
        with Daemon(folder / "both", "-t", bus_address(0), "-t", bus_address(2), environment=place, is_simulated=False) as both:
            same(sorted(numbers_by_address(both)), [bus_address(0), bus_address(2)])
            for daemon in (daemons[1], both, daemons[3]):
                at(daemon).text("load", package, "--name", "again")
                answer(at(daemon), "again")


def held_and_lost_device_keeps_no_other_waiting(folder: Path) -> None:
    """100 requests of another device end while one waits, and 100 more behind the loss."""
    place, package = four_devices(folder)
    with Daemon(folder / "d", environment=place, is_simulated=False) as daemon:
        sluice = at(daemon)
        numbers = numbers_by_address(daemon)
        for device, name in ((0, "well"), (3, "ill")):
            load_on(sluice, package, numbers[bus_address(device)], name)
        faults = folder / "faults/3"
        os.mkfifo(faults / "held")
        waiting = subprocess.Popen([str(BUILD / "bin/sluice"), "infer", "ill", "--input", "x=zeros", "--address", daemon.socket],
                                   stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
        try:
            eventually((faults / "waiting").exists, why=daemon.said)
            sluice.text("infer", "well", "--input", "x=random", "--repeat", "100")
            assert waiting.poll() is None, "it waits for the device"
            (faults / "lost").touch()
            (faults / "held").write_text("go on")
            (faults / "held").unlink()
            holds(waiting.communicate()[1], "device 3 is lost")
        finally:
            waiting.kill()
        sluice.text("infer", "well", "--input", "x=random", "--repeat", "100")
        holds(sluice.refusal("infer", "ill", "--input", "x=zeros"), "out of service")


if __name__ == "__main__":
    sys.exit(prove([one_daemon_serves_four_devices_in_a_chain, four_daemons_have_the_device_of_an_address_each,
                    held_and_lost_device_keeps_no_other_waiting]))
