#!/usr/bin/env python3
"""Every check must be able to fail: the tests give each one a right and a wrong project."""

import argparse
import contextlib
import importlib.machinery
import importlib.util
import io
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts/checks"))
sys.path.insert(0, str(ROOT / "tests/support"))

import clocks  # noqa: E402
import comments  # noqa: E402
import examples  # noqa: E402
import folders  # noqa: E402
import format as formatting  # noqa: E402
import layers  # noqa: E402
import links  # noqa: E402
import names  # noqa: E402
import project  # noqa: E402
import seed_coverage  # noqa: E402
import sizes  # noqa: E402
import words  # noqa: E402
from eventually import eventually, suspend  # noqa: E402


def load_script(name):
    loader = importlib.machinery.SourceFileLoader(name.replace("-", "_"), str(ROOT / "scripts" / name))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
    sys.modules[loader.name] = module
    loader.exec_module(module)
    return module


def load_run_tests():
    return load_script("run-tests")


class ExamplesTest(unittest.TestCase):
    ROWS = "".join(f"| {row} | a thing | `01_hello` |\n" for row in examples.ROWS)
    PROGRAMS = ("| `01_hello` | [01_hello.cc](01_hello.cc) | one model | `digits.sluice` | here |\n"
                "| `02_plugin` | [02_plugin](02_plugin) | a backend | `digits.onnx` | plug-in |\n")
    SOURCES = {"01_hello.cc", "02_plugin"}

    def test_table_with_all_sources_and_rows_is_right(self):
        self.assertEqual(list(examples.program_problems(self.PROGRAMS, self.SOURCES)), [])
        self.assertEqual(list(examples.row_problems(self.ROWS, examples.programs(self.PROGRAMS))), [])

    def test_programs_that_run_elsewhere_prove_no_row(self):
        self.assertEqual(list(examples.programs(self.PROGRAMS)), ["01_hello"])

    def test_source_outside_of_the_table_is_refused(self):
        self.assertEqual(list(examples.program_problems(self.PROGRAMS, {*self.SOURCES, "03_lost.c"})),
                         ["03_lost.c: not in the table of programs"])

    def test_listed_program_without_a_source_or_a_place_to_run_is_refused(self):
        self.assertEqual(len(list(examples.program_problems(self.PROGRAMS, {"01_hello.cc"}))), 1)
        text = self.PROGRAMS.replace("| here |", "| never |")
        self.assertEqual(len(list(examples.program_problems(text, {"02_plugin"}))), 1)

    def test_row_without_an_existing_program_is_refused(self):
        for old, new in (("| M3 | a thing | `01_hello` |\n", ""), ("| N2 | a thing | `01_hello`", "| N2 | a thing | `gone`"),
                         ("| O8 | a thing | `01_hello`", "| O8 | a thing | ")):
            self.assertEqual(len(list(examples.row_problems(self.ROWS.replace(old, new), {"01_hello"}))), 1, new)

    def test_numbers_with_a_gap_or_a_double_are_refused(self):
        self.assertEqual(list(examples.numbers_problems(self.SOURCES)), [])
        for sources in ({"01_a.cc", "03_b.cc"}, {"01_a.cc", "01_b.py"}, {"02_a.cc"}):
            self.assertEqual(len(list(examples.numbers_problems(sources))), 1, sources)


class NamesTest(unittest.TestCase):
    def problems(self, name):
        text = f"TEST_F(Ring, {name}) {{\n}}\nTEST(Ring, AnswersComeInOrder) {{}}\n"
        return list(names.problems({"src/base/ring_test.cc": text}))

    def test_names_start_with_a_subject(self):
        for name in ("AFullRingIsClosed", "AnEntryIsRead", "TheLastEntryFits", "ItIsFull", "OfOneEntryIsFull"):
            self.assertEqual(len(self.problems(name)), 1, name)
        for name in ("FullRingIsClosed", "AllEntriesAreRead", "ThenItIsFull", "OftenIsFull", "ItemsAreRead"):
            self.assertEqual(self.problems(name), [], name)

    def test_forbidden_forms_of_public_names_are_refused(self):
        for path, text in (("include/sluice/a.h", "void f(int most);"), ("include/sluice/a.h", "int32_t has_no_ring;"),
                           ("include/sluice/a.h", "int32_t on_demand;"), ("src/api/a.h", "struct LoadWish {"),
                           ("include/sluice/a.hpp", "std::size_t most_in_flight();"), ("proto/a.proto", "int32 most_rows = 1;"),
                           ("examples/a.c", "if (code == SLUICE_STATUS_OK) f();"),
                           ("python/sluice/a.py", "def load(*, pinned=False): pass"),
                           ("include/sluice/a.h", "int64_t keep_ns;"),
                           ("python/sluice/a.py", 'options = {"on_demand": 1}')):
            self.assertEqual(len(list(names.problems({path: text}))), 1, text)

    def test_lasting_names_and_prose_are_right(self):
        for path, text in (("include/sluice/a.h", "/* at most 3; on_demand */ int32_t is_on_demand, max_rows;"),
                           ("python/sluice/a.py", '"""at most 3."""\nx = "most of them"  # most'),
                           ("src/base/a.h", "int most = 3;")):
            self.assertEqual(list(names.problems({path: text})), [], text)

    def test_type_that_two_headers_declare_is_refused(self):
        handle, struct = "typedef struct sluice_group sluice_group;\n", "typedef struct sluice_group {\n} sluice_group;\n"
        seen = list(names.problems({"include/sluice/a.h": handle, "include/sluice/b.h": struct}))
        self.assertEqual(len(seen), 1)
        self.assertIn("sluice_group", seen[0])
        self.assertEqual(list(names.problems({"include/sluice/a.h": handle + struct})), [])


class CommentsTest(unittest.TestCase):
    BROKEN = (
        "/// Fails: kInvalidArgument   a type that cannot be read, or a branch\n/// on\n///                           elements\n",
        "/* Queues.\n *\n *   queues   rings of pointers; a loaded model takes the next\n * entries by itself\n */\n",
        "// ---- the table\n// ----------------------------------------------- Command\n// lists record kernels.\n",
        " *  - Ownership: `destroy` frees the object that the\n * matching `create` returned.\n",
        "/// How it fails. Fails: kNotFound  no device\n///        kInvalid   another unit, or none\n",
        "/// Reads a file. Fails: kInvalid,\n/// kUnsupported  the package\n///                             its format\n",
    )
    RIGHT = (
        "/// Fails: kInvalidArgument   a lifetime is empty, or\n///                           ends before it starts\n",
        "/* Queues.\n *\n *   queues   rings of pointers; a loaded model takes\n *            the next entries\n */\n",
        "// ---- the table ------------------------------------\n//\n// Lists record kernels.\n",
        " *  - Ownership: `destroy` frees the object that the\n *    matching `create` returned.\n",
        "//     cold ----------> warm <-----> running\n//       ^               |\n//       +--- time over -+\n",
        "/// Plain prose, over\n/// several lines; one of them  has two blanks.\n",
        "int x;  // a\n// b\n",
    )

    def test_reflowed_tables_are_found(self):
        for text in self.BROKEN:
            self.assertEqual(len(list(comments.problems({"a.h": text}))), 1, text)

    def test_tables_drawings_and_prose_are_right(self):
        for text in self.RIGHT:
            self.assertEqual(list(comments.problems({"a.h": text})), [], text)


class WordsTest(unittest.TestCase):
    def test_a_docs_folder_over_the_limit_names_its_longest_pages(self):
        self.assertEqual(list(words.problems({"docs/a.md": words.LIMIT})), [])
        found = list(words.problems({"docs/a.md": words.LIMIT, "docs/b.md": 2}))
        self.assertIn(" 2 above", found[0])
        self.assertEqual(found[1:], [f"docs/a.md: {words.LIMIT} words", "docs/b.md: 2 words"])

    def test_tables_that_a_command_writes_have_no_words(self):
        text = "two words <!-- rows: begin -->\n| a | b |\n<!-- rows: end --> and <!-- rows: begin --> more"
        self.assertEqual(words.words_of(text), 8)

    def test_decisions_and_pages_elsewhere_do_not_count(self):
        paths = ("docs/api.md", "docs/howto/a.md", "docs/decisions/0001-a.md", "README.md", "docs/a.svg", "bench/a.md")
        self.assertEqual([path for path in paths if words.counted(pathlib.PurePath(path))],
                         ["docs/api.md", "docs/howto/a.md"])


class ClocksTest(unittest.TestCase):
    SLEEPS = "void f() {\n  std::this_thread::sleep_for(ms(1));\n}\n"

    def problems(self, text, entries, most):
        return list(clocks.problems_in({"src/a_test.cc": text}, {"most": most, "allowed": entries}))

    def test_every_kind_of_place_is_found(self):
        for text, kind in (("usleep(1);", "a sleep"), ("    sleep 0.1\n", "a sleep"), ("await asyncio.sleep(1)", "a sleep"),
                           ("poll(nullptr, 0, 5);", "a sleep"), ("auto t = std::chrono::steady_clock::now();", "a clock"),
                           ("time.monotonic()", "a clock"), ("system_clock().now_ns() + 5", "a clock"),
                           ("getrusage(RUSAGE_SELF, &u);", "resident memory"), ('"VmRSS:"', "resident memory"),
                           ('open(f"/proc/{pid}/statm")', "resident memory"),
                           ('os.listdir("/proc/self/fd")', "descriptors or threads"),
                           ('folder / "task"', "descriptors or threads")):
            self.assertEqual(list(clocks.places(text)), [(text.count("\n") or 1, kind)], text)

    def test_virtual_time_and_clocks_that_are_passed_on_are_no_places(self):
        for text in ("sim.time->now_ns()", "clock_.now_ns()", "make(system_clock())", "runtime.wait(time_limit)"):
            self.assertEqual(list(clocks.places(text)), [], text)

    def test_a_place_that_the_list_lacks_is_refused(self):
        self.assertEqual(len(self.problems(self.SLEEPS, {}, 0)), 1)
        self.assertEqual(self.problems(self.SLEEPS, {"src/a_test.cc": {"places": 1, "reason": "a pause"}}, 1), [])

    def test_the_list_only_shrinks(self):
        entry = {"src/a_test.cc": {"places": 1, "reason": "a pause"}}
        self.assertEqual(len(self.problems("", entry, 1)), 1)
        self.assertEqual(len(self.problems(self.SLEEPS, entry, 2)), 1)
        self.assertEqual(len(self.problems("", {"src/gone_test.cc": {"places": 1, "reason": "a pause"}}, 1)), 1)
        self.assertEqual(len(self.problems(self.SLEEPS, {"src/a_test.cc": {"places": 1, "reason": " "}}, 1)), 1)

    def test_production_code_may_read_clocks(self):
        for path, expected in (("src/base/clock.cc", False), ("src/base/clock_test.cc", True), ("bench/ring.cc", False),
                               ("src/rpc/testing/serving.h", True), ("tests/daemon/harness.py", True),
                               ("tests/attack/notes.md", False), ("examples/06_requests.cc", True), ("tests/installed/exchange", True)):
            self.assertEqual(clocks.is_for_tests(pathlib.PurePath(path)), expected, path)


class LinksTest(unittest.TestCase):
    README = pathlib.PurePath("README.md")
    INDEX, PAGE = pathlib.PurePath("docs/README.md"), pathlib.PurePath("docs/howto/page.md")

    def problems(self, pages):
        files = set(pages) | {folder for page in pages for folder in page.parents}
        return [*links.link_problems(pages, files), *links.reach_problems(pages)]

    def test_links_to_pages_folders_headings_and_the_web_are_right(self):
        pages = {self.README: "[docs](docs) [web](https://example.org/x)\n# First `step`, and more\n",
                 self.INDEX: "[page](howto/page.md#a-heading)",
                 self.PAGE: "[up](../../README.md#first-step-and-more)\n## A heading\n"}
        self.assertEqual(self.problems(pages), [])

    def test_link_to_nothing_is_refused_also_in_html(self):
        for link in ("[gone](gone.md)", '<img src="gone.png">', "[gone](../docs/gone)", "[none](#none)"):
            self.assertEqual(len(self.problems({self.README: link})), 1, link)

    def test_links_in_code_are_no_links(self):
        self.assertEqual(self.problems({self.README: "`[a](b)`\n\n    [a](b)\n\n```\n[a](b)\n```\n"}), [])

    def test_page_three_clicks_away_is_refused(self):
        between = pathlib.PurePath("docs/between.md")
        pages = {self.README: "[docs](docs/README.md)", self.INDEX: "[between](between.md)",
                 between: "[page](howto/page.md)", self.PAGE: ""}
        self.assertEqual(self.problems(pages), ["docs/howto/page.md: more than 2 clicks from README.md"])


    def test_decision_that_does_not_say_what_it_replaces_is_refused(self):
        def problems(text, name="docs/decisions/0001-x.md"):
            return list(links.decision_problems({pathlib.PurePath(name): text}))

        for line in ("Replaces: the lines of two classes.", "Replaces: nothing: no mechanism\ncounts memory."):
            self.assertEqual(problems(f"# 1. X\n\n{line}\n\n**Question.** Why?\n"), [], line)
        for text in ("# 1. X\n\n**Question.** Why?\n", "# 1. X\n\nReplaces: nothing.\n\n**Question.** Why?\n", "",
                     "# 1. X\n\nReplaces:\n\n**Question.** Why?\n", "# 1. X\n\n**Question.** Why?\n\nReplaces: all of it.\n"):
            self.assertEqual(len(problems(text)), 1, text)
        self.assertEqual(problems("# Decisions\n", "docs/decisions/README.md"), [])


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

    def test_production_code_that_includes_test_support_is_refused(self):
        for header in ("exec/testing/exec_testing.h", "exec/testing/models.h", "gtest/gtest.h"):
            text = f'#include "{header}"\n'
            self.assertEqual(len(self.problems("src/exec/load.cc", text)), 1, header)
            self.assertEqual(self.problems("src/exec/load_test.cc", text), [], header)
            self.assertEqual(self.problems("src/exec/testing/models.cc", text), [], header)

    def test_test_support_may_include_support_of_all_rooms(self):
        text = '#include "support/sim.h"\n'
        self.assertEqual(self.problems("src/device/testing/devices.h", text), [])
        self.assertEqual(len(self.problems("src/device/devices.h", text)), 1)

    def test_permission_that_no_include_needs_is_refused(self):
        text = '#include "base/status.h"\n'
        with tempfile.TemporaryDirectory() as folder, mock.patch.object(project, "ROOT", pathlib.Path(folder)), \
                mock.patch.dict(layers.ROOMS, {"plan": ["base", "ir"]}):
            pathlib.Path(folder, "src/plan").mkdir(parents=True)
            pathlib.Path(folder, "src/plan/arena.h").write_text(text)
            problems = list(layers.unused_permissions([pathlib.PurePath("src/plan/arena.h")]))
        self.assertEqual(problems, ["layers.toml: src/plan includes nothing of ir: remove the permission"])

    def test_cmake_dependency_upwards_is_refused(self):
        text = "sluice_library(exec SRCS a.cc DEPS {} LINK x)\n"
        self.assertEqual(len(self.problems("src/exec/CMakeLists.txt", text.format("base compile"))), 1)
        self.assertEqual(self.problems("src/exec/CMakeLists.txt", text.format("base plan")), [])

    def test_a_serve_only_room_that_reaches_the_compiler_is_refused(self):
        with mock.patch.dict(layers.ROOMS, {"exec": ["compile"], "compile": []}):
            self.assertTrue(any("serve-only" in problem for problem in layers.table_problems()))

    def test_headers_are_counted_once_however_a_source_reaches_them(self):
        files = {"src/ir/a.h": "", "src/ir/b.h": '#include "ir/a.h"\n', "src/ir/c.h": "",
                 "src/ir/b.cc": '#include "ir/b.h"\n\n#include <vector>\n#include "ir/a.h"\n',
                 "src/ir/b_test.cc": '#include "ir/b.h"\n'}
        with tempfile.TemporaryDirectory() as folder, mock.patch.object(project, "ROOT", pathlib.Path(folder)), \
                mock.patch.object(layers.stamps, "ROOTS", [pathlib.Path(folder, "src")]):
            for path, text in files.items():
                file = pathlib.Path(folder, path)
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(text)
            seen = layers.headers_seen([pathlib.PurePath(path) for path in files])
        self.assertEqual(seen, {pathlib.PurePath("src/ir/b.cc"): 2})

    def test_a_tenth_of_the_sources_with_many_headers_is_refused(self):
        seen = {f"src/{number}.cc": 16 for number in range(18)} | {"src/a.cc": layers.CROWD}
        self.assertEqual(list(layers.crowding(seen)), [])
        problems = list(layers.crowding(seen | {"src/b.cc": layers.CROWD + 9}))
        self.assertEqual(len(problems), 1)
        self.assertIn(f"src/a.cc ({layers.CROWD})", problems[0])

    def test_a_cycle_in_the_table_is_refused(self):
        with mock.patch.dict(layers.ROOMS, {"base": ["ir"]}):
            self.assertTrue(any("reaches itself" in problem for problem in layers.table_problems()))


class FoldersTest(unittest.TestCase):
    def problems(self, files):
        """The problems of a project of these files, path to text."""
        with tempfile.TemporaryDirectory() as folder, mock.patch.object(project, "ROOT", pathlib.Path(folder)):
            for path, text in files.items():
                file = pathlib.Path(folder, path)
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(text)
            return list(folders.problems_in([pathlib.PurePath(path) for path in sorted(files)]))

    def test_folder_over_the_limit_is_refused(self):
        files = {f"src/ops/file{i}.cc": "" for i in range(folders.MAX_FILES)}
        files.update({"src/ops/CMakeLists.txt": "", "src/ops/math/cast.cc": ""})
        self.assertEqual(self.problems(files), [])
        files["src/ops/schema.h"] = ""
        self.assertEqual(self.problems(files), ["src/ops: 26 source files, over 25: make sub-folders by meaning"])

    def test_circle_between_a_room_and_its_sub_folder_is_refused(self):
        files = {"src/ops/schema.h": '#include "ops/math/cast.h"\n', "src/ops/math/cast.h": ""}
        self.assertEqual(self.problems(files), [])
        files["src/ops/math/gather.cc"] = '#include "ops/schema.h"\n'
        problems = self.problems(files)
        self.assertEqual(problems[0], "circle: src/ops -> src/ops/math -> src/ops")
        self.assertEqual(len(problems), 3)

    def test_circle_over_three_folders_is_refused(self):
        files = {"src/ir/a.h": '#include "ops/b.h"\n', "src/ops/b.h": '#include "plan/c.h"\n',
                 "src/plan/c.h": '#include "ir/a.h"\n'}
        self.assertIn("circle: src/ir -> src/ops -> src/plan -> src/ir", self.problems(files))

    def test_circle_inside_a_plug_in_is_refused(self):
        files = {"backends/cpu/isa.h": '#include "kernels/gemm.h"\n', "backends/cpu/kernels/gemm.h": '#include "isa.h"\n'}
        self.assertEqual(len(self.problems(files)), 3)

    def python_problems(self, **modules):
        return self.problems({"python/net/__init__.py": "from .model import Model\n", "python/net/_native.pyi": "",
                              **{f"python/net/{name}.py": text for name, text in modules.items()}})

    def test_python_modules_over_each_other_make_no_circle(self):
        self.assertEqual(self.python_problems(model="import json\nfrom . import _native\nfrom .errors import Error\n",
                                              errors="import model\n"), [])

    def test_circle_of_python_modules_is_refused_wherever_the_import_stands(self):
        for text in ("from .model import Model\n", "from . import model\n", "import net.model\n",
                     "def f():\n    from .model import Model\n", "from net import Model\n",
                     "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from .model import Model\n"):
            problems = self.python_problems(model="from .runtime import Runtime\n", runtime=text)
            self.assertIn("circle: python/net/", problems[0], text)
            self.assertGreaterEqual(len(problems), 3, text)

    def test_circle_of_python_folders_is_refused(self):
        files = {"python/net/__init__.py": "", "python/net/model.py": "from .torch.trace import trace\n",
                 "python/net/torch/__init__.py": "", "python/net/torch/trace.py": "from ..errors import Error\n",
                 "python/net/errors.py": ""}
        self.assertEqual(self.problems(files)[0], "circle: python/net -> python/net/torch -> python/net")

    def test_circle_of_scripts_that_see_their_folder_is_refused(self):
        self.assertEqual(len(self.problems({"tests/e2e/a.py": "import b\n", "tests/e2e/b.py": "import a\n"})), 3)
        self.assertEqual(self.problems({"tests/e2e/a.py": "import b\n", "tests/e2e/b.py": "import c\n"}), [])

    def test_tests_and_their_support_make_no_circle(self):
        files = {"src/ops/math/cast.h": '#include "ops/schema.h"\n', "src/ops/schema.h": "",
                 "src/ops/schema_test.cc": '#include "ops/math/cast.h"\n#include "ops/testing/graphs.h"\n',
                 "src/ops/testing/graphs.h": '#include "ops/schema.h"\n'}
        self.assertEqual(self.problems(files), [])


@unittest.skipUnless(shutil.which("clang-format-14") or shutil.which("clang-format"), "no clang-format")
class FormatTest(unittest.TestCase):
    UGLY, NEAT = "int  a ;\n", "int a;\n"

    def setUp(self):
        stack = contextlib.ExitStack()
        self.addCleanup(stack.close)
        self.root = pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory())).resolve()
        stack.enter_context(mock.patch.object(project, "ROOT", self.root))
        stack.enter_context(mock.patch.object(formatting, "STAMPS", self.root / "build/format.json"))
        (self.root / ".clang-format").write_text("BasedOnStyle: Google\n")
        (self.root / "src").mkdir()
        self.files = [self.root / path for path in ("one.cc", "src/two.h", "src/three.c")]
        for file in self.files:
            file.write_text(self.UGLY)

    def run_format(self, *arguments):
        """The exit status, the lines printed, and which files are formatted now."""
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            status = formatting.main([str(argument) for argument in arguments])
        return status, printed.getvalue().splitlines(), [file.read_text() == self.NEAT for file in self.files]

    def test_all_files_are_checked_and_fixed(self):
        status, lines, neat = self.run_format()
        self.assertEqual((status, len(lines), neat), (1, 3, [False] * 3))
        status, _, neat = self.run_format("--fix")
        self.assertEqual((status, neat), (0, [True] * 3))
        self.assertEqual(self.run_format()[0], 0)

    def test_the_ugly_files_among_neat_ones_are_named(self):
        for number in range(2 * formatting.BATCH):
            (self.root / f"neat{number}.cc").write_text(self.NEAT)
        self.files[1].write_text(self.NEAT)
        self.assertEqual([line.split(":")[0] for line in self.run_format()[1]], ["one.cc", "src/three.c"])

    def test_named_files_and_folders_alone_are_fixed(self):
        self.assertEqual(self.run_format("--fix", self.files[0])[::2], (0, [True, False, False]))
        self.assertEqual(self.run_format()[0], 1)
        self.assertEqual(self.run_format("--fix", self.root / "src")[::2], (0, [True] * 3))
        self.assertEqual(self.run_format()[0], 0)

    def test_a_name_of_no_source_is_refused_before_anything_is_written(self):
        for name in ("gone.cc", ".clang-format", "../elsewhere.cc"):
            status, lines, neat = self.run_format("--fix", self.files[0], self.root / name)
            self.assertEqual((status, neat), (1, [False] * 3))
            self.assertEqual(lines, [f"format: {self.root / name}: no C or C++ file of the project"])

    def test_an_unknown_option_is_refused(self):
        with contextlib.redirect_stderr(io.StringIO()) as told, self.assertRaises(SystemExit):
            formatting.main(["--all"])
        self.assertIn("--all", told.getvalue())


class SeedCoverageTest(unittest.TestCase):
    def problems(self, text):
        return list(seed_coverage.page_problems(text, {"Map.IsRead", "Map.IsWritten", "daemon_tcp"}))

    def test_suites_have_the_name_of_the_source(self):
        names = [seed_coverage.suite_name(text) for text in ("Map.", "Drivers/Map.", "Map/0.", "All/Map/1.")]
        self.assertEqual(names, ["Map"] * 4)

    def test_functions_of_a_python_test_have_names(self):
        found = seed_coverage.script_tests("check_scripts", ["python3", "tests/checks/checks_test.py", "build"])
        self.assertIn("check_scripts", found)
        self.assertIn("check_scripts/load_run_tests", found)

    def test_entries_of_all_states_are_right(self):
        self.assertEqual(self.problems("| N-1.1 | a | proved | `Map.IsRead`, `daemon_tcp` |\n"
                                       "| N-1.2 | b | partly: no GPU | `Map.IsWritten` |\n"
                                       "| N-1.3 | c | planned: containers | |\n"
                                       "| N-1.4 | d | not applicable: a figure | – |\n"), [])

    def test_a_missing_test_is_reported(self):
        self.assertEqual(self.problems("| N-1.1 | a claim | proved | `Map.IsRead`, `Map.IsGone` |\n"),
                         ["N-1.1: no test Map.IsGone in the build"])

    def test_a_proved_entry_without_a_test_is_reported(self):
        self.assertEqual(self.problems("| N-1.1 | a claim | proved | later |\n"), ["N-1.1: proved without a test"])

    def test_an_entry_without_a_state_or_a_reason_is_reported(self):
        self.assertEqual(len(self.problems("| N-1.1 | a claim | | `Map.IsRead` |\n")), 1)
        self.assertEqual(len(self.problems("| N-1.1 | a claim | perhaps | `Map.IsRead` |\n")), 1)
        self.assertEqual(self.problems("| N-1.1 | a claim | planned | |\n"), ["N-1.1: planned without a reason"])

    def test_malformed_repeated_foreign_and_no_entries_are_reported(self):
        self.assertEqual(len(self.problems("| N-1.1 | a claim without its last column |\n")), 2)
        row = "| N-1.1 | a claim | proved | `Map.IsRead` |\n"
        self.assertEqual(self.problems(row + row), ["N-1.1: appears twice"])
        self.assertEqual(self.problems(row + row.replace("N", "M")), ["M-1.1: the page's letter is N"])
        self.assertEqual(self.problems("nothing"), ["page: no entries"])


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


class StressTestsTest(unittest.TestCase):
    """Each part harms what runs, and leaves nothing behind."""

    @classmethod
    def setUpClass(cls):
        cls.stress = load_script("stress-tests")

    def running(self, **environment):
        program = subprocess.Popen(["sleep", "1000"], env={**os.environ, **environment})
        self.addCleanup(program.wait)
        self.addCleanup(program.kill)
        return program.pid

    def test_loops_end_with_their_part(self):
        def loops():
            return [process for process in self.stress.numbers_in("/proc")
                    if int(self.stress.stat_of(process)[1]) == os.getpid()]

        before = loops()
        with self.stress.busy(argparse.Namespace(loops=2), ""):
            self.assertEqual(len(loops()), len(before) + 2)
        self.assertEqual(loops(), before)

    def test_one_core_is_left_and_all_come_back(self):
        before = os.sched_getaffinity(0)
        with self.stress.core(argparse.Namespace(), ""):
            self.assertEqual(len(os.sched_getaffinity(0)), 1)
        self.assertEqual(os.sched_getaffinity(0), before)

    def test_threads_of_the_run_alone_lose_their_cores_for_a_while(self):
        ours, other = self.running(**{self.stress.MARK: "/a/lock"}), self.running(**{self.stress.MARK: "/other"})
        before = os.sched_getaffinity(ours)
        cores = self.stress.Cores("/a/lock")
        self.assertEqual(cores.threads(), [ours])
        cores.take_away()
        self.assertEqual((len(os.sched_getaffinity(ours)), os.sched_getaffinity(other)), (1, before))
        cores.give_back()
        self.assertEqual(os.sched_getaffinity(ours), before)

    def test_stopped_programs_and_those_of_others_are_not_paused(self):
        process = self.running()
        folder = os.path.dirname(os.readlink(f"/proc/{process}/exe"))
        eventually(lambda: self.stress.may_stop(process, folder + "/"))
        self.assertFalse(self.stress.may_stop(process, "/another/build/"))
        suspend(process)
        eventually(lambda: not self.stress.may_stop(process, folder + "/"))


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
