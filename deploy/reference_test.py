#!/usr/bin/env python3
"""The reference has every function that libsluice exports, with a text."""

import re
import sys
import tempfile
from pathlib import Path

import reference

ROOT = Path(__file__).resolve().parents[1]
HEADER = """/* Turns things. */
#ifndef TURN_H_
#define TURN_H_

#include "sluice/sluice.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- things --------- */

/* A thing. */
typedef struct thing {
  int32_t size; /* in {bytes} */
} thing;

/* Turns it. Fails: NOT_FOUND (5). */
SLUICE_API int32_t turn(thing* what,
                        int32_t times);
SLUICE_API int32_t turn_back(thing* what);

#ifdef __cplusplus
}
#endif
#endif
"""
LAYER = """// Turns things in C++.
#pragma once

namespace sluice {
namespace detail {
inline void hidden() {}
}  // namespace detail

/// A turner.
class Turner {
 public:
  Turner(Turner&& other) noexcept : a_(other.a_) {}
  /// Turns it.
  std::optional<Error> turn(const std::vector<int>& angles = {}) {
    if (angles.empty()) return std::nullopt;
    return turned();
  }

 private:
  int a_;
};

}  // namespace sluice
"""


def pages_of(headers):
    with tempfile.TemporaryDirectory() as name:
        for file, text in headers.items():
            Path(name, file).write_text(text)
        reference.main(Path(name), Path(name, "out"))
        return {path.name: path.read_text() for path in Path(name, "out").iterdir()}


def declarations_have_their_comment():
    text = pages_of({"turn.h": HEADER, "turn.hpp": LAYER})["turn.md"]
    assert "### Things" in text and "  int32_t size; /* in {bytes} */\n} thing;" in text, text
    assert "int32_t turn(thing* what,\n             int32_t times);\nint32_t turn_back(thing* what);" in text, text
    assert "Turns it.\n\nFails: NOT_FOUND (5)." in text, text
    assert "class Turner { ... };" in text and "A turner." in text, text
    assert "std::optional<Error> turn(const std::vector<int>& angles = {});" in text, text
    for dull in ("hidden", "a_", "noexcept", "angles.empty"):
        assert dull not in text, dull


def headers_of_plug_ins_have_no_page():
    pages = pages_of({"turn.h": HEADER, "backend.h": HEADER, "more.h": HEADER.replace("sluice.h", "backend.h")})
    assert sorted(pages) == ["README.md", "turn.md"], pages


# sluice/operators.h includes sluice/backend.h, so that it has no page.
def every_exported_function_stands_in_it_with_a_text():
    with tempfile.TemporaryDirectory() as name:
        reference.main(ROOT / "include/sluice", Path(name))
        text = "\n".join(path.read_text() for path in sorted(Path(name).glob("*.md")) if path.stem != "README")
    exported = re.findall(r"^(?!sluice_(?:num_)?operator)(\w+) SLUICE_0", (ROOT / "tests/abi/symbols.txt").read_text(), re.M)
    assert len(exported) > 60, exported
    missing = [function for function in exported if f" {function}(" not in text and f"*{function}(" not in text]
    assert not missing, f"not in the reference: {missing}"
    silent = re.findall(r"```c\n([^`]*\bsluice_\w+\([^`]*)```\n\n(?=#|$)", text)
    assert not silent, f"functions without a comment: {silent}"


TESTS = (declarations_have_their_comment, headers_of_plug_ins_have_no_page,
         every_exported_function_stands_in_it_with_a_text)
for test in TESTS:
    test()
print(f"{len(TESTS)} passed, 0 failed")
sys.exit(0)
