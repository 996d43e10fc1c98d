// Operations that contradict themselves, one for every way an operator family can be misused.
#pragma once

#include <vector>

#include "conformance/fixture.h"

namespace sluice::conformance {

struct HostileCase {
  std::string claim;  ///< what is wrong with it
  OpMaker op;
  std::vector<Tensor> inputs;
  std::string says = "";  ///< part of every plug-in's error: the value and the axis
};

std::vector<HostileCase> hostile_attributes();
std::vector<HostileCase> hostile_indices();
std::vector<HostileCase> hostile_shapes();
std::vector<HostileCase> hostile_images();
std::vector<HostileCase> hostile_networks();

/// Puts a case together: `bad("Gather", 13, "index past the end").f32({3}).i64({1}, {3})
/// .to(kF32, {1})`.
class HostileMaker {
 public:
  HostileMaker(std::string kind, int version, std::string claim)
      : claim_(kind + ": " + std::move(claim)), op_(std::move(kind), version) {}

  HostileMaker& input(ir::ElementType element, std::vector<std::int64_t> dims,
                      std::vector<double> values = {});
  HostileMaker& f32(std::vector<std::int64_t> dims, std::vector<double> values = {}) {
    return input(ir::ElementType::kF32, std::move(dims), std::move(values));
  }
  HostileMaker& i64(std::vector<std::int64_t> dims, std::vector<double> values) {
    return input(ir::ElementType::kI64, std::move(dims), std::move(values));
  }
  HostileMaker& absent() {
    op_.absent_input();
    return *this;
  }
  template <typename T>
  HostileMaker& with(std::string name, T value) {
    if constexpr (std::is_same_v<T, int>) {
      op_.attribute(std::move(name), static_cast<std::int64_t>(value));
    } else if constexpr (std::is_same_v<T, const char*>) {
      op_.attribute(std::move(name), std::string(value));
    } else {
      op_.attribute(std::move(name), std::move(value));
    }
    return *this;
  }
  HostileMaker& with_ints(std::string name, std::vector<std::int64_t> values) {
    op_.attribute(std::move(name), std::move(values));
    return *this;
  }
  /// An output.
  HostileMaker& to(ir::ElementType element, std::vector<std::int64_t> dims) {
    op_.output(tensor_type(element, std::move(dims)));
    return *this;
  }
  HostileMaker& to_f32(std::vector<std::int64_t> dims) {
    return to(ir::ElementType::kF32, std::move(dims));
  }

  HostileMaker& says(std::string part) {
    says_ = std::move(part);
    return *this;
  }

  operator HostileCase() const { return {claim_, op_, inputs_, says_}; }  // NOLINT

 private:
  std::string claim_, says_;
  OpMaker op_;
  std::vector<Tensor> inputs_;
};

inline HostileMaker bad(std::string kind, int version, std::string claim) {
  return {std::move(kind), version, std::move(claim)};
}

}  // namespace sluice::conformance
