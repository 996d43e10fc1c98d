#!/usr/bin/env python3
"""Floods at most double the p99 of another client of the daemon.

    tests/attack/neighbours_p99.py BUILD_FOLDER [--exchange] [WINDOWS [FLOOD...]]    # 7 windows of every flood

Run it alone: on a busy machine it judges nothing and ends with code 77. Windows with and without a flood
take turns, and medians of their p99 are compared, so one hiccup of the machine decides nothing. The flooders
run when no other wants a processor: a remote attacker's processor time is not this machine's.
"""

import os
import statistics
import sys
import time
from pathlib import Path

from fetch_peers import giver, port_of
from flooder import FLOODS
from pressure import Flood, Neighbour
from harness import prove

WORDS = [word for word in sys.argv[2:] if word != "--exchange"]
IS_OF_EXCHANGE = "--exchange" in sys.argv  #: the port of the exchange is flooded
WINDOWS = int(WORDS[0]) if WORDS else 7
NAMES = WORDS[1:] or list(FLOODS)
REQUESTS = 1000  # of a window; the p99 is the tenth from the slowest
FACTOR = 2
#: Added to the limit. A kernel that wakes a thread on the processor where a flooder is inside a system call
#: lets that call end first: some 50 us for 64 KiB into a socket.
FLOOR_US = 50
MOST_BUSY = 0.1  # of the processors' time


def processor_seconds() -> tuple[float, float]:
    """Seconds of all processors since the start: busy, and in all."""
    words = [int(word) for word in Path("/proc/stat").read_text().split("\n")[0].split()[1:9]]
    idle = words[3] + words[4]
    return sum(words) - idle, sum(words)


def busy_share(seconds: float = 2) -> float:
    busy, total = processor_seconds()
    time.sleep(seconds)
    busy_after, total_after = processor_seconds()
    return (busy_after - busy) / max(total_after - total, 1)


def neighbours_are_served_during_floods(folder: Path) -> None:
    slow = []
    with giver(folder, "-g", "localhost:0") as daemon:
        port = port_of(daemon)[1] if IS_OF_EXCHANGE else None
        neighbour = Neighbour(daemon, folder)
        neighbour.p99_us(5 * REQUESTS)  # warms up
        for name in NAMES:
            before, during, taken, connected = [], [], 0, 0
            for _ in range(WINDOWS):
                before.append(neighbour.p99_us(REQUESTS))
                with Flood(daemon, name, port=port) as flood:
                    during.append(neighbour.p99_us(REQUESTS))
                taken, connected = taken + flood.taken, connected + flood.connected
            quiet_us, flooded_us = statistics.median(before), statistics.median(during)
            print(f"     {name}: neighbour's p99 {quiet_us:.0f} us, {flooded_us:.0f} us during the flood "
                  f"({flooded_us / quiet_us:.2f}x, at most {max(during):.0f} us), {taken / 2**20:.0f} MiB and "
                  f"{connected} connections taken", flush=True)
            if flooded_us > FACTOR * quiet_us + FLOOR_US:
                slow.append(name)
    assert not slow, f"the neighbour waits longer than {FACTOR}x + {FLOOR_US} us during: {', '.join(slow)}"


if __name__ == "__main__":
    busy = busy_share()
    if busy > MOST_BUSY and "SLUICE_JUDGE_BUSY" not in os.environ:
        print(f"skipped: others use {100 * busy:.0f} % of the processors; latencies are judged on a machine "
              f"that does nothing else")
        sys.exit(77)
    sys.exit(prove([neighbours_are_served_during_floods]))
