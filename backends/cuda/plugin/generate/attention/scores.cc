#include "plugin/generate/attention/scores.h"

#include <algorithm>
#include <cmath>

#include "plugin/generate/text/types.h"

namespace sluice::cuda {
namespace {

constexpr const char* kMinusInfinity = "__int_as_float(0xff800000)";

std::string number(std::int64_t value) { return std::to_string(value); }

}  // namespace

const char* const kWeightText = R"(
static __device__ __forceinline__ float weight_of(float score, float most) {
  // Of -infinity less itself the weight would be NaN.
  const float base = most == __int_as_float(0xff800000) ? 0.0f : most;
  float power;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(power) : "f"((score - base) * 1.44269504f));
  return power;
}
)";

std::int64_t Scores::left() const {
  return is_own(op_) ? -1 : attributes_.get_int("left_window_size", -1);
}

std::int64_t Scores::right() const {
  return is_own(op_) ? -1 : attributes_.get_int("right_window_size", -1);
}

std::int64_t Scores::stage() const {
  return has_output(op_, 3) ? attributes_.get_int("qk_matmul_output_mode") : -1;
}

std::int64_t Scores::largest(std::int64_t num_threads) const {
  std::int64_t most = std::max(num_threads, p_.rows());
  for (const auto operands : {plugin::inputs_of(op_), plugin::outputs_of(op_)}) {
    for (const sluice_operand& operand : operands) {
      if (plugin::is_absent(operand.tensor)) continue;
      most = std::max(most, plugin::num_elements(operand.tensor));
    }
  }
  return most;
}

void Scores::add_operands() {
  for (const int input : {kQuery, kKey, kValue}) parameters_.add(input);
  for (const int input : {kPastKey, kPastValue}) {
    if (p_.past > 0) parameters_.add(input);
  }
}

std::string Scores::element() const {
  return "typedef " + std::string(type_name(op_.outputs[0].tensor.element_type)) + " T;\n";
}

/// The statement that makes `name` point at the elements at place `at` of a head of keys or values:
/// those of the past come first.
std::string Scores::point(const char* name, const Heads& heads, int now, int past, const char* b,
                          const char* head, const char* at) const {
  const std::string text = std::string("    const auto* const ") + name + " = ";
  const auto input = [](int operand) { return "x" + number(operand) + " + "; };
  if (p_.past == 0) return text + input(now) + heads.start(b, head, at) + ";\n";
  const Heads before = {heads.batch, heads.heads, p_.past, heads.size};
  const std::string count = number(p_.past);
  return text + at + " < " + count + " ? " + input(past) + before.start(b, head, at) + " : " +
         input(now) + heads.start(b, head, std::string("(") + at + " - " + count + ")") + ";\n";
}

std::string Scores::point_at_keys() const {
  return "  const auto key_at = [&](Index j) {\n" +
         point("k", p_.k, kKey, kPastKey, "batch", "kv", "j") +
         "    return k;\n  };\n  const auto value_at = [&](Index j) {\n" +
         point("v", p_.v, kValue, kPastValue, "batch", "kv", "j") + "    return v;\n  };\n";
}

std::string Scores::join_past(int output, const Heads& heads, int now, int past,
                              const std::string& thread, std::int64_t num_threads) {
  if (!has_output(op_, output)) return "";
  const std::string name = parameters_.add_output(output);
  const std::int64_t elements = plugin::num_elements(op_.outputs[output].tensor);
  if (elements == 0) return "";
  // Neighbours that fill 16 bytes go together.
  const std::int64_t run = 128 / plugin::element_bits(op_.outputs[output].tensor.element_type);
  const bool is_whole = heads.size % run == 0;
  const std::string size = number(is_whole ? heads.size / run : heads.size);
  const std::string keys = number(p_.keys);
  const std::string at = "i % " + size;
  return "  for (Index i = " + thread + "; i < " + number(is_whole ? elements / run : elements) +
         "; i += " + number(num_threads) + ") {\n    const Index at = i / " + size + " % " + keys +
         ", kv = i / " + size + " / " + keys + " % " + number(heads.heads) + ", batch = i / " +
         size + " / " + keys + " / " + number(heads.heads) + ";\n" +
         point("from", heads, now, past, "batch", "kv", "at") + "    " +
         (is_whole ? "reinterpret_cast<uint4*>(" + name +
                         ")[i] = reinterpret_cast<const uint4*>(from)[" + at + "]"
                   : name + "[i] = from[" + at + "]") +
         ";\n  }\n";
}

std::string Scores::join_past(const std::string& thread, std::int64_t num_threads) {
  return join_past(1, p_.k, kKey, kPastKey, thread, num_threads) +
         join_past(2, p_.v, kValue, kPastValue, thread, num_threads);
}

/// Where the line of a mask begins that belongs to the query's row.
std::string Scores::mask_line(int input) const {
  const Dims dims = plugin::dims_of(op_.inputs[input].tensor);
  if (dims.empty()) return "0";
  const std::array outer = {p_.q.batch, p_.q.heads, p_.q.length};
  return "(" + broadcast_index("row", dims.first(dims.size() - 1), outer) + ") * " +
         number(dims.back());
}

std::string Scores::mask_element(int input, const char* line) {
  const Dims dims = plugin::dims_of(op_.inputs[input].tensor);
  const bool is_stretched = dims.empty() || dims.back() == 1;
  return parameters_.add(input) + "[own." + line + (is_stretched ? "]" : " + j]");
}

std::string Scores::before() const {
  // With lengths the queries are the last of the keys that count.
  return has_lengths(op_) ? "find_valid(batch) - " + number(p_.q.length) : number(p_.past);
}

std::string Scores::query() {
  std::string text = std::string("  typedef ") +
                     // Sums of places and sizes of tiles fit as well.
                     (largest(0) < kMaxShortIndex / 2 ? "int" : "long long") + " Signed;\n";
  if (has_lengths(op_)) {
    const std::string keys = number(p_.keys);
    text += "  const auto find_valid = [&](Index batch) -> Signed {\n    const long long valid = " +
            parameters_.add(kLengths) + "[batch];\n    return valid < 0 ? 0 : valid > " + keys +
            " ? " + keys + " : valid;\n  };\n";
  }
  text +=
      "  struct Query {\n    const T* q;\n    T* y;\n    Index row, mask, keep;\n"
      "    Signed place, valid;\n    bool sees_any;\n  };\n"
      "  const auto find_query = [&](Index batch, Index head, Index query) {\n"
      "    Query own;\n    own.q = x0 + " +
      p_.q.start("batch", "head", "query") + ";\n    own.y = y + " +
      p_.y.start("batch", "head", "query") + ";\n    const Index row = (batch * " +
      number(p_.q.heads) + " + head) * " + number(p_.q.length) +
      " + query;\n    own.row = row;\n    own.place = Signed(query) + " + before() + ";\n";
  if (has_lengths(op_)) text += "    own.valid = find_valid(batch);\n";
  if (has_input(op_, kMask)) text += "    own.mask = " + mask_line(kMask) + ";\n";
  if (has_keep()) text += "    own.keep = " + mask_line(kKeep) + ";\n";
  return text + "    own.sees_any = false;\n    return own;\n  };\n";
}

/// What hides key `j` altogether, as conditions of which one is enough.
std::string Scores::hidden() const {
  std::string text;
  const auto add = [&](const std::string& condition) {
    text += (text.empty() ? "" : " || ") + condition;
  };
  if (is_causal()) add("Signed(j) > own.place");
  if (left() >= 0) add("own.place - Signed(j) > " + number(left()));
  if (right() >= 0) add("Signed(j) - own.place > " + number(right()));
  if (has_lengths(op_)) add("Signed(j) >= own.valid");
  if (p_.mask_keys < p_.keys) add("j >= " + number(p_.mask_keys));
  return text;
}

std::string Scores::show(std::int64_t wanted) const {
  if (stage() != wanted) return "";
  return "    if (is_shown) y3[own.row * " + number(p_.keys) + " + j] = s;\n";
}

std::string Scores::adjust() {
  const float cap = is_own(op_) ? 0 : attributes_.get_float("softcap");
  std::string text =
      "  const auto adjust = [&](Query& own, float s, Index j, bool is_at_edge, bool is_shown) "
      "-> float {\n    s *= " +
      literal(scale_of(op_, p_)) + ";\n" + show(0);
  if (cap > 0) text += "    s = tanhf(s / " + literal(cap) + ") * " + literal(cap) + ";\n";
  text += show(1) + "    bool is_seen = true;\n";
  if (has_keep()) {
    const float hidden_score = attributes_.get_float("hidden");
    text += "    if (!" + mask_element(kKeep, "keep") + ") {\n      s = " + literal(hidden_score) +
            ";\n" +
            (std::isinf(hidden_score) && hidden_score < 0 ? "      is_seen = false;\n" : "") +
            "    }\n";
  }
  text += "    float bias = 0.0f;\n";
  const std::string conditions = hidden();
  const std::string otherwise = conditions.empty() ? "    " : "    else ";
  if (!conditions.empty()) {
    text += "    if (is_at_edge && (" + conditions + ")) bias = " + kMinusInfinity + ";\n";
  }
  if (has_input(op_, kMask)) {
    const std::string element = mask_element(kMask, "mask");
    const bool is_bool = op_.inputs[kMask].tensor.element_type == plugin::kBool;
    text += otherwise + "bias = " +
            (is_bool ? element + " ? 0.0f : " + kMinusInfinity : "float(" + element + ")") + ";\n";
  }
  return text + "    if (is_seen && bias != " + kMinusInfinity + ") own.sees_any = true;\n" +
         "    s += bias;\n" + show(2) + "    return s;\n  };\n";
}

std::string Scores::sight() const {
  const std::string keys = number(p_.keys);
  std::string text =
      "  Signed begin = 0, end = " + keys + ", inner_begin = 0, inner_end = " + keys + ";\n";
  const auto cut = [&](const std::string& most, const std::string& least) {
    text += "  end = end < " + most + " ? end : " + most + ";\n  inner_end = inner_end < " + least +
            " ? inner_end : " + least + ";\n";
  };
  if (is_causal()) cut("highest + 1", "lowest + 1");
  if (right() >= 0) {
    cut("highest + " + number(right() + 1), "lowest + " + number(right() + 1));
  }
  if (has_lengths(op_)) cut("find_valid(batch)", "find_valid(batch)");
  if (p_.mask_keys < p_.keys) cut(number(p_.mask_keys), number(p_.mask_keys));
  if (left() >= 0) {
    const std::string size = number(left());
    text += "  if (lowest > " + size + ") begin = lowest - " + size + ";\n  if (highest > " + size +
            ") inner_begin = highest - " + size + ";\n";
  }
  return text;
}

std::string Scores::is_zero(const std::string& own, const std::string& sum) const {
  switch (is_own(op_) ? attributes_.get_int("zero_rows", 1) : 1) {
    case 0: return "false";
    case 1: return "!" + own + ".sees_any";
    default: return "!(" + sum + " > 0.0f)";
  }
}

}  // namespace sluice::cuda
