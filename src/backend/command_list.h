#pragma once

#include "backend/group.h"
#include "backend/kernel.h"

namespace sluice::backend {

/// A tensor at `offset_bytes` into the buffer of `binding`.
inline sluice_argument bound_argument(int binding, std::int64_t offset_bytes) {
  return {binding, 0, nullptr, offset_bytes, nullptr};
}
/// At a fixed address: a constant.
inline sluice_argument fixed_argument(const void* address) {
  return {-1, 0, const_cast<void*>(address), 0, nullptr};  // NOLINT: only outputs are written
}
inline sluice_argument absent_argument() { return {-2, 0, nullptr, 0, nullptr}; }

/// A recorded sequence of kernels and copies; each sees the results of all before it. It keeps its
/// kernels and group alive. Recorded by one thread; submitted by one at a time.
class CommandList {
 public:
  static Result<CommandList> create(std::shared_ptr<const Group> group);
  CommandList(CommandList&& other) noexcept = default;
  CommandList& operator=(CommandList&& other) noexcept;
  CommandList(const CommandList&) = delete;
  CommandList& operator=(const CommandList&) = delete;
  ~CommandList() = default;

  /// `inputs`: the operator's, then the body's. An output's `actual_dims` outlives the list.
  /// Requires: as many arguments as the operation has operands; not finished.
  Status add_kernel(std::shared_ptr<const Kernel> kernel, std::span<const sluice_argument> inputs,
                    std::span<const sluice_argument> outputs);
  /// Between device and host, either way, or within the device; to and from another device where
  /// Backend::copies_between_devices.
  Status add_copy(const sluice_argument& source, const sluice_argument& target,
                  std::int64_t size_bytes);
  /// Once, before the first submission; nothing is added after it.
  Status finish();

  /// Gives entries of a finished list, counted in the order they were added, kernels of the same
  /// operations for other shapes. After an error the list may not be submitted before an exchange
  /// of all its kernels succeeds.
  /// Fails: kUnimplemented for a plug-in without the extension "sluice.list_exchange/1".
  Status exchange(std::span<const std::int32_t> entries,
                  std::span<const std::shared_ptr<const Kernel>> kernels);

  /// An estimate of its memory without its kernels, for plug-ins that tell none.
  std::int64_t estimated_bytes() const { return bytes_; }

  /// Kernels and copies added.
  std::int32_t num_entries() const { return static_cast<std::int32_t>(kernels_.size()); }

  sluice_command_list* get() const { return handle_.get(); }

 private:
  explicit CommandList(Handle<sluice_command_list, Group> handle) : handle_(std::move(handle)) {}
  const Backend& backend() const { return handle_.parent()->backend(); }

  std::vector<std::shared_ptr<const Kernel>> kernels_;  // by entry, null of copies; outlive it
  Handle<sluice_command_list, Group> handle_;
  std::int64_t bytes_ = 0;  // estimated
};

}  // namespace sluice::backend
