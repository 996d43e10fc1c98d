// RotaryEmbedding: one thread per element, which turns with its partner.

#include <algorithm>

#include "plugin/generate/attention/problem.h"
#include "plugin/generate/families.h"
#include "plugin/generate/text/body.h"
#include "plugin/generate/text/integers.h"

namespace sluice::cuda {
namespace {

constexpr const char* kKinds[] = {"RotaryEmbedding", nullptr};

enum Operand : int { kX, kCosines, kSines, kPositions };

bool has_positions(const sluice_op& op) {
  return op.num_inputs > kPositions && !plugin::is_absent(op.inputs[kPositions].tensor);
}

/// How many elements of a head turn.
std::int64_t rotated_of(const sluice_op& op, const Heads& heads) {
  const std::int64_t given = plugin::Attributes(op).get_int("rotary_embedding_dim");
  return given > 0 ? given : heads.size;
}

bool caches_fit(const sluice_op& op, const Heads& heads) {
  const Dims cosines = plugin::dims_of(op.inputs[kCosines].tensor);
  const std::int64_t rotated = rotated_of(op, heads);
  if (cosines.empty() || !agree(cosines, plugin::dims_of(op.inputs[kSines].tensor))) return false;
  if (rotated >= 0 && (rotated < 2 || !agree(cosines.back(), rotated / 2))) return false;
  if (heads.size >= 0 && rotated > heads.size) return false;
  if (!has_positions(op)) {
    return cosines.size() == 3 && agree(cosines[0], heads.batch) && agree(cosines[1], heads.length);
  }
  const std::array places = {heads.batch, heads.length};
  return cosines.size() == 2 && agree(plugin::dims_of(op.inputs[kPositions].tensor), places);
}

Status check(const sluice_op& op) {
  if (Status status = check_floats(op, kPositions); !status.is_ok()) return status;
  if (op.num_inputs < kPositions) return shapes_disagree(op);
  if (has_positions(op)) {
    if (Status status = check_integers(op, kPositions); !status.is_ok()) return status;
  }
  Heads heads;
  const bool fits =
      agree(plugin::dims_of(op.inputs[kX].tensor), plugin::dims_of(op.outputs[0].tensor)) &&
      find_heads(op, op.inputs[kX].tensor, "num_heads", &heads) && caches_fit(op, heads);
  return fits ? plugin::ok() : shapes_disagree(op);
}

Status write(const sluice_op& op, Source* source) {
  Heads heads;
  if (!find_heads(op, op.inputs[kX].tensor, "num_heads", &heads)) return shapes_disagree(op);
  const auto text = [](std::int64_t value) { return std::to_string(value); };
  const std::int64_t half = rotated_of(op, heads) / 2;
  const Dims cache = plugin::dims_of(op.inputs[kCosines].tensor);
  const bool is_interleaved = plugin::Attributes(op).get_int("interleaved") != 0;
  Parameters parameters(op);
  const std::string x = parameters.add(kX);
  const std::string cosines = parameters.add(kCosines);
  const std::string sines = parameters.add(kSines);
  // Behind the last axis lies that of heads where they are packed, else that of places.
  std::string statements =
      fill("  const Index d = i % $0, place = $1;\n  long long at = place;\n",
           {text(heads.size), heads.is_packed ? fill("i / $0", {text(heads.size * heads.heads)})
                                              : fill("i / $0 * $1 + i / $2 % $1",
                                                     {text(heads.size * heads.heads * heads.length),
                                                      text(heads.length), text(heads.size)})});
  if (has_positions(op)) {
    parameters.report_indices();
    statements +=
        "  at = " + parameters.add(kPositions) + "[place];\n" + check_place(cache[0], cache[0], 0);
  }
  statements += fill(is_interleaved
                         ? "  const bool is_first = d % 2 == 0;\n  const int k = d / 2, step = 1;\n"
                         : "  const bool is_first = d < $0;\n  const int k = d % $0, step = $0;\n",
                     {text(half)});
  statements += fill(
      "  float value = $0[i];\n  if (d < 2 * $1) {\n"
      "    const float cosine = $2[at * $1 + k], sine = $3[at * $1 + k];\n"
      "    value = is_first ? cosine * value - sine * float($0[i + step])\n"
      "                     : cosine * value + sine * float($0[i - step]);\n  }\n",
      {x, text(half), cosines, sines});
  const std::int64_t largest = plugin::num_elements(cache);
  return write_kernel(op, std::move(parameters), {"value", statements, 256, largest}, source);
}

}  // namespace

const Family kRotaryFamily = {kKinds, check, write};

}  // namespace sluice::cuda
