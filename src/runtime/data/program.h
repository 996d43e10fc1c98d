// The programs of an executable, and the tensors that each of them moves.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "package/executable.h"

namespace sluice::runtime {

/// Load brings constants and stored tensors to where main reads them, once. Main computes outputs
/// from inputs, any number of times. Save brings selected tensors back; inference rarely wants it.
enum class Program : std::uint8_t { kLoad, kMain, kSave };

enum class TensorRole : std::uint8_t { kConstant, kInput, kOutput };

struct ProgramTensor {
  std::string name;
  ir::Type type;
  TensorRole role = TensorRole::kInput;

  /// Constants by load; inputs and outputs by main. Save can move any that has a value.
  Program program() const {
    return role == TensorRole::kConstant ? Program::kLoad : Program::kMain;
  }
};

/// Named constants, inputs, outputs, in this order and the graph's.
std::vector<ProgramTensor> list_tensors(const package::Executable& executable);

/// Which tensors are bound to stored data without being asked.
using BindPredicate = std::function<bool(const ProgramTensor&)>;

BindPredicate bind_all();
BindPredicate bind_none();
BindPredicate bind_only_constants();
BindPredicate bind_only_main();
BindPredicate bind_names(std::set<std::string> names);

}  // namespace sluice::runtime
