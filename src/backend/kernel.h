#pragma once

#include "backend/handle.h"
#include "ir/code/kernel_code.h"
#include "sluice/extensions/kernel_code.h"

namespace sluice::backend {

/// The extension "sluice.kernel_code/1" of a plug-in; null where it has none, or an incomplete one.
Result<const sluice_kernel_codes*> kernel_codes_of(const Backend& backend);

/// One operation, ready to be recorded. Immutable; safe across threads and in many command lists.
class Kernel {
 public:
  /// Made from `code` if that is given and the backend takes such; else as the backend makes it.
  /// Requires: `device` is one of the backend's.
  /// Fails: as the plug-in says, with the operation's name; kInvalidArgument if a dimension of `op`
  ///        is unknown.
  static Result<std::shared_ptr<const Kernel>> create(std::shared_ptr<const Backend> backend,
                                                      int device, Op op,
                                                      const ir::KernelCode* code = nullptr);

  const Backend& backend() const { return *handle_.parent(); }
  const Op& op() const { return op_; }
  /// Output 0 may take the memory of `input` when that dies with this step and has its size.
  bool may_overwrite(int input) const {
    return input < 32 && (in_place_inputs_ >> static_cast<unsigned>(input) & 1U) != 0;
  }
  sluice_kernel* get() const { return handle_.get(); }

 private:
  Kernel(Op op, std::uint32_t in_place_inputs, Handle<sluice_kernel, Backend> handle)
      : op_(std::move(op)), in_place_inputs_(in_place_inputs), handle_(std::move(handle)) {}

  Op op_;  // outlives the handle
  std::uint32_t in_place_inputs_;
  Handle<sluice_kernel, Backend> handle_;
};

}  // namespace sluice::backend
