"""Writes seeds for the fuzz target `operators`: the cases of ONNX's own test suite as graphs in text.

    .venv/bin/python tests/fuzz/operators/make_seeds.py FOLDER

A case of one operation without subgraphs becomes two files. In the first, inputs of few elements
are constants, because they are axes, shapes and bounds; in the second, all but the first, which are weights.
"""
import pathlib
import sys

import numpy as np
import onnx
from onnx import defs, numpy_helper
from onnx.backend.test.case import node as cases

NAMES = {onnx.TensorProto.DataType.Value(k): v for k, v in dict(
    FLOAT="f32", UINT8="u8", INT8="i8", UINT16="u16", INT16="i16", INT32="i32", INT64="i64", STRING="string",
    BOOL="bool", FLOAT16="f16", DOUBLE="f64", UINT32="u32", UINT64="u64", COMPLEX64="c64", COMPLEX128="c128",
    BFLOAT16="bf16", FLOAT8E4M3FN="f8e4m3fn", FLOAT8E4M3FNUZ="f8e4m3fnuz", FLOAT8E5M2="f8e5m2",
    FLOAT8E5M2FNUZ="f8e5m2fnuz", UINT4="u4", INT4="i4", FLOAT4E2M1="f4e2m1", FLOAT8E8M0="f8e8m0", UINT2="u2", INT2="i2").items()}
MAX_CONSTANT_BYTES = 64
MAX_WEIGHT_BYTES = 2048
MAX_BYTES = 1 << 15


def quoted(text):
    return '"' + "".join(c if c.isprintable() and c not in '\\"' and c.isascii() else f"\\x{b:02x}"
                         for c, b in ((chr(b), b) for b in (text if isinstance(text, bytes) else text.encode()))) + '"'


def number(value):
    text = repr(float(np.float32(value)))
    return text if any(c in text for c in ".einf") else text + ".0"


def tensor(proto):
    if proto.data_type == onnx.TensorProto.STRING:
        values = list(proto.string_data)
        offsets = np.cumsum([0] + [len(v) for v in values]).astype(np.int64)
        raw = offsets.tobytes() + b"".join(values)
    else:
        raw = numpy_helper.from_array(numpy_helper.to_array(proto)).raw_data or numpy_helper.to_array(proto).tobytes()
    return f"{NAMES[proto.data_type]}[{','.join(map(str, proto.dims))}]", "hex " + (raw.hex() or "-")


def attribute(a):
    kind = onnx.AttributeProto
    if a.type == kind.INT:
        return str(a.i)
    if a.type == kind.FLOAT:
        return number(a.f)
    if a.type == kind.STRING:
        return quoted(a.s)
    if a.type == kind.INTS:
        return f"[{', '.join(map(str, a.ints))}]"
    if a.type == kind.FLOATS:
        return f"floats [{', '.join(map(number, a.floats))}]"
    if a.type == kind.STRINGS:
        return f"texts [{', '.join(map(quoted, a.strings))}]"
    if a.type == kind.TENSOR:
        return "tensor {} = {}".format(*tensor(a.t))
    raise ValueError("an attribute of another kind")


def graph_text(case, are_weights_constant):
    model = case.model
    if len(model.graph.node) != 1:
        raise ValueError("several nodes")
    node = model.graph.node[0]
    opset = {o.domain: o.version for o in model.opset_import}[node.domain]
    version = defs.get_schema(node.op_type, opset, node.domain).since_version
    lines = []
    for i, (value, given) in enumerate(zip(model.graph.input, case.data_sets[0][0])):
        proto = given if isinstance(given, onnx.TensorProto) else numpy_helper.from_array(np.asarray(given))
        if not value.type.HasField("tensor_type") or proto.ByteSize() > MAX_BYTES:
            raise ValueError("not a small tensor")
        type_, data = tensor(proto)
        is_float = proto.data_type in (1, 10, 11, 16)
        small = len(data) <= 2 * MAX_CONSTANT_BYTES and (not is_float or np.prod(proto.dims) <= 8)
        small = i > 0 and len(data) < MAX_WEIGHT_BYTES if are_weights_constant else small
        lines.append(f"  const %\"{value.name}\" : {type_} = {data}" if small else f"  input %\"{value.name}\" : {type_}")
    name = lambda n: f'%"{n}"' if n else "_"
    results = ", ".join(f"{name(n)} : unknown" if n else "_" for n in node.output)
    domain = f"{node.domain}::" if node.domain else ""
    attributes = ", ".join(f"{a.name} = {attribute(a)}" for a in node.attribute)
    lines.append(f"  [{results}] = {domain}{node.op_type}.{version}[{', '.join(map(name, node.input))}]"
                 + (f" {{{attributes}}}" if attributes else "") + ' "node"')
    lines.append(f"  output [{', '.join(name(n) for n in node.output if n)}]")
    return "subgraph @0 \"main\" {\n" + "\n".join(lines) + "\n}\n"


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    written, left = 0, {}
    for case in cases.collect_testcases(None):
        try:
            texts = {graph_text(case, False): "", graph_text(case, True): "_constants"}
            for text, ending in texts.items():
                (folder / f"{case.name}{ending}.ir").write_text(text)
            written += len(texts)
        except Exception as e:  # noqa: BLE001 - counted and printed
            left.setdefault(f"{type(e).__name__}: {e}"[:70], []).append(case.name)
    print(f"{written} seeds; left out:")
    for reason, names in sorted(left.items(), key=lambda item: -len(item[1])):
        print(f"  {len(names)} {reason}: {', '.join(names[:3])}")


if __name__ == "__main__":
    main()
