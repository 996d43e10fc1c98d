#!/usr/bin/env python3
"""The prose check finds riddles in every kind of file, and leaves plain sentences alone."""

import contextlib
import io
import pathlib
import sys
import tempfile
import unittest
from unittest import mock

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts/checks"))

import project  # noqa: E402
import prose  # noqa: E402

RIDDLE = "What it was told of goes where the others are."
PLAIN = "The scheduler keeps the request until the driver reports completion."


class ProseTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        patch = mock.patch.object(project, "ROOT", self.root)
        patch.start()
        self.addCleanup(patch.stop)

    def write(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return pathlib.Path(name)

    def riddles(self, name, text, area=None):
        found = prose.examine(self.write(name, text))
        return [riddle for one, (_, riddles) in found.items() if area in (None, one) for riddle in riddles]

    def run_check(self, *arguments):
        output = io.StringIO()
        with mock.patch.object(sys, "argv", ["prose.py", *arguments]), contextlib.redirect_stdout(output):
            status = prose.main()
        return status, output.getvalue()

    def test_riddles_differ_from_plain_sentences(self):
        self.assertTrue(prose.is_riddle(RIDDLE))
        self.assertFalse(prose.is_riddle(PLAIN))

    def test_short_sentences_are_labels(self):
        self.assertFalse(prose.is_riddle("None of it is there."))

    def test_names_of_code_have_content(self):
        self.assertFalse(prose.is_riddle("`all` of `them` go to `it` with `that` beside `those` of `one`."))
        self.assertEqual(prose.words_of("read_file, kMax: base::Status"), ["read_file", "code_", "code_"])

    def test_comments_and_strings_of_cpp_are_two_areas(self):
        text = f'int a;  ///< {RIDDLE}\n/* {RIDDLE} */\nconst char* b = "// {RIDDLE}";\n'
        self.assertEqual(len(self.riddles("src/a.h", text, "src")), 2)
        self.assertEqual(len(self.riddles("src/a.h", text, "literals")), 1)

    def test_adjacent_strings_are_one_sentence(self):
        text = 'f("the isolation {} is "\n  "none of these", "x", "told", R"(nobody may fetch)");\n'
        self.assertEqual(self.riddles("src/a.cc", text, "literals"),
                         ["src/a.cc:1: the isolation `x` is none of these", "src/a.cc:2: nobody may fetch"])

    def test_strings_of_tests_are_not_read(self):
        for name in ("src/a_test.cc", "src/testing/a.h", "tests/a.cc", "python/tests/test_a.py"):
            self.assertEqual(self.riddles(name, 'x = "nobody may fetch"\n'), [], name)

    def test_users_read_sentences_with_a_subject_and_without_house_words(self):
        for sentence in ("Whose block a device copies next", "Of groups that have a limit.", "Most of them of one user",
                         "After which an upload ends without data", "The level is none of these.", "It was told to stop.",
                         "By which the copies are found", "Unless nobody reads it."):
            self.assertEqual(len(self.riddles("docs/a.md", sentence)), 1, sentence)
            self.assertEqual(self.riddles("docs/decisions/a.md", sentence), [], sentence)
        for sentence in ("Of these groups, one has a limit.", "Whose block is next?", "The two are told apart by name.",
                         "`it was told` by another.", "Of course."):
            self.assertEqual(self.riddles("docs/a.md", sentence), [], sentence)

    def test_sentences_of_comments_name_their_subject(self):
        for sentence in ("Of one request.", "Whose sums fit the registers.", "Most bytes of a call.",
                         "Of `model`, while it runs.", "After which an upload ends.",
                         "Waits for an answer. Of two, the first."):
            for name, text in (("src/a.h", f"/// {sentence}\n"), ("src/a.cc", f"int a;  // {sentence}\n"),
                               ("include/a.h", f"/* {sentence} */\n"), ("src/page/a.js", f"/** {sentence} */\n"),
                               ("python/a.py", f'def f():\n    """{sentence}"""\n'),
                               ("python/b.py", f"a = 1  #: {sentence}\n"), ("tests/a.py", f"# {sentence}\n"),
                               ("src/CMakeLists.txt", f"# {sentence}\n"), ("src/b.cc", f'add("{sentence}");\n')):
                self.assertEqual(len(self.riddles(name, text, prose.OPENINGS)), 1, (name, sentence))

    def test_plain_beginnings_of_comments_pass(self):
        for sentence in ("Controls one request.", "The largest of them. Most models have one.", "What a model holds.",
                         "Offers two of each."):
            self.assertEqual(self.riddles("src/a.h", f"/// {sentence}\n", prose.OPENINGS), [], sentence)
        self.assertEqual(self.riddles("src/a_test.cc", 'f("Of one request.");\n', prose.OPENINGS), [])
        self.assertEqual(self.riddles("docs/a.md", "Of these groups, one has a limit.\n", prose.OPENINGS), [])

    def test_no_beginning_without_a_subject_is_allowed(self):
        self.write("src/a.h", f"// {PLAIN}\n" * 1000 + "\n// Of one request.\n")
        status, output = self.run_check()
        self.assertEqual(status, 1)
        self.assertIn("src/a.h:1002: Of one request.", output)
        self.assertIn("openings: 1 of 1001 sentences", output)

    def test_comments_behind_neighbouring_lines_of_code_are_not_joined(self):
        text = "a = 1  #: streams of it that are\nb = 2  #: what came of those\n"
        self.assertEqual(self.riddles("tests/a.py", text), [])

    def test_strings_of_scripts_in_a_page_are_no_comments(self):
        text = f"const a = '' + 'http://x';  // {PLAIN}\nconst b = `// Of ${{a}}\n/* Of it */`;\n"
        self.assertEqual(self.riddles("src/page/a.js", text), [])
        self.assertEqual(len(self.riddles("src/page/b.js", text + f"// {RIDDLE}\n")), 1)

    def test_a_sentence_is_reported_at_its_first_line(self):
        text = f"int a;\n\n/// {PLAIN}\n/// What it was told of goes\n/// where the others are.\nint b;\n"
        self.assertEqual(self.riddles("src/a.h", text), [f"src/a.h:4: {RIDDLE}"])

    def test_comments_and_docstrings_of_python_are_read(self):
        text = f'"""{RIDDLE}"""\n\n\ndef f():\n    """{PLAIN}"""\n    # {RIDDLE}\n    return "# {RIDDLE}"\n'
        self.assertEqual(len(self.riddles("tools/a.py", text, "tools")), 2)
        self.assertEqual(len(self.riddles("tools/a.py", text, "literals")), 1)

    def test_inserted_values_of_python_are_names(self):
        text = 'def f(n, a):\n    return f"the mode {n!r} is " f"none of {a}" + "two words"\n'
        self.assertEqual(self.riddles("python/a.py", text), ["python/a.py:2: the mode `x` is none of `x`"])

    def test_comments_of_cmake_and_shell_are_read(self):
        self.assertEqual(len(self.riddles("src/CMakeLists.txt", f"# {RIDDLE}\nproject(a)\n")), 1)
        self.assertEqual(len(self.riddles("tools/run", f"#!/usr/bin/env bash\n# {RIDDLE}\n")), 1)
        self.assertEqual(self.riddles("tools/data.txt", f"# {RIDDLE}\n"), [])

    def test_markdown_is_read_without_code(self):
        text = f"# Title\n\n- {RIDDLE}\n\n```\n{RIDDLE}\n```\n\n| a | {RIDDLE} |\n"
        self.assertEqual(len(self.riddles("docs/a.md", text)), 2)

    def test_licences_are_left_out(self):
        self.assertEqual(self.riddles("src/a.h", f"// Copyright: {RIDDLE}\n"), [])

    def test_a_folder_over_the_limit_fails_and_lists_its_riddles(self):
        self.write("src/a.h", f"// {PLAIN}\n" * 100 + f"// {RIDDLE}\n")
        status, output = self.run_check()
        self.assertEqual(status, 1)
        self.assertIn(f"src/a.h:101: {RIDDLE}", output)
        self.assertIn("src: 1 of 101 sentences", output)

    def test_a_folder_below_the_limit_passes(self):
        self.write("src/a.h", f"// {PLAIN}\n" * 200 + f"// {RIDDLE}\n")
        self.assertEqual(self.run_check()[0], 0)

    def test_a_named_file_fails_with_its_first_riddle(self):
        self.write("src/a.h", f"// {PLAIN}\n" * 200 + f"// {RIDDLE}\n")
        self.assertEqual(self.run_check("src/a.h")[0], 1)


if __name__ == "__main__":
    unittest.main()
