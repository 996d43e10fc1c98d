// PagedAttention: a warp per row and head (text/attend.h), which finds its keys and values by the
// table of its sequence. Pages hold f32, f16, bf16, or rows of 8 bits that RoundRows makes.

#include <algorithm>
#include <cmath>

#include "plugin/generate/attention/rounded_rows.h"
#include "plugin/generate/families.h"
#include "plugin/generate/text/attend.h"
#include "plugin/generate/text/body.h"
#include "plugin/generate/text/integers.h"
#include "plugin/generate/text/types.h"
#include "plugin/generate/text/warp_rows.h"

namespace sluice::cuda {
namespace {

constexpr const char* kKinds[] = {"sluice::PagedAttention", nullptr};

enum Operand : int { kQuery, kKeys, kValues, kPositions, kSequences, kTables, kNumOperands };

constexpr int kRanks[] = {2, 4, 4, 1, 1, 2};

/// q [rows, heads * size], keys [pages, kv_heads, places, size + behind], values alike with
/// value_size, tables [sequences, blocks].
struct Shape {
  std::int64_t rows = 0, heads = 0, kv_heads = 0, size = 0, value_size = 0, behind = 0;
  std::int64_t pages = 0, places = 0, sequences = 0, blocks = 0;
};

/// Bytes behind the numbers of a row of keys or values.
std::int64_t bytes_behind(const sluice_op& op) {
  return op.inputs[kKeys].tensor.element_type == plugin::kI8 ? kScaleBytes : 0;
}

/// Numbers of a row of a pool; below 0 where they are unknown.
std::int64_t row_size(const sluice_op& op, int pool) {
  const std::int64_t row = plugin::dims_of(op.inputs[pool].tensor)[3];
  return row < 0 ? row : std::max<std::int64_t>(row - bytes_behind(op), 0);
}

Status check_operands(const sluice_op& op) {
  if (op.body != nullptr) return plugin::unimplemented("PagedAttention: a fused body");
  if (op.num_inputs != kNumOperands || op.num_outputs != 1) return shapes_disagree(op);
  const sluice_element_type type = op.inputs[kQuery].tensor.element_type;
  const sluice_element_type kept = op.inputs[kKeys].tensor.element_type;  // pages may have halves
  bool fits = is_real(type) && (is_real(kept) || kept == plugin::kI8) &&
              op.outputs[0].tensor.element_type == type;
  for (int i = 0; i < kNumOperands; ++i) {
    const sluice_tensor& tensor = op.inputs[i].tensor;
    if (tensor.rank != kRanks[i]) return shapes_disagree(op);
    fits = fits && tensor.layout == SLUICE_LAYOUT_ROW_MAJOR &&
           tensor.element_type == (i == kQuery      ? type
                                   : i < kPositions ? kept
                                                    : plugin::kI64);
  }
  if (fits) return plugin::ok();
  return plugin::unimplemented(
      "PagedAttention: operands must be row-major, f32, f16 or bf16, keys and values of one type, "
      "which may be i8");
}

Status check(const sluice_op& op) {
  if (Status status = check_operands(op); !status.is_ok()) return status;
  const auto dims = [&](int input) { return plugin::dims_of(op.inputs[input].tensor); };
  const Dims q = dims(kQuery);
  const Dims k = dims(kKeys);
  const Dims v = dims(kValues);
  const Dims y = plugin::dims_of(op.outputs[0].tensor);
  const std::int64_t size = row_size(op, kKeys), value_size = row_size(op, kValues);
  const bool has_pages = k[1] != 0 && k[2] != 0 && size != 0 && value_size != 0;
  bool fits = has_pages && y.size() == 2 && agree(k.first(3), v.first(3)) && agree(q[0], y[0]) &&
              agree(q[0], dims(kPositions)[0]) && agree(q[0], dims(kSequences)[0]);
  if (fits && q[1] >= 0 && k[1] > 0 && size > 0) {
    fits = q[1] % (k[1] * size) == 0 && (value_size < 0 || agree(q[1] / size * value_size, y[1]));
  }
  if (!fits) return shapes_disagree(op);
  if (value_size <= kMaxValueSize) return plugin::ok();
  return plugin::unimplemented("PagedAttention: values of " + std::to_string(value_size) +
                               " elements; at most " + std::to_string(kMaxValueSize));
}

Shape shape_of(const sluice_op& op) {
  const Dims q = plugin::dims_of(op.inputs[kQuery].tensor);
  const Dims k = plugin::dims_of(op.inputs[kKeys].tensor);
  const Dims tables = plugin::dims_of(op.inputs[kTables].tensor);
  const std::int64_t size = row_size(op, kKeys);
  return {q[0], q[1] / size, k[1],      size,     row_size(op, kValues), bytes_behind(op),
          k[0], k[2],        tables[0], tables[1]};
}

/// Statements that find what the row sees, [begin, end), and check it: positions, sequences and the
/// pages of the table are data.
std::string find_sight(const sluice_op& op, const Shape& shape) {
  const std::int64_t window = plugin::Attributes(op).get_int("window");
  const std::string places = std::to_string(shape.places);
  const std::string blocks = std::to_string(shape.blocks);
  return "  const Index head = row % " + std::to_string(shape.heads) + ", token = row / " +
         std::to_string(shape.heads) + ", kv = head / " +
         std::to_string(shape.heads / shape.kv_heads) + ";\n  long long at = x4[token];\n" +
         check_place(shape.sequences, shape.sequences, 0) +
         "  const long long* table = x5 + at * " + blocks +
         ";\n  const long long position = x3[token];\n" + "  at = position < 0 ? -1 : position / " +
         places + ";\n" + check_place(shape.blocks, shape.blocks, 1) +
         "  const Index end = Index(position) + 1, begin = " +
         (window > 0
              ? "end > " + std::to_string(window) + " ? end - " + std::to_string(window) + " : 0"
              : std::string("0")) +
         ";\n  for (Index block = begin / " + places + "; block <= Index(position) / " + places +
         "; ++block) {\n  at = table[block];\n" + check_place(shape.pages, shape.pages, 0) +
         "  }\n";
}

/// Reads rows of 8 bits as if they were numbers. A scale stands at any address.
constexpr const char* kRoundedRow = R"(struct RoundedRow {
  const signed char* numbers;
  float scale;
  __device__ float operator[](int d) const { return float(numbers[d]) * scale; }
};
static __device__ RoundedRow rounded_row(const signed char* numbers, int size) {
  const unsigned char* const b = reinterpret_cast<const unsigned char*>(numbers) + size;
  return {numbers, __uint_as_float(b[0] | b[1] << 8 | b[2] << 16 | unsigned(b[3]) << 24)};
}
)";

/// The statement that makes `name` the numbers of place `at` in a pool.
std::string point(const char* name, const char* pool, const char* at, const Shape& shape,
                  std::int64_t size) {
  const std::string places = std::to_string(shape.places);
  const std::string row = std::string(pool) + " + ((table[" + at + " / " + places + "] * " +
                          std::to_string(shape.kv_heads) + " + kv) * " + places + " + " + at +
                          " % " + places + ") * " + std::to_string(size + shape.behind);
  const std::string numbers =
      shape.behind > 0 ? "rounded_row(" + row + ", " + std::to_string(size) + ")" : row;
  return std::string("    const auto ") + name + " = " + numbers + ";\n";
}

Status write(const sluice_op& op, Source* source) {
  const Shape shape = shape_of(op);
  const std::int64_t rows = shape.rows * shape.heads;
  if (!set_row_grid(rows, source)) return too_large(op);
  const float given = plugin::Attributes(op).get_float("scale");
  const float scale = given != 0 ? given : 1 / std::sqrt(static_cast<float>(shape.size));
  const float cap = plugin::Attributes(op).get_float("softcap");
  const std::string scaled = "s * " + literal(scale);
  const std::string score =
      cap > 0 ? "tanhf(" + scaled + " / " + literal(cap) + ") * " + literal(cap) : scaled;
  Parameters parameters(op);
  for (int input = 0; input < kNumOperands; ++input) parameters.add(input);
  parameters.report_indices();
  std::int64_t largest = shape.places * shape.blocks;  // a place of a sequence
  for (const int input : {kQuery, kKeys, kValues}) {
    largest = std::max(largest, plugin::num_elements(op.inputs[input].tensor));
  }
  largest = std::max(largest, plugin::num_elements(op.outputs[0].tensor));
  const std::string head_row = "(token * " + std::to_string(shape.heads) + " + head) * ";
  source->text = attend_functions() + (shape.behind > 0 ? kRoundedRow : "") +
                 kernel_head(parameters, largest) + find_row(rows) + find_sight(op, shape) +
                 "  const auto* q = x0 + " + head_row + std::to_string(shape.size) +
                 ";\n  const auto score = [&](Index j, bool) -> float {\n" +
                 point("k", "x1", "j", shape, shape.size) +
                 "    float s = 0.0f;\n    for (int d = 0; d < " + std::to_string(shape.size) +
                 "; ++d) s += float(q[d]) * float(k[d]);\n    return " + score + ";\n  };\n" +
                 attend_text("begin", "end", shape.value_size,
                             point("v", "x2", "at", shape, shape.value_size)) +
                 store_attended("y[" + head_row + std::to_string(shape.value_size) + " + d]",
                                shape.value_size, "a[n] / sum") +
                 "}\n";
  source->operands = parameters.operands();
  source->reports_indices = true;
  return plugin::ok();
}

}  // namespace

const Family kPagedAttentionFamily = {kKinds, check, write};

}  // namespace sluice::cuda
