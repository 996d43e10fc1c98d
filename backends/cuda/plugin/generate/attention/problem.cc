#include "plugin/generate/attention/problem.h"

#include <algorithm>
#include <cmath>

#include "plugin/generate/text/attend.h"
#include "plugin/generate/text/body.h"
#include "plugin/generate/text/integers.h"
#include "plugin/generate/text/types.h"

namespace sluice::cuda {
namespace {

std::array<std::int64_t, 4> scores_dims(const Problem& p, std::int64_t keys) {
  return {p.q.batch, p.q.heads, p.q.length, keys};
}

}  // namespace

bool is_own(const sluice_op& op) { return std::string_view(op.domain) == "sluice"; }

bool has_input(const sluice_op& op, int input) {
  return op.num_inputs > input && !plugin::is_absent(op.inputs[input].tensor);
}

bool has_output(const sluice_op& op, int output) {
  return op.num_outputs > output && !plugin::is_absent(op.outputs[output].tensor);
}

bool has_lengths(const sluice_op& op) { return !is_own(op) && has_input(op, kLengths); }

std::string Heads::start(const std::string& b, const std::string& head,
                         const std::string& at) const {
  const std::int64_t per_head = is_packed ? size : length * size;
  const std::int64_t per_place = is_packed ? heads * size : size;
  return b + " * " + std::to_string(heads * length * size) + " + " + head + " * " +
         std::to_string(per_head) + " + " + at + " * " + std::to_string(per_place);
}

bool find_heads(const sluice_op& op, const sluice_tensor& tensor, const char* attribute,
                Heads* heads) {
  const Dims dims = plugin::dims_of(tensor);
  if (dims.size() == 4) {
    *heads = {dims[0], dims[1], dims[2], dims[3]};
    return true;
  }
  const std::int64_t count = plugin::Attributes(op).get_int(attribute);
  if (dims.size() != 3 || count < 1 || (dims[2] >= 0 && dims[2] % count != 0)) {
    return false;
  }
  *heads = {dims[0], count, dims[1], dims[2] < 0 ? -1 : dims[2] / count, true};
  return true;
}

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
  const bool packs_y = plugin::Attributes(op).get_int("packed_result") != 0;
  p.y = {p.q.batch, p.q.heads, p.q.length, p.v.size, is_own(op) ? packs_y : p.q.is_packed};
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

namespace {

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

}  // namespace

Status check_attention(const sluice_op& op) {
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

}  // namespace sluice::cuda
