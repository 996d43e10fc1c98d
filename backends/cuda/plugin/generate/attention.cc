// Attention, ONNX's and Sluice's own: a warp per query (text/attend.h).

#include <algorithm>
#include <array>
#include <cmath>

#include "plugin/generate/families.h"
#include "plugin/generate/text/attend.h"
#include "plugin/generate/text/body.h"
#include "plugin/generate/text/integers.h"
#include "plugin/generate/text/types.h"
#include "plugin/generate/text/warp_rows.h"

namespace sluice::cuda {
namespace {

constexpr const char* kKinds[] = {"Attention", "sluice::Attention", nullptr};

enum Operand : int { kQuery, kKey, kValue, kMask, kPastKey, kPastValue, kKeep };

/// ONNX's input 6: how many keys of each batch element count.
constexpr int kLengths = 6;

bool is_own(const sluice_op& op) { return std::string_view(op.domain) == "sluice"; }

bool has_input(const sluice_op& op, int input) {
  return op.num_inputs > input && !plugin::is_absent(op.inputs[input].tensor);
}

bool has_output(const sluice_op& op, int output) {
  return op.num_outputs > output && !plugin::is_absent(op.outputs[output].tensor);
}

/// A tensor of heads, [batch, heads, length, size] or [batch, length, heads * size].
struct Heads {
  std::int64_t batch = -1, heads = -1, length = -1, size = -1;
  bool is_packed = false;

  /// Where the elements of a head at one place begin.
  std::string start(const std::string& b, const std::string& head, const std::string& at) const {
    const std::int64_t per_head = is_packed ? size : length * size;
    const std::int64_t per_place = is_packed ? heads * size : size;
    return b + " * " + std::to_string(heads * length * size) + " + " + head + " * " +
           std::to_string(per_head) + " + " + at + " * " + std::to_string(per_place);
  }
};

/// False where the tensor cannot be one of heads.
bool find_heads(const sluice_op& op, const sluice_tensor& tensor, const char* attribute,
                Heads* heads) {
  const Dims dims = plugin::dims_of(tensor);
  if (dims.size() == 4) {
    *heads = {dims[0], dims[1], dims[2], dims[3]};
    return true;
  }
  const std::int64_t count = plugin::Attributes(op).get_int(attribute);
  if (is_own(op) || dims.size() != 3 || count < 1 || (dims[2] >= 0 && dims[2] % count != 0)) {
    return false;
  }
  *heads = {dims[0], count, dims[1], dims[2] < 0 ? -1 : dims[2] / count, true};
  return true;
}

struct Problem {
  Heads q, k, v, y;
  std::int64_t past = 0;       ///< keys before those of this run
  std::int64_t keys = -1;      ///< all of them
  std::int64_t mask_keys = 0;  ///< the mask hides later ones
};

std::array<std::int64_t, 4> scores_dims(const Problem& p, std::int64_t keys) {
  return {p.q.batch, p.q.heads, p.q.length, keys};
}

/// Sizes, -1 where they are unknown. False where they contradict each other.
bool find_problem(const sluice_op& op, Problem* problem) {
  Problem& p = *problem;
  const auto tensor = [&](int input) -> const sluice_tensor& { return op.inputs[input].tensor; };
  if (op.num_inputs < 3 || !find_heads(op, tensor(kQuery), "q_num_heads", &p.q) ||
      !find_heads(op, tensor(kKey), "kv_num_heads", &p.k) ||
      !find_heads(op, tensor(kValue), "kv_num_heads", &p.v)) {
    return false;
  }
  if (!agree(p.q.batch, p.k.batch) || !agree(p.q.batch, p.v.batch) || !agree(p.q.size, p.k.size) ||
      !agree(p.k.heads, p.v.heads) || !agree(p.k.length, p.v.length) || p.k.heads == 0 ||
      (p.q.heads >= 0 && p.k.heads > 0 && p.q.heads % p.k.heads != 0) ||
      has_input(op, kPastKey) != has_input(op, kPastValue)) {
    return false;
  }
  if (has_input(op, kPastKey)) {
    const Dims past_k = plugin::dims_of(tensor(kPastKey));
    const Dims past_v = plugin::dims_of(tensor(kPastValue));
    if (past_k.size() != 4 || past_v.size() != 4) return false;
    p.past = past_k[2];
    const std::array k = {p.k.batch, p.k.heads, p.past, p.k.size};
    const std::array v = {p.v.batch, p.v.heads, p.past, p.v.size};
    if (!agree(past_k, k) || !agree(past_v, v)) return false;
  }
  p.keys = p.past < 0 || p.k.length < 0 ? -1 : p.past + p.k.length;
  p.y = {p.q.batch, p.q.heads, p.q.length, p.v.size, p.q.is_packed};
  p.mask_keys = p.keys;
  if (has_input(op, kMask)) {
    const Dims mask = plugin::dims_of(tensor(kMask));
    const bool is_short = !is_own(op) && !mask.empty() && mask.back() >= 0 && mask.back() != 1 &&
                          mask.back() < p.keys;
    if (is_short) p.mask_keys = mask.back();
    if (!broadcasts_to(mask, scores_dims(p, p.mask_keys))) return false;
  }
  if (is_own(op) && has_input(op, kKeep) &&
      !broadcasts_to(plugin::dims_of(tensor(kKeep)), scores_dims(p, p.keys))) {
    return false;
  }
  return is_own(op) || !has_input(op, kLengths) ||
         agree(plugin::num_elements(tensor(kLengths)), p.q.batch);
}

bool outputs_fit(const sluice_op& op, const Problem& p) {
  const auto fits = [&](int output, const Heads& heads) {
    if (!has_output(op, output)) return true;
    const std::int64_t columns = heads.heads < 0 || heads.size < 0 ? -1 : heads.heads * heads.size;
    const Dims dims = plugin::dims_of(op.outputs[output].tensor);
    return heads.is_packed
               ? agree(dims, std::array{heads.batch, heads.length, columns})
               : agree(dims, std::array{heads.batch, heads.heads, heads.length, heads.size});
  };
  return fits(0, p.y) && fits(1, {p.k.batch, p.k.heads, p.keys, p.k.size}) &&
         fits(2, {p.v.batch, p.v.heads, p.keys, p.v.size}) &&
         fits(3, {p.q.batch, p.q.heads, p.q.length, p.keys});
}

Status check_types(const sluice_op& op) {
  const sluice_element_type type = op.inputs[kQuery].tensor.element_type;
  const auto has_type = [&](const sluice_tensor& tensor) {
    return tensor.layout == SLUICE_LAYOUT_ROW_MAJOR && tensor.element_type == type;
  };
  bool fits = is_real(type);
  for (int i = 0; i < op.num_inputs; ++i) {
    const sluice_tensor& tensor = op.inputs[i].tensor;
    if (plugin::is_absent(tensor)) continue;
    if (i == kMask && !is_own(op)) {
      fits = fits && tensor.layout == SLUICE_LAYOUT_ROW_MAJOR &&
             !type_name(tensor.element_type).empty();
    } else if (i == kKeep && is_own(op)) {
      fits =
          fits && tensor.layout == SLUICE_LAYOUT_ROW_MAJOR && tensor.element_type == plugin::kBool;
    } else if (i != kLengths) {
      fits = fits && has_type(tensor);
    }
  }
  for (const sluice_operand& output : plugin::outputs_of(op)) {
    fits = fits && (plugin::is_absent(output.tensor) || has_type(output.tensor));
  }
  if (fits) return plugin::ok();
  return plugin::unimplemented(plugin::kind_of(op) +
                               ": operands must be row-major, f32, f16 or bf16, of one type");
}

Status check(const sluice_op& op) {
  if (op.body != nullptr) return plugin::unimplemented(plugin::kind_of(op) + ": a fused body");
  if (op.num_inputs < 3) return shapes_disagree(op);
  if (Status status = check_types(op); !status.is_ok()) return status;
  if (!is_own(op) && has_input(op, kLengths)) {
    if (Status status = check_integers(op, kLengths); !status.is_ok()) return status;
  }
  const std::int64_t mode = plugin::Attributes(op).get_int("qk_matmul_output_mode");
  if (mode < 0 || mode > 3) {
    return plugin::invalid_argument("Attention: qk_matmul_output_mode must be 0 to 3");
  }
  Problem problem;
  if (!find_problem(op, &problem) || !outputs_fit(op, problem)) return shapes_disagree(op);
  if (problem.v.size <= kMaxValueSize) return plugin::ok();
  return plugin::unimplemented(plugin::kind_of(op) + ": values of " +
                               std::to_string(problem.v.size) + " elements; at most " +
                               std::to_string(kMaxValueSize));
}

float scale_of(const sluice_op& op, const Problem& p) {
  const plugin::Attributes attributes(op);
  const bool is_given = attributes.find("scale", SLUICE_ATTRIBUTE_FLOAT) != nullptr;
  const float given = attributes.get_float("scale");
  if (is_own(op) ? given != 0 : is_given) return given;
  return static_cast<float>(1 / std::sqrt(static_cast<double>(p.q.size)));
}

/// The text of one kernel. Names in it: `batch`, `head`, `query`; `kv`, the head of the keys;
/// `place`, that of the query among the keys; `q`, its elements.
class Writer {
 public:
  Writer(const sluice_op& op, const Problem& problem)
      : op_(op), p_(problem), attributes_(op), parameters_(op) {}

  Status write(Source* source) {
    const std::int64_t rows = p_.q.batch * p_.q.heads * p_.q.length;
    if (!set_row_grid(std::max<std::int64_t>(rows, 1), source)) return too_large(op_);
    num_threads_ = std::int64_t{source->grid[0]} * 32 * kRowsPerBlock;
    for (const int input : {kQuery, kKey, kValue}) parameters_.add(input);
    for (const int input : {kPastKey, kPastValue}) {
      if (p_.past > 0) parameters_.add(input);
    }
    std::string body = join_past(1, p_.k, kKey, kPastKey) + join_past(2, p_.v, kValue, kPastValue);
    if (has_output(op_, 3)) parameters_.add_output(3);
    if (rows > 0) body += find_row(rows) + find_query() + score() + attend() + show_weights();
    source->text = attend_functions() + kernel_head(parameters_, largest()) + body + "}\n";
    source->operands = parameters_.operands();
    return plugin::ok();
  }

 private:
  /// What output 3 shows: 0 scores, 1 behind the cap, 2 behind the mask, 3 weights.
  std::int64_t stage() const {
    return has_output(op_, 3) ? attributes_.get_int("qk_matmul_output_mode") : -1;
  }

  std::int64_t largest() const {
    // Masks are found by the number of a score, though no tensor has all scores.
    std::int64_t most = std::max(num_threads_, plugin::num_elements(scores_dims(p_, p_.keys)));
    for (const auto operands : {plugin::inputs_of(op_), plugin::outputs_of(op_)}) {
      for (const sluice_operand& operand : operands) {
        if (plugin::is_absent(operand.tensor)) continue;
        most = std::max(most, plugin::num_elements(operand.tensor));
      }
    }
    return most;
  }

  /// The statement that makes `name` point at the elements at place `at` of a head of keys or
  /// values: those of the past come first.
  std::string point(const char* name, const Heads& heads, int now, int past, const char* b,
                    const char* head, const char* at) const {
    const std::string text = std::string("    const auto* ") + name + " = ";
    const auto input = [](int number) { return "x" + std::to_string(number) + " + "; };
    if (p_.past == 0) return text + input(now) + heads.start(b, head, at) + ";\n";
    const Heads before = {heads.batch, heads.heads, p_.past, heads.size};
    const std::string count = std::to_string(p_.past);
    return text + at + " < " + count + " ? " + input(past) + before.start(b, head, at) + " : " +
           input(now) + heads.start(b, head, std::string("(") + at + " - " + count + ")") + ";\n";
  }

  /// All threads copy past and new keys or values to an output that wants them together.
  std::string join_past(int output, const Heads& heads, int now, int past) {
    if (!has_output(op_, output)) return "";
    const std::string name = parameters_.add_output(output);
    if (plugin::num_elements(op_.outputs[output].tensor) == 0) return "";
    const std::string size = std::to_string(heads.size);
    const std::string keys = std::to_string(p_.keys);
    const std::string count = std::to_string(plugin::num_elements(op_.outputs[output].tensor));
    return "  for (Index i = (Index(blockIdx.x) * " + std::to_string(kRowsPerBlock) +
           " + threadIdx.y) * 32 + threadIdx.x; i < " + count +
           "; i += " + std::to_string(num_threads_) + ") {\n    const Index at = i / " + size +
           " % " + keys + ", kv = i / " + size + " / " + keys + " % " +
           std::to_string(heads.heads) + ", batch = i / " + size + " / " + keys + " / " +
           std::to_string(heads.heads) + ";\n" +
           point("from", heads, now, past, "batch", "kv", "at") + "    " + name +
           "[i] = from[i % " + size + "];\n  }\n";
  }

  std::string find_query() {
    const std::string queries = std::to_string(p_.q.length);
    const std::string heads = std::to_string(p_.q.heads);
    std::string text = "  const Index query = row % " + queries + ", head = row / " + queries +
                       " % " + heads + ", batch = row / " + queries + " / " + heads +
                       ", kv = head / " + std::to_string(p_.q.heads / p_.k.heads) +
                       ";\n  const auto* q = x0 + " + p_.q.start("batch", "head", "query") + ";\n";
    std::string before = std::to_string(p_.past);
    if (has_lengths()) {
      // The queries are the last of the keys that count.
      const std::string keys = std::to_string(p_.keys);
      text += "  long long valid = " + parameters_.add(kLengths) +
              "[batch];\n  valid = valid < 0 ? 0 : valid > " + keys + " ? " + keys + " : valid;\n";
      before = "valid - " + queries;
    }
    return text + "  const long long place = (long long)query + " + before + ";\n";
  }

  bool has_lengths() const { return !is_own(op_) && has_input(op_, kLengths); }

  /// Which element of a mask belongs to the query and key `j`.
  std::string mask_element(int input, std::int64_t keys) {
    const auto target = scores_dims(p_, keys);
    const Dims dims = plugin::dims_of(op_.inputs[input].tensor);
    const std::string index = "row * " + std::to_string(keys) + " + j";
    return parameters_.add(input) + "[" + broadcast_index("(" + index + ")", dims, target) + "]";
  }

  /// What hides key `j` altogether, as conditions of which one is enough.
  std::string hidden() const {
    std::string text;
    const auto add = [&](const std::string& condition) {
      text += (text.empty() ? "" : " || ") + condition;
    };
    if (attributes_.get_int("is_causal") != 0) add("(long long)j > place");
    const std::int64_t left = is_own(op_) ? -1 : attributes_.get_int("left_window_size", -1);
    const std::int64_t right = is_own(op_) ? -1 : attributes_.get_int("right_window_size", -1);
    if (left >= 0) add("place - (long long)j > " + std::to_string(left));
    if (right >= 0) add("(long long)j - place > " + std::to_string(right));
    if (has_lengths()) add("(long long)j >= valid");
    if (p_.mask_keys < p_.keys) add("j >= " + std::to_string(p_.mask_keys));
    return text;
  }

  /// A store of `s` to output 3 if that shows this stage.
  std::string show(std::int64_t wanted) const {
    if (stage() != wanted) return "";
    return "    if (is_shown) y3[row * " + std::to_string(p_.keys) + " + j] = s;\n";
  }

  /// `score(j, is_shown)`: that of key j. `sees_any` becomes true if nothing hides it.
  std::string score() {
    const float cap = is_own(op_) ? 0 : attributes_.get_float("softcap");
    std::string text =
        "  bool sees_any = false;\n  const auto score = [&](Index j, bool is_shown) -> float {\n" +
        point("k", p_.k, kKey, kPastKey, "batch", "kv", "j") +
        "    float s = 0.0f;\n    for (int d = 0; d < " + std::to_string(p_.k.size) +
        "; ++d) s += float(q[d]) * float(k[d]);\n    s *= " + literal(scale_of(op_, p_)) + ";\n" +
        show(0);
    if (cap > 0) text += "    s = tanhf(s / " + literal(cap) + ") * " + literal(cap) + ";\n";
    text += show(1) + "    bool is_seen = true;\n";
    if (is_own(op_) && has_input(op_, kKeep)) {
      const float score_of_hidden = attributes_.get_float("hidden");
      text +=
          "    if (!" + mask_element(kKeep, p_.keys) +
          ") {\n      s = " + literal(score_of_hidden) + ";\n" +
          (std::isinf(score_of_hidden) && score_of_hidden < 0 ? "      is_seen = false;\n" : "") +
          "    }\n";
    }
    text += "    float bias = 0.0f;\n";
    const std::string conditions = hidden();
    const std::string otherwise = conditions.empty() ? "    " : "    else ";
    if (!conditions.empty()) {
      text += "    if (" + conditions + ") bias = __int_as_float(0xff800000);\n";
    }
    if (has_input(op_, kMask)) {
      const std::string element = mask_element(kMask, p_.mask_keys);
      const bool is_bool = op_.inputs[kMask].tensor.element_type == plugin::kBool;
      text +=
          otherwise + "bias = " +
          (is_bool ? element + " ? 0.0f : __int_as_float(0xff800000)" : "float(" + element + ")") +
          ";\n";
    }
    return text + "    if (is_seen && bias != __int_as_float(0xff800000)) sees_any = true;\n" +
           "    s += bias;\n" + show(2) + "    return s;\n  };\n";
  }

  std::string attend() const {
    return attend_text("0", std::to_string(p_.keys), p_.v.size,
                       point("v", p_.v, kValue, kPastValue, "batch", "kv", "at")) +
           "  sees_any = __any_sync(0xffffffffu, sees_any);\n  const bool is_zero = " +
           zero_rows() + ";\n" +
           store_attended("y[" + p_.y.start("batch", "head", "query") + " + d]", p_.v.size,
                          "is_zero ? 0.0f : a[n] / sum");
  }

  /// Which queries get zeros. A sum is NaN or 0 where the softmax has no value.
  std::string zero_rows() const {
    switch (is_own(op_) ? attributes_.get_int("zero_rows", 1) : 1) {
      case 0: return "false";
      case 1: return "!sees_any";
      default: return "!(sum > 0.0f)";
    }
  }

  std::string show_weights() const {
    if (stage() != 3) return "";
    const std::string keys = std::to_string(p_.keys);
    return "  for (Index j = threadIdx.x; j < " + keys + "; j += 32) {\n    y3[row * " + keys +
           " + j] = is_zero ? 0.0f : expf(score(j, false) - most) / sum;\n  }\n";
  }

  const sluice_op& op_;
  const Problem& p_;
  plugin::Attributes attributes_;
  Parameters parameters_;
  std::int64_t num_threads_ = 0;
};

Status write(const sluice_op& op, Source* source) {
  Problem problem;
  if (!find_problem(op, &problem)) return shapes_disagree(op);
  return Writer(op, problem).write(source);
}

}  // namespace

const Family kAttentionFamily = {kKinds, check, write};

}  // namespace sluice::cuda
