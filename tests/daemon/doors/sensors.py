#!/usr/bin/env python3
"""What sluiced does with the sensors of its devices, in a made-up tree of sysfs.

    tests/daemon/doors/sensors.py BUILD_FOLDER
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from harness import Daemon, Sluice, at, compile_digits, eventually, holds, prove, same, set_sensors  # noqa: E402
from metrics import get  # noqa: E402

SECOND = "0000:00:11.0"


def sensed(folder: Path, *flags: str) -> Daemon:
    set_sensors(folder / "sysfs", SECOND, temp1_crit=100_000, temp1_input=71_400, power1_average=84_600_000)
    return Daemon(folder / "d", "--sysfs", str(folder / "sysfs"), "--sensor-seconds", "1", *flags)


def every_door_tells_what_the_sensors_do(folder: Path) -> None:
    with sensed(folder, "--metrics", "localhost:0") as daemon:
        text = get(daemon)[2]
        for line in ('sluice_device_temperature_celsius{device="1"} 71.4\n', 'sluice_device_power_watts{device="1"} 84.6\n',
                     'sluice_device_temperature_limit_celsius{device="1"} 100.0\n', 'sluice_device_placeable{device="1"} 1\n'):
            holds(text, line)
        assert 'sluice_device_temperature_celsius{device="0"}' not in text, "it tells nothing"
        holds(at(daemon).text("stats"), "device 1: healthy, 71 °C, 85 W\n")
        wide = Sluice("--address", daemon.socket, environment={"COLUMNS": "120"})
        holds(wide.text("top", "--once", "--interval", "0.05"), "71 °C, 85 W")
        holds(at(daemon).text("monitor", "--interval", "0.05", "--count", "1"),
              '"sensors":{"temperature_c":71.4,"temperature_limit_c":100.0,"power_w":84.6}')
        same([device["state"] for device in at(daemon).json("server")["health"]["devices"]], ["healthy"] * 4)


def hot_device_gets_no_models_until_it_is_cooler(folder: Path) -> None:
    package = str(compile_digits(folder))
    with sensed(folder) as daemon:
        sluice = at(daemon)
        set_sensors(folder / "sysfs", SECOND, temp1_input=101_000)
        eventually(lambda: "device.withdrawn device=1 " in daemon.said(), why=daemon.said)
        holds(daemon.said(), "it is at 101 °C, its limit is 100 °C")
        said = sluice.run("server")
        same(said.returncode, 1)
        holds(said.stdout, "device 1: failed: it is at 101 °C, its limit is 100 °C; check fans and air")
        holds(said.stdout, "12 of 16 cores free")
        capacity = sluice.json("capacity")
        same((capacity["num_free_cores"], [device["num_free_cores"] for device in capacity["devices"]]), (12, [4, 0, 4, 4]))
        for name in "abcd":
            sluice.text("load", package, "--name", name)
        taken = {core["device"] for group in sluice.json("groups") for core in group["cores"]}
        assert 1 not in taken and len(taken) == 3, taken
        holds(sluice.refusal("groups", "--create", "16"), "device 1 (0000:00:11.0) gets no new group: it is at 101 °C")
        set_sensors(folder / "sysfs", SECOND, temp1_input=60_000)
        eventually(lambda: "device.well device=1 was=failed" in daemon.said(), why=daemon.said)
        for name in "efgh":
            sluice.text("load", package, "--name", name)
        assert 1 in {core["device"] for group in sluice.json("groups") for core in group["cores"]}


def device_that_is_ill_at_the_start_gets_nothing(folder: Path) -> None:
    package = str(compile_digits(folder))
    for device in range(1, 4):
        set_sensors(folder / "sysfs", f"0000:00:1{device}.0", temp1_crit=100_000, temp1_input=120_000)
    with Daemon(folder / "d", "--sysfs", str(folder / "sysfs"), "--models", package, "--models", package) as daemon:
        same({core["device"] for group in at(daemon).json("groups") for core in group["cores"]}, {0})


def without_a_tree_simulated_devices_have_no_sensors(folder: Path) -> None:
    with Daemon(folder / "d") as daemon:
        assert "°C" not in at(daemon).text("top", "--once", "--interval", "0.05")


if __name__ == "__main__":
    sys.exit(prove([every_door_tells_what_the_sensors_do, hot_device_gets_no_models_until_it_is_cooler,
                    device_that_is_ill_at_the_start_gets_nothing, without_a_tree_simulated_devices_have_no_sensors]))
