// The programs of an executable and their tensors.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "package/executable.h"

namespace sluice::session {

/// `load` copies constants and stored tensors to the device, once. `main` computes outputs from
/// inputs, any number of times. `save` copies selected tensors back, which inference rarely needs.
enum class Program : std::uint8_t { kLoad, kMain, kSave };

enum class TensorRole : std::uint8_t { kConstant, kInput, kOutput };

struct ProgramTensor {
  std::string name;
  ir::Type type;
  TensorRole role = TensorRole::kInput;
  /// Value of an input that needs no source.
  std::shared_ptr<const ir::Constant> default_value = nullptr;

  /// The program that moves the tensor; `save` may move any tensor with a value.
  Program program() const {
    return role == TensorRole::kConstant ? Program::kLoad : Program::kMain;
  }
};

/// Named constants, then inputs, then outputs, each in the order of the graph.
std::vector<ProgramTensor> list_tensors(const package::Executable& executable);

/// By input of the signature: the first segment that reads it; 0 if none does.
/// Fails: as package::segments_of.
Result<std::vector<std::size_t>> first_segments(const package::Executable& executable);

/// Selects the tensors that are bound to stored data automatically.
using BindPredicate = std::function<bool(const ProgramTensor&)>;

BindPredicate bind_all();

}  // namespace sluice::session
