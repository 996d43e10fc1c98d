#!/usr/bin/env python3
"""The alert rules and the dashboard of deploy/monitoring ask for what sluiced gives.

    tests/daemon/doors/monitoring.py BUILD_FOLDER

Names and labels are compared with /metrics of a running daemon. promtool of Debian's package prometheus reads the
rules and the metrics, too, where it is installed.
"""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
sys.path[:0] = [str(ROOT / "tests/daemon"), str(ROOT / "deploy/monitoring")]
import dashboard  # noqa: E402
from harness import Daemon, at, compile_digits, prove  # noqa: E402
from metrics import get  # noqa: E402

RULES = ROOT / "deploy/monitoring/alerts.yml"
PROMTOOL = shutil.which("promtool")
OF_PROMETHEUS = {"job", "instance", "le"}


def scrape(folder: Path) -> str:
    package = str(compile_digits(folder))
    with Daemon(folder / "d", "--metrics", "localhost:0") as daemon:
        sluice = at(daemon)
        sluice.text("load", package)
        sluice.text("infer", "digits", "--input", "image=zeros")
        return get(daemon)[2]


def asked() -> list[str]:
    """All expressions."""
    queries = [query for row in dashboard.ROWS.values() for panel in row for query in panel.queries.values()]
    return [*queries, *(variable.get("definition", "") for variable in dashboard.variables()), RULES.read_text()]


def daemon_has_all_metrics_and_labels_that_they_ask_for(folder: Path) -> None:
    text = scrape(folder)
    families = dict(re.findall(r"^# TYPE (\w+) (\w+)$", text, re.MULTILINE))
    histograms = {f"{name}_bucket" for name, kind in families.items() if kind == "histogram"}
    labels = OF_PROMETHEUS | set(re.findall(r'[{,](\w+)="', text))
    names = {name for query in asked() for name in re.findall(r"\b(?:sluice|nv)_\w+", query)}
    assert len(names) > 20, names
    assert names <= families.keys() | histograms, names - families.keys() - histograms
    used = {label.strip() for query in asked() for found in re.findall(r"\bby \(([^)]*)\)", query)
            for label in found.split(",")}
    used |= {label for query in asked() for label in re.findall(r'[{,](\w+)!?=~?"', query)}
    assert used and used <= labels, used - labels


def counters_are_asked_for_their_rate(_: Path) -> None:
    for query in asked():
        for name in re.findall(r"(sluice_\w+_total)", query):
            assert re.search(rf"(rate|increase)\({name}", query), f"{name} in {query}"


def panels_stand_beside_each_other(_: Path) -> None:
    taken: set[tuple[int, int]] = set()
    for panel in dashboard.dashboard()["panels"]:
        at_place = panel["gridPos"]
        cells = {(x, y) for x in range(at_place["x"], at_place["x"] + at_place["w"])
                 for y in range(at_place["y"], at_place["y"] + at_place["h"])}
        assert not taken & cells and max(x for x, _ in cells) < dashboard.WIDTH, panel["title"]
        taken |= cells


def promtool_takes_metrics_and_rules(folder: Path) -> None:
    def check(*arguments: str, given: str = "") -> None:
        done = subprocess.run([str(PROMTOOL), *arguments], input=given, capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"promtool {' '.join(arguments)}:\n{done.stdout}{done.stderr}"

    check("check", "rules", str(RULES))
    check("test", "rules", str(RULES.with_name("alerts_test.yml")))
    panels = [query for row in dashboard.ROWS.values() for panel in row for query in panel.queries.values()]
    recorded = [{"record": "panel", "expr": query.replace("$__rate_interval", "5m")} for query in panels]
    (folder / "panels.yml").write_text(json.dumps({"groups": [{"name": "panels", "rules": recorded}]}))
    check("check", "rules", "--lint=none", str(folder / "panels.yml"))
    # promtool wants names of counters to end in _total. Triton's, which its dashboards read, do not.
    ours = [line for line in scrape(folder).splitlines(keepends=True) if not re.search("nv_(inference|cache)_", line)]
    check("check", "metrics", given="".join(ours))


if __name__ == "__main__":
    claims = [daemon_has_all_metrics_and_labels_that_they_ask_for, counters_are_asked_for_their_rate,
              panels_stand_beside_each_other]
    if PROMTOOL is None:
        print("skipped: promtool_takes_metrics_and_rules: there is no promtool; apt-get install prometheus")
    else:
        claims.append(promtool_takes_metrics_and_rules)
    sys.exit(prove(claims))
