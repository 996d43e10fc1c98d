// Sluice's PagedAttention: each row gathers the keys and values that it sees, and attends to them.
// RoundRows makes rows of 8 bits for it.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>

#include "reference/families.h"
#include "reference/kernels/sequence/attention.h"
#include "reference/kernels/support.h"
#include "reference/tensors.h"

namespace sluice::reference {
namespace {

constexpr auto kPageNumbers = kFloats + Types<std::int8_t>();

enum PagedInput { kQ, kKeys, kValues, kPositions, kSequences, kTables };

/// q [rows, heads * size], keys [pages, kv_heads, places, size], values alike with v_size, tables
/// [sequences, blocks].
struct PagedShape {
  std::int64_t rows = 0, heads = 0, kv_heads = 0, size = 0, v_size = 0;
  std::int64_t pages = 0, places = 0, sequences = 0, blocks = 0;
  std::int64_t window = 0;
};

/// Bytes of a row's scale, an f32 behind its numbers of i8.
constexpr std::int64_t kScaleBytes = sizeof(float);

/// What stands behind the numbers of a row of keys or values.
std::int64_t bytes_behind(const sluice_tensor& pool) {
  return pool.element_type == plugin::kI8 ? kScaleBytes : 0;
}

Status check_elements(const sluice_op& op) {
  const sluice_element_type pages = op.inputs[kKeys].tensor.element_type;
  for (const int i : {kQ, kKeys, kValues, kPositions, kSequences, kTables}) {
    const sluice_element_type given = op.inputs[i].tensor.element_type;
    const bool fits = i >= kPositions ? given == plugin::kI64
                      : i == kQ       ? contains(kFloats, given)
                                      : given == pages && contains(kPageNumbers, given);
    if (!fits) return unsupported_type(op, given);
  }
  return plugin::ok();
}

Status read_shape(const Call& call, PagedShape* shape) {
  const Dims q = input_dims(call, kQ);
  const Dims k = input_dims(call, kKeys);
  const Dims v = input_dims(call, kValues);
  const Dims tables = input_dims(call, kTables);
  if (q.size() != 2 || k.size() != 4 || v.size() != 4 || tables.size() != 2) {
    return refuse(call, "its inputs have other ranks");
  }
  const std::int64_t size = k[3] - bytes_behind(call.input(kKeys));
  const std::int64_t v_size = v[3] - bytes_behind(call.input(kValues));
  *shape = {q[0], 0, k[1], size, v_size, k[0], k[2], tables[0], tables[1]};
  if (k[0] != v[0] || k[1] != v[1] || k[2] != v[2] || k[1] < 1 || k[2] < 1 || size < 1 ||
      v_size < 1 || q[1] % (k[1] * size) != 0) {
    return refuse(call, "q, keys and values do not fit");
  }
  shape->heads = q[1] / size;
  shape->window = call.attributes().get_int("window");
  const std::array rows = {q[0]};
  Status status = check_dims(call, call.input(kPositions), rows, "positions");
  return status.is_ok() ? check_dims(call, call.input(kSequences), rows, "sequences") : status;
}

/// What a row sees of one sequence: the places [begin, end), and the pages of its table.
struct Sight {
  std::int64_t begin = 0, end = 0;
  std::span<const std::int64_t> table;
};

Status find_sight(const PagedShape& shape, std::int64_t position, std::int64_t sequence,
                  std::span<const std::int64_t> tables, Sight* sight) {
  if (sequence < 0 || sequence >= shape.sequences) {
    return plugin::index_outside(sequence, 0, shape.sequences);
  }
  if (position < 0 || position / shape.places >= shape.blocks) {
    return plugin::index_outside(position / shape.places, 1, shape.blocks);
  }
  sight->end = position + 1;
  sight->begin = shape.window > 0 ? std::max<std::int64_t>(0, sight->end - shape.window) : 0;
  sight->table = tables.subspan(index(sequence * shape.blocks), index(shape.blocks));
  for (std::int64_t i = sight->begin / shape.places; i <= position / shape.places; ++i) {
    const std::int64_t page = sight->table[index(i)];
    if (page < 0 || page >= shape.pages) return plugin::index_outside(page, 0, shape.pages);
  }
  return plugin::ok();
}

/// Rows of `size` numbers, as floats have them.
std::vector<double> read_rows(const sluice_tensor& pool, std::int64_t size) {
  if (bytes_behind(pool) == 0) return read_doubles(pool);
  const auto bytes = plugin::elements<const std::int8_t>(pool);
  std::vector<double> numbers;
  for (std::size_t row = 0; row < bytes.size(); row += index(size + kScaleBytes)) {
    float scale = 0;
    std::memcpy(&scale, &bytes[row + index(size)], sizeof scale);
    for (std::size_t i = 0; i < index(size); ++i) {
      numbers.push_back(static_cast<double>(bytes[row + i]) * scale);
    }
  }
  return numbers;
}

/// [kv_heads, places that are seen, size].
std::vector<double> gather(const PagedShape& shape, const Sight& sight,
                           const std::vector<double>& pool, std::int64_t size) {
  std::vector<double> seen;
  for (std::int64_t head = 0; head < shape.kv_heads; ++head) {
    for (std::int64_t place = sight.begin; place < sight.end; ++place) {
      const std::int64_t page = sight.table[index(place / shape.places)];
      const auto* row =
          pool.data() +
          ((page * shape.kv_heads + head) * shape.places + place % shape.places) * size;
      seen.insert(seen.end(), row, row + size);
    }
  }
  return seen;
}

Status run_paged_attention(const Call& call) {
  PagedShape shape;
  Status status = read_shape(call, &shape);
  if (!status.is_ok()) return status;
  const std::vector<double> q = read_doubles(call.input(kQ));
  const std::vector<double> keys = read_rows(call.input(kKeys), shape.size);
  const std::vector<double> values = read_rows(call.input(kValues), shape.v_size);
  const std::vector<std::int64_t> positions = read_ints(call.input(kPositions));
  const std::vector<std::int64_t> sequences = read_ints(call.input(kSequences));
  const std::vector<std::int64_t> tables = read_ints(call.input(kTables));
  const double scale = call.attributes().get_float("scale");
  const double cap = std::max(0.0F, call.attributes().get_float("softcap"));
  std::vector<double> y;
  for (std::int64_t row = 0; row < shape.rows; ++row) {
    Sight sight;
    status = find_sight(shape, positions[index(row)], sequences[index(row)], tables, &sight);
    if (!status.is_ok()) return status;
    AttentionProblem problem = {1,          shape.heads, shape.kv_heads, 1, sight.end - sight.begin,
                                shape.size, shape.v_size};
    problem.scale = scale != 0 ? scale : 1 / std::sqrt(static_cast<double>(shape.size));
    problem.softcap = cap;
    problem.zero_rows = ZeroRows::kNone;
    const auto first = q.begin() + row * shape.heads * shape.size;
    problem.q.assign(first, first + shape.heads * shape.size);
    problem.k = gather(shape, sight, keys, shape.size);
    problem.v = gather(shape, sight, values, shape.v_size);
    const std::vector<double> result = attend(problem, ScoreStage::kSoftmax, nullptr);
    y.insert(y.end(), result.begin(), result.end());
  }
  return write_doubles(call, 0, y);
}

constexpr float kMostByte = 127;

/// Zeros become zeros of scale 0, and what holds an infinity or NaN zeros of scale NaN.
float scale_of(std::span<const float> row) {
  float most = 0;
  for (const float x : row) {
    if (!std::isfinite(x)) return std::numeric_limits<float>::quiet_NaN();
    most = std::max(most, std::fabs(x));
  }
  const float scale = most / kMostByte;
  return scale < std::numeric_limits<float>::min() ? 0 : scale;
}

std::int8_t rounded(float x, float scale) {
  if (!(scale > 0)) return 0;
  return static_cast<std::int8_t>(std::clamp(std::nearbyint(x / scale), -kMostByte, kMostByte));
}

Status check_rows(const sluice_op& op) {
  if (!contains(kFloats, op.inputs[0].tensor.element_type)) {
    return unsupported_type(op, op.inputs[0].tensor.element_type);
  }
  return op.inputs[0].tensor.rank > 0 ? plugin::ok() : refuse(op, "x has no rows");
}

Status run_round_rows(const Call& call) {
  const Dims dims = input_dims(call, 0);
  std::vector<std::int64_t> wanted(dims.begin(), dims.end());
  wanted.back() += kScaleBytes;
  Status status = expect_dims(call, 0, wanted);
  if (!status.is_ok()) return status;
  const std::vector<double> given = read_doubles(call.input(0));
  const std::vector<float> x(given.begin(), given.end());
  const auto y = plugin::elements<std::int8_t>(call.output(0));
  const std::size_t size = index(dims.back());
  std::size_t at = 0;
  for (std::size_t end = 0; end < y.size(); at += size) {
    const std::span<const float> row = std::span(x).subspan(at, size);
    const float scale = scale_of(row);
    for (const float number : row) y[end++] = rounded(number, scale);
    std::memcpy(&y[end], &scale, sizeof scale);
    end += sizeof scale;
  }
  return plugin::ok();
}

}  // namespace

std::vector<KernelEntry> paged_kernels() {
  return {{.domain = "sluice",
           .kind = "PagedAttention",
           .run = run_paged_attention,
           .check = check_elements,
           .num_required_inputs = 6,
           .output_types = {kTypeOfInput0}},
          {.domain = "sluice",
           .kind = "RoundRows",
           .run = run_round_rows,
           .check = check_rows,
           .output_types = {plugin::kI8}}};
}

}  // namespace sluice::reference
