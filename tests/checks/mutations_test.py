#!/usr/bin/env python3
"""scripts/checks/mutations.py can fail, and scripts/mutate makes the switches that it says."""

import importlib.machinery
import importlib.util
import pathlib
import sys
import unittest
from unittest import mock

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts/checks"))

import mutations  # noqa: E402

TABLE = """
[a_is_never_b]
file = "src/a.cc"
at = "if (a == b)"
from = "a == b"
to = "false"
test = "a_test A.IsB:A.IsC"
"""
SOURCE = "bool x = a == b;\nif (a == b) return;\n"


def load_mutate():
    loader = importlib.machinery.SourceFileLoader("mutate", str(ROOT / "scripts/mutate"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
    loader.exec_module(module)
    return module


class TableTest(unittest.TestCase):
    def test_text_that_occurs_once_at_its_place_is_right(self):
        (one,) = mutations.read(TABLE)
        self.assertIsNone(one.problem(SOURCE))
        self.assertEqual(one.applied(SOURCE, "false"), "bool x = a == b;\nif (false) return;\n")

    def test_text_that_occurs_twice_or_never_is_named(self):
        (one,) = mutations.read(TABLE)
        self.assertIn("occurs 0 times in src/a.cc", one.problem("if (a != b) return;\n"))
        self.assertIn("occurs 2 times in src/a.cc", one.problem(SOURCE + SOURCE))
        (one,) = mutations.read(TABLE.replace('at = "if (a == b)"\n', ""))
        self.assertIn("occurs 2 times in src/a.cc", one.problem(SOURCE))

    def test_tests_that_are_not_there_are_named(self):
        (one,) = mutations.read(TABLE)
        self.assertEqual(list(mutations.missing_tests(one, {"A.IsB", "A.IsC"})), [])
        self.assertEqual(list(mutations.missing_tests(one, {"A.IsB"})), ["A.IsC"])
        (one,) = mutations.read(TABLE.replace("a_test A.IsB:A.IsC", "python_package python/tests/none.py::test_a"))
        self.assertEqual(list(mutations.missing_tests(one, set())), ["python/tests/none.py::test_a"])

    def test_unknown_keys_are_refused(self):
        with self.assertRaisesRegex(KeyError, "a_is_never_b: form"):
            mutations.read(TABLE.replace("from", "form"))


class SwitchTest(unittest.TestCase):
    def setUp(self):
        self.mutate = load_mutate()

    def test_source_of_cpp_has_both_expressions(self):
        (one,) = mutations.read(TABLE)
        text = self.mutate.switched(one, SOURCE)
        self.assertTrue(text.startswith("bool x = a == b;\nif (([] { "))
        self.assertTrue(text.endswith('"a_is_never_b") == 0; }() ? (false) : (a == b))) return;\n'))

    def test_source_of_python_follows_the_variable(self):
        (one,) = mutations.read(TABLE.replace("a.cc", "a.py").replace("if (a == b)", "x = a == b").replace("false", "None"))
        text = self.mutate.switched(one, "x = a == b\n")
        for name, expected in (("a_is_never_b", None), ("another", True)):
            with mock.patch.dict("os.environ", {self.mutate.SWITCH: name}):
                values = {"a": 1, "b": 1}
                exec(text, values)
                self.assertIs(values["x"], expected)

    def test_mutations_of_one_file_are_made_together(self):
        both = mutations.read(TABLE + '[x_is_false]\nfile = "src/a.cc"\nat = "x = a == b"\nfrom = "a == b"\nto = "false"\n'
                              'test = "a_test A.IsB"\n')
        with mock.patch.object(mutations.Mutation, "source", lambda _: SOURCE):
            (text,) = self.mutate.sources_with(both).values()
        self.assertEqual([text.count(f'"{one.name}"') for one in both], [1, 1])

    def test_parametrised_tests_are_run_too(self):
        self.assertEqual(self.mutate.command_of("a_test", "A.IsB:*C*")[-1], "--gtest_filter=A.IsB:*/A.IsB/*:*C*")


if __name__ == "__main__":
    unittest.main()
