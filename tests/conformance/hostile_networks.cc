// Normalizations, recurrences, attention and quantization whose operands do not fit.
#include "conformance/hostile_cases.h"

namespace sluice::conformance {
namespace {

using ir::ElementType;

void add_normalizations(std::vector<HostileCase>& cases) {
  cases.insert(
      cases.end(),
      {bad("BatchNormalization", 15, "statistics of other channels")
           .f32({1, 3, 2})
           .f32({3})
           .f32({3})
           .f32({2})
           .f32({3})
           .to_f32({1, 3, 2}),
       bad("InstanceNormalization", 22, "a scale of other channels")
           .f32({1, 3, 2})
           .f32({2})
           .f32({3})
           .to_f32({1, 3, 2}),
       bad("LayerNormalization", 17, "axis outside")
           .f32({2, 3})
           .f32({3})
           .with("axis", 2)
           .to_f32({2, 3}),
       bad("LayerNormalization", 17, "a scale too long").f32({2, 3}).f32({4}).to_f32({2, 3}),
       bad("RMSNormalization", 23, "a scale too long").f32({2, 3}).f32({4}).to_f32({2, 3}),
       bad("GroupNormalization", 21, "no groups")
           .f32({1, 4, 2})
           .f32({4})
           .f32({4})
           .with("num_groups", 0)
           .to_f32({1, 4, 2}),
       bad("GroupNormalization", 21, "groups that do not divide")
           .f32({1, 4, 2})
           .f32({4})
           .f32({4})
           .with("num_groups", 3)
           .to_f32({1, 4, 2})});
}

void add_recurrences(std::vector<HostileCase>& cases) {
  for (const auto& [kind, gates] :
       {std::pair("RNN", 1), std::pair("GRU", 3), std::pair("LSTM", 4)}) {
    cases.push_back(bad(kind, 22, "weights of another size")
                        .f32({2, 1, 3})
                        .f32({1, gates * 2, 4})
                        .f32({1, gates * 2, 2})
                        .with("hidden_size", 2)
                        .to_f32({2, 1, 1, 2}));
    cases.push_back(bad(kind, 22, "a sequence longer than the input")
                        .f32({2, 1, 3})
                        .f32({1, gates * 2, 3})
                        .f32({1, gates * 2, 2})
                        .absent()
                        .input(ElementType::kI32, {1}, {3})
                        .with("hidden_size", 2)
                        .to_f32({2, 1, 1, 2}));
    cases.push_back(bad(kind, 22, "no such direction")
                        .f32({2, 1, 3})
                        .f32({1, gates * 2, 3})
                        .f32({1, gates * 2, 2})
                        .with("hidden_size", 2)
                        .with("direction", "sideways")
                        .to_f32({2, 1, 1, 2}));
  }
}

void add_attention(std::vector<HostileCase>& cases) {
  cases.insert(cases.end(), {bad("Attention", 23, "keys of another size")
                                 .f32({1, 1, 2, 4})
                                 .f32({1, 1, 2, 3})
                                 .f32({1, 1, 2, 4})
                                 .to_f32({1, 1, 2, 4}),
                             bad("Attention", 23, "heads that cannot share")
                                 .f32({1, 3, 2, 4})
                                 .f32({1, 2, 2, 4})
                                 .f32({1, 2, 2, 4})
                                 .to_f32({1, 3, 2, 4}),
                             bad("Attention", 23, "a mask that does not broadcast")
                                 .f32({1, 1, 2, 4})
                                 .f32({1, 1, 2, 4})
                                 .f32({1, 1, 2, 4})
                                 .f32({3, 2})
                                 .to_f32({1, 1, 2, 4}),
                             bad("RotaryEmbedding", 23, "caches of another size")
                                 .f32({1, 1, 2, 4})
                                 .f32({2, 3})
                                 .f32({2, 3})
                                 .to_f32({1, 1, 2, 4}),
                             bad("LinearAttention", 27, "heads that do not divide")
                                 .f32({1, 2, 4})
                                 .f32({1, 2, 4})
                                 .f32({1, 2, 4})
                                 .with("q_num_heads", 3)
                                 .with("kv_num_heads", 3)
                                 .with("update_rule", "linear")
                                 .to_f32({1, 2, 4}),
                             bad("LinearAttention", 27, "a decay of another size")
                                 .f32({1, 2, 4})
                                 .f32({1, 2, 4})
                                 .f32({1, 2, 4})
                                 .absent()
                                 .f32({1, 2, 3})
                                 .with("q_num_heads", 2)
                                 .with("kv_num_heads", 2)
                                 .with("update_rule", "gated")
                                 .to_f32({1, 2, 4})});
}

void add_quantization(std::vector<HostileCase>& cases) {
  cases.insert(cases.end(), {bad("QuantizeLinear", 21, "a scale too short")
                                 .f32({2, 3})
                                 .f32({2})
                                 .with("axis", 1)
                                 .to(ElementType::kU8, {2, 3}),
                             bad("QuantizeLinear", 21, "axis outside")
                                 .f32({2, 3})
                                 .f32({3})
                                 .with("axis", 2)
                                 .to(ElementType::kU8, {2, 3}),
                             bad("DequantizeLinear", 21, "too few blocks")
                                 .input(ElementType::kI8, {5})
                                 .f32({2})
                                 .with("axis", 0)
                                 .with("block_size", 2)
                                 .to_f32({5}),
                             bad("DequantizeLinear", 21, "a zero point too short")
                                 .input(ElementType::kI8, {3})
                                 .f32({3})
                                 .input(ElementType::kI8, {2})
                                 .with("axis", 0)
                                 .to_f32({3}),
                             bad("QLinearMatMul", 21, "a scale too short")
                                 .input(ElementType::kU8, {3, 2})
                                 .f32({2})
                                 .input(ElementType::kU8, {1})
                                 .input(ElementType::kU8, {2, 2})
                                 .f32({1})
                                 .input(ElementType::kU8, {1})
                                 .f32({1})
                                 .input(ElementType::kU8, {1})
                                 .to(ElementType::kU8, {3, 2}),
                             bad("DynamicQuantizeLinear", 11, "another output")
                                 .f32({4})
                                 .to(ElementType::kU8, {3})
                                 .to_f32({})
                                 .to(ElementType::kU8, {})});
}

}  // namespace

std::vector<HostileCase> hostile_networks() {
  std::vector<HostileCase> cases;
  add_normalizations(cases);
  add_recurrences(cases);
  add_attention(cases);
  add_quantization(cases);
  return cases;
}

}  // namespace sluice::conformance
