#!/usr/bin/env python3
"""Writes the dashboard of sluiced for Grafana 9 and later: what `sluice top` shows, over time.

    deploy/monitoring/dashboard.py FILE

Grafana imports the file (Dashboards, Import) and asks for the data source.
Format: https://grafana.com/docs/grafana/latest/dashboards/build-dashboards/view-dashboard-json-model/
"""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass, field
from pathlib import Path

WIDTH = 24  # of a row, in Grafana's units
HEIGHT = 7
CHOSEN = 'job="$job",instance=~"$instance"'
MODEL = CHOSEN + ',name=~"$model"'
SOURCE = {"type": "prometheus", "uid": "${source}"}


@dataclass
class Panel:
    title: str
    unit: str  # of Grafana: https://grafana.com/docs/grafana/latest/panels-visualizations/configure-standard-options/
    queries: dict[str, str]  # legend: expression
    kind: str = "timeseries"
    help: str = ""
    bounds: dict[str, float] = field(default_factory=dict)


def rate(metric: str, labels: str, by: str) -> str:
    return f"sum by ({by}) (rate({metric}{{{labels}}}[$__rate_interval]))"


def quantile(share: float, histogram: str, by: str = "name") -> str:
    return f"histogram_quantile({share}, {rate(histogram + '_bucket', MODEL, f'{by}, le')})"


def latencies(histogram: str) -> dict[str, str]:
    return {"{{name}} p50": quantile(0.5, histogram), "{{name}} p99": quantile(0.99, histogram)}


def busy(of: str, by: str) -> str:
    return f"{rate(f'sluice_{of}_core_busy_seconds_total', CHOSEN, by)} / sum by ({by}) (sluice_{of}_cores{{{CHOSEN}}})"


SHARE = {"min": 0.0, "max": 1.0}
ROWS: dict[str, list[Panel]] = {
    "Daemon": [
        Panel("Ready", "bool_yes_no", {"{{instance}}": f"sluice_ready{{{CHOSEN}}}"}, "stat"),
        Panel("Answers", "reqps", {"{{code}}": rate("sluice_device_requests_answered_total", CHOSEN, "code")},
              help="By runtime code; all but ok are errors."),
        Panel("Cores that compute", "percentunit", {"device {{device}}": busy("device", "device")}, bounds=SHARE),
    ],
    "Models": [
        Panel("Answers of a model", "reqps", {"{{name}}": rate("sluice_model_requests_answered_total", MODEL, "name")}),
        Panel("Errors of a model", "reqps", {
            "{{name}} {{code}}": rate("sluice_model_requests_answered_total", MODEL + ',code!="ok"', "name, code"),
            "{{name}} refused": rate("sluice_model_requests_refused_total", MODEL, "name")}),
        Panel("Requests that wait", "short",
              {"{{name}}": f"sum by (name) (sluice_model_requests_waiting{{{MODEL}}})"}),
        Panel("Latency", "s", latencies("sluice_model_request_duration_seconds"), help="From submission to answer."),
        Panel("Time in the queue", "s", latencies("sluice_model_queue_duration_seconds")),
        Panel("Time of kernels", "s", latencies("sluice_model_compute_duration_seconds")),
        Panel("Busy", "percentunit", {"{{name}}": rate("sluice_model_busy_seconds_total", MODEL, "name")},
              help="Share of the time in which at least one stage of the model ran."),
        Panel("Requests that ran together", "percentunit", {
            "{{name}}": f"{rate('sluice_model_joined_requests_total', MODEL, 'name')} / "
                        f"{rate('sluice_model_requests_answered_total', MODEL, 'name')}"}, bounds=SHARE),
        Panel("Memory", "bytes", {"{{name}}": f"sum by (name) (sluice_model_memory_bytes{{{MODEL}}})"}),
    ],
    "Core groups": [
        Panel("Cores of a group that compute", "percentunit", {"group {{group}}": busy("group", "group")}, bounds=SHARE),
        Panel("Switches between models", "ops",
              {"group {{group}}": rate("sluice_group_switches_total", CHOSEN, "group")}),
        Panel("Ends of workers", "short", {
            "group {{group}}": f"sum by (group) (increase(sluice_group_worker_restarts_total{{{CHOSEN}}}[$__rate_interval]))"}),
    ],
    "Hardware": [
        Panel("Temperature", "celsius", {
            "device {{device}}": f"sum by (device) (sluice_device_temperature_celsius{{{CHOSEN}}})",
            "limit of {{device}}": f"sum by (device) (sluice_device_temperature_limit_celsius{{{CHOSEN}}})"}),
        Panel("Power", "watt", {"device {{device}}": f"sum by (device) (sluice_device_power_watts{{{CHOSEN}}})"}),
        Panel("Errors of memory, slowdowns by heat", "short", {
            "device {{device}} {{kind}}":
                f"sum by (device, kind) (increase(sluice_device_memory_errors_total{{{CHOSEN}}}[$__rate_interval]))",
            "device {{device}} slowed":
                f"sum by (device) (increase(sluice_device_throttles_total{{{CHOSEN}}}[$__rate_interval]))"}),
        Panel("Gets new groups", "bool_yes_no",
              {"device {{device}}": f"min by (device) (sluice_device_placeable{{{CHOSEN}}})"}, "stat"),
    ],
    "Memory and limits": [
        Panel("Memory of devices", "bytes", {
            "device {{device}} {{category}}": f"sum by (device, category) (sluice_device_memory_bytes{{{CHOSEN}}})"}),
        Panel("The daemon's own memory", "bytes", {"{{instance}}": f"sluice_heap_bytes{{{CHOSEN}}}"}),
        Panel("File descriptors", "percentunit", {
            "{{instance}}": f"sluice_descriptors_open{{{CHOSEN}}} / sluice_descriptors_max{{{CHOSEN}}}"}, bounds=SHARE),
        Panel("Sessions", "short", {
            "sessions": f"sum(sluice_sessions{{{CHOSEN}}})",
            "requests in flight": f"sum(sluice_session_requests_in_flight{{{CHOSEN}}})"}),
        Panel("Connections refused", "cps", {
            "{{instance}}": rate("sluice_connections_refused_total", CHOSEN, "instance")}),
    ],
}


def variables() -> list[dict]:
    def of_label(name: str, metric: str, label: str, is_many: bool) -> dict:
        query = f"label_values({metric}, {label})"
        return {"name": name, "type": "query", "datasource": SOURCE, "query": {"query": query, "refId": name},
                "definition": query, "refresh": 2, "sort": 1, "multi": is_many, "includeAll": is_many,
                "current": {"text": "All", "value": "$__all"} if is_many else {}}
    return [{"name": "source", "label": "data source", "type": "datasource", "query": "prometheus"},
            of_label("job", "sluice_build_info", "job", is_many=False),
            of_label("instance", 'sluice_build_info{job="$job"}', "instance", is_many=True),
            of_label("model", f"sluice_model_phase{{{CHOSEN}}}", "name", is_many=True)]


def panel_json(panel: Panel, number: int, place: dict) -> dict:
    targets = [{"refId": chr(ord("A") + i), "expr": expression, "legendFormat": legend, "datasource": SOURCE}
               for i, (legend, expression) in enumerate(panel.queries.items())]
    return {"id": number, "type": panel.kind, "title": panel.title, "description": panel.help, "datasource": SOURCE,
            "gridPos": place, "targets": targets,
            "fieldConfig": {"defaults": {"unit": panel.unit, **panel.bounds}, "overrides": []}}


def dashboard() -> dict:
    panels: list[dict] = []
    y = 0
    for title, row in ROWS.items():
        panels.append({"id": len(panels) + 1, "type": "row", "title": title, "collapsed": False, "panels": [],
                       "gridPos": {"x": 0, "y": y, "w": WIDTH, "h": 1}})
        y += 1
        width = WIDTH // 3
        for i, panel in enumerate(row):
            place = {"x": i % 3 * width, "y": y + i // 3 * HEIGHT, "w": width, "h": HEIGHT}
            panels.append(panel_json(panel, len(panels) + 1, place))
        y += -(-len(row) // 3) * HEIGHT
    return {"uid": "sluice", "title": "Sluice", "tags": ["sluice"], "schemaVersion": 37, "editable": True,
            "time": {"from": "now-1h", "to": "now"}, "refresh": "10s", "timezone": "browser",
            "templating": {"list": variables()}, "panels": panels}


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(json.dumps(dashboard(), indent=1) + "\n")
