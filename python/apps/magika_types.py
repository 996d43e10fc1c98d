"""magika names the types of five files."""

from __future__ import annotations

from typing import Any

SAMPLES = {
    "python": b"import os\n\ndef main():\n    print(os.getcwd())\n\nif __name__ == '__main__':\n    main()\n",
    "json": b'{"a": [1, 2, 3], "b": {"c": "text", "d": null}, "e": [{"f": 1}, {"f": 2}]}',
    "html": b"<!DOCTYPE html><html><head><title>x</title></head><body><p>Hello</p></body></html>",
    "cpp": b"#include <vector>\nint main(int argc, char** argv) { std::vector<int> v; return v.size(); }\n",
    "shell": b"#!/bin/bash\nset -e\nfor f in *.txt; do grep -q x $f && rm -f $f; done\n",
}


def open_app() -> Any:
    from magika import Magika

    return Magika()


def run(app: Any) -> list[str]:
    return [app.identify_bytes(content * 3).output.label for content in SAMPLES.values()]


EXPECTED = list(SAMPLES)
