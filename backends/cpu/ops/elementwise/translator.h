#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "ops/elementwise/chain.h"
#include "sluice/backend.hpp"

namespace sluice::cpu {

inline constexpr int kNoRegister = -1;

/// An element-wise operator as translation sees it: an operation or a step of a body.
struct Node {
  std::string_view kind;
  plugin::Attributes attributes;
  std::vector<int> inputs;  ///< registers; kNoRegister where absent
};

/// Collects steps over registers: the sources first, then results. A register has the element type
/// that it stands for; its values are floats.
class Translator {
 public:
  explicit Translator(std::vector<ChainSource> sources);

  int emit(BodyOp op, int a, int b = kNoRegister, float alpha = 0, float beta = 0);

  /// Emits x * gate as one step where `gate` is a sigmoid of x; else kNoRegister.
  int gated_by(int x, int gate);

  /// The value of a register that holds one constant number.
  std::optional<float> constant(int reg) const;

  /// A register that holds `value`.
  int number(float value);

  bool is_source(int reg) const {
    return reg >= 0 && static_cast<std::size_t>(reg) < sources_.size();
  }
  sluice_element_type type(int reg) const { return types_[static_cast<std::size_t>(reg)]; }
  void set_type(int reg, sluice_element_type type) { types_[static_cast<std::size_t>(reg)] = type; }

  /// Fails: kUnimplemented if the steps pass the limits of a Body.
  Status finish(int result, Chain* chain) const;

 private:
  struct Step {
    BodyOp op;
    int a;
    int b;
    float alpha;
    float beta;
  };

  static bool changes_nothing(const Step& step, bool is_result, sluice_element_type type);
  std::vector<bool> used_sources() const;
  /// The numbers of the Body's values by register, with those of the inputs; lists their sources.
  std::vector<int> number_inputs(Chain* chain) const;
  /// Numbers the constants from `first` on; gives their values.
  std::vector<float> number_constants(int first, std::vector<int>& numbers) const;

  std::vector<ChainSource> sources_;
  std::vector<Step> steps_;
  std::vector<sluice_element_type> types_;  ///< by register
};

/// Translates one node; its result's register goes to `result`.
/// Fails: kUnimplemented if the operator, or a type, has no fast form.
Status translate_node(Translator& translator, const Node& node, int* result);

}  // namespace sluice::cpu
