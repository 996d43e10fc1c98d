"""The C interface that headers declare: structs with their fields, constants and functions, and what a compiler makes of
them. The headers are regular enough for expressions: no nested struct, one declaration a statement."""

import dataclasses
import pathlib
import re
import subprocess
import tempfile

COMMENT = re.compile(r"/\*.*?\*/", re.S)
CXX = re.compile(r"^#ifdef __cplusplus\n.*?^#endif\n", re.S | re.M)
STRUCT = re.compile(r"typedef struct (\w+) \{(.*?)\} \1;", re.S)
FIELD = re.compile(r"\(\*(\w+)\)|(\w+)(?:\[\w+\])?$")
ENUM = re.compile(r"enum \{(.*?)\}", re.S)
MACRO = re.compile(r"^#define (SLUICE_\w+) (\S.*)$", re.M)
FUNCTION = re.compile(r"^SLUICE_API ([^;]*?\b(sluice_\w+)\([^;]*\));", re.M)


def strip(text):
    """C as the compiler sees it: without comments and without what C++ alone reads."""
    text = CXX.sub("", COMMENT.sub("", text))
    return re.sub(r"\n\s*\n+", "\n", re.sub(r"[ \t]+$", "", text, flags=re.M)).lstrip()


@dataclasses.dataclass
class Interface:
    """`fields`: "struct.field" to its declaration. `functions`: name to prototype."""

    folder: pathlib.Path
    headers: list[str]
    fields: dict[str, str]
    constants: list[str]
    functions: dict[str, str]

    @property
    def structs(self):
        return sorted({name.split(".")[0] for name in self.fields})


def read(folder):
    """The interface of all .h files below a folder."""
    folder = pathlib.Path(folder)
    headers = sorted(str(path.relative_to(folder)) for path in folder.rglob("*.h"))
    fields, constants, functions = {}, [], {}
    for header in headers:
        text = strip((folder / header).read_text())
        for struct, body in STRUCT.findall(text):
            for declaration in filter(None, (" ".join(part.split()) for part in body.split(";"))):
                found = FIELD.search(declaration)
                fields[f"{struct}.{found.group(1) or found.group(2)}"] = declaration
        for body in ENUM.findall(text):
            constants += re.findall(r"(SLUICE_\w+)\s*=", body)
        constants += [name for name, value in MACRO.findall(text) if not value.startswith("__attribute__")]
        functions |= {name: " ".join(prototype.split()) for prototype, name in FUNCTION.findall(text)}
    return Interface(folder, headers, fields, sorted(constants), functions)


def _includes(headers):
    lines = [f'#include "{header}"' for header in headers]
    return "\n".join(["#include <stddef.h>", "#include <stdio.h>", *lines, ""])


def layout(compiler, interface):
    """"kind name" to numbers or text: sizes of structs, offset and size of fields, values of constants."""
    lines = [f'printf("struct {name}\\t%zu\\n", sizeof({name}));' for name in interface.structs]
    for name in interface.fields:
        struct, field = name.split(".")
        lines.append(f'printf("field {name}\\t%zu %zu\\n", offsetof({struct}, {field}), sizeof((({struct}*)0)->{field}));')
    for name in interface.constants:
        lines.append(f'printf(_Generic(({name}), char*: "constant {name}\\t%s\\n", default: "constant {name}\\t%d\\n"), {name});')
    program = f"{_includes(interface.headers)}int main(void) {{\n" + "\n".join(lines) + "\nreturn 0;\n}\n"
    with tempfile.TemporaryDirectory() as folder:
        source, built = pathlib.Path(folder, "layout.c"), pathlib.Path(folder, "layout")
        source.write_text(program)
        subprocess.run([compiler, "-std=c11", f"-I{interface.folder}", source, "-o", built], check=True)
        printed = subprocess.run([built], capture_output=True, text=True, check=True).stdout
    return dict(line.split("\t") for line in printed.splitlines())


def type_errors(compiler, old, new):
    """What a compiler says where a field or function that both interfaces have changed its type."""
    lines = []
    for number, (name, declaration) in enumerate(old.fields.items()):
        struct, field = name.split(".")
        if name in new.fields:
            pointer = re.sub(rf"\b{field}\b(?=\)|\[|$)", "(*p)", declaration, count=1)
            lines.append(f"void check_{number}({struct}* x);\n"
                         f'void check_{number}({struct}* x) {{\n# 1 "{name}"\n{pointer} = &x->{field}; (void)p; }}')
    lines += [f'# 1 "{name}"\n{prototype};' for name, prototype in old.functions.items() if name in new.functions]
    text = _includes(new.headers) + "\n".join(lines) + "\n"
    run = subprocess.run([compiler, "-std=c11", "-Werror", f"-I{new.folder}", "-fsyntax-only", "-x", "c", "-"], input=text,
                         capture_output=True, text=True, check=False)
    return [line for line in run.stderr.splitlines() if "error:" in line]
