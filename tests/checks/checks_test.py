#!/usr/bin/env python3
"""The checks must be able to fail: each is shown something wrong and something right."""

import importlib.machinery
import importlib.util
import pathlib
import sys
import tempfile
import unittest
from unittest import mock

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts/checks"))

import layers  # noqa: E402
import project  # noqa: E402
import seed_coverage  # noqa: E402
import sizes  # noqa: E402


def load_run_tests():
    loader = importlib.machinery.SourceFileLoader("run_tests", str(ROOT / "scripts/run-tests"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("run_tests", loader))
    sys.modules["run_tests"] = module
    loader.exec_module(module)
    return module


class LayersTest(unittest.TestCase):
    def problems(self, path, text):
        with tempfile.TemporaryDirectory() as folder, mock.patch.object(project, "ROOT", pathlib.Path(folder)):
            file = pathlib.Path(folder, path)
            file.parent.mkdir(parents=True)
            file.write_text(text)
            check = layers.misplaced_links if file.name == "CMakeLists.txt" else layers.misplaced_includes
            return list(check(pathlib.Path(path)))

    def test_include_upwards_is_refused(self):
        self.assertEqual(len(self.problems("src/ir/graph.h", '#include "exec/executor.h"\n')), 1)

    def test_include_downwards_and_of_the_own_room_is_allowed(self):
        self.assertEqual(self.problems("src/ir/graph.h", '#include "base/status.h"\n#include "ir/type.h"\n'), [])

    def test_plug_in_sees_the_table_only(self):
        self.assertEqual(len(self.problems("backends/cpu/a.cc", '#include "base/status.h"\n')), 1)
        self.assertEqual(self.problems("backends/cpu/a.cc", '#include "sluice/backend.h"\n'), [])
        self.assertEqual(len(self.problems("backends/cpu/a.cc", '#include "sluice/sluice.h"\n')), 1)
        self.assertEqual(self.problems("backends/cpu/a.cc", '#include "a.cc"\n'), [])

    def test_protobuf_stays_where_it_belongs(self):
        self.assertEqual(len(self.problems("src/ops/a.cc", "#include <google/protobuf/message.h>\n")), 1)
        self.assertEqual(self.problems("src/onnx/a.cc", "#include <onnx/onnx_pb.h>\n"), [])

    def test_cmake_dependency_upwards_is_refused(self):
        text = "sluice_library(exec SRCS a.cc DEPS {} LINK x)\n"
        self.assertEqual(len(self.problems("src/exec/CMakeLists.txt", text.format("base compile"))), 1)
        self.assertEqual(self.problems("src/exec/CMakeLists.txt", text.format("base plan")), [])

    def test_a_serve_only_room_that_reaches_the_compiler_is_refused(self):
        with mock.patch.dict(layers.ROOMS, {"exec": ["compile"], "compile": []}):
            self.assertTrue(any("serve-only" in problem for problem in layers.table_problems()))

    def test_a_cycle_in_the_table_is_refused(self):
        with mock.patch.dict(layers.ROOMS, {"base": ["ir"]}):
            self.assertTrue(any("reaches itself" in problem for problem in layers.table_problems()))


class SeedCoverageTest(unittest.TestCase):
    def problems(self, text):
        return list(seed_coverage.problems_in(text, {"Map.IsRead", "Map.IsWritten"}))

    def test_suites_are_called_as_in_the_source(self):
        names = [seed_coverage.suite_name(text) for text in ("Map.", "Drivers/Map.", "Map/0.", "All/Map/1.")]
        self.assertEqual(names, ["Map"] * 4)

    def test_claims_with_known_tests_are_right(self):
        self.assertEqual(self.problems("| N-1.1 | a claim | `Map.IsRead` |\n| M-1.1 | b | `Map.IsWritten` |\n"), [])

    def test_a_test_that_is_not_there_is_told(self):
        self.assertEqual(self.problems("| N-1.1 | a claim | `Map.IsRead`, `Map.IsGone` |\n"),
                         ["N-1.1: no test Map.IsGone in the built programs"])

    def test_a_claim_without_a_test_is_told(self):
        self.assertEqual(self.problems("| N-1.1 | a claim | later |\n"), ["N-1.1: no test"])

    def test_rows_that_are_none_repeated_ones_and_no_rows_are_told(self):
        self.assertEqual(len(self.problems("| N-1.1 | a claim without its third column |\n")), 2)
        row = "| N-1.1 | a claim | `Map.IsRead` |\n"
        self.assertEqual(self.problems(row + row), ["N-1.1: there twice"])
        self.assertEqual(self.problems("nothing"), ["no claims"])


class SizesTest(unittest.TestCase):
    def test_functions_are_measured_and_types_are_not(self):
        body = "  f();\n" * 70
        text = f"namespace a {{\nstruct S {{\n{body}}};\nint big(int x) {{\n{body}}}\nint small() {{ return 1; }}\n}}\n"
        lengths = {name: length for name, _, length in sizes.cpp_functions(text)}
        self.assertEqual(lengths, {"big": 72, "small": 1})

    def test_braces_in_strings_and_comments_mean_nothing(self):
        text = 'int f() {\n  g("{{{");  // {\n  return \'{\';\n}\n'
        self.assertEqual([entry[2] for entry in sizes.cpp_functions(text)], [4])

    def test_a_table_is_not_a_function(self):
        rows = "    {f(1), 2},\n" * 100
        self.assertEqual(list(sizes.cpp_functions(f"constexpr Row kRows[] = {{\n{rows}}};\n")), [])


class RunTestsTest(unittest.TestCase):
    def setUp(self):
        self.run_tests = load_run_tests()

    def tally(self, status, output="", report=None):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "report.xml")
            if report:
                path.write_text(report)
            return str(self.run_tests.cases_of_program("t", status, output, path))

    def test_cases_of_a_report_are_counted(self):
        report = ('<testsuites><testsuite><testcase name="a" classname="S" status="run"/>'
                  '<testcase name="b" classname="S" status="run"><failure message="x"/></testcase>'
                  '<testcase name="c" classname="S" status="run"><skipped message="f:1&#10;why"/></testcase>'
                  '</testsuite></testsuites>')
        self.assertEqual(self.tally("fail", report=report), "1 passed, 1 failed, 1 skipped")

    def test_a_program_that_fails_outside_its_cases_fails(self):
        report = '<testsuites><testsuite><testcase name="a" classname="S" status="run"/></testsuite></testsuites>'
        self.assertEqual(self.tally("fail", report=report), "1 passed, 1 failed")
        self.assertEqual(self.tally("fail"), "0 passed, 1 failed")

    def test_a_summary_line_counts_for_as_many(self):
        self.assertEqual(self.tally("run", "x\n40 passed, 0 failed, 2 skipped\n"), "40 passed, 0 failed, 2 skipped")


if __name__ == "__main__":
    unittest.main()
