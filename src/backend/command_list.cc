#include "backend/command_list.h"

#include "sluice/extensions/step_times.h"

namespace sluice::backend {
namespace {

constexpr std::int64_t kStepBytes = 256;  ///< of a kernel or a copy in a list, without arguments

}  // namespace

Result<CommandList> CommandList::create(std::shared_ptr<const Group> group) {
  const Backend& backend = group->backend();
  sluice_command_list* made = nullptr;
  SLUICE_TRY(call_plugin(backend.name(), backend.api().list_create, group->get(), &made));
  if (made == nullptr) return internal_error("backend \"{}\" returned no list", backend.name());
  return CommandList({std::move(group), made, backend.api().list_destroy});
}

CommandList& CommandList::operator=(CommandList&& other) noexcept {
  std::swap(kernels_, other.kernels_);
  std::swap(handle_, other.handle_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

Status CommandList::add_kernel(std::shared_ptr<const Kernel> kernel,
                               std::span<const sluice_argument> inputs,
                               std::span<const sluice_argument> outputs) {
  const Status added =
      call_plugin(backend().name(), backend().api().list_add_kernel, get(), kernel->get(),
                  inputs.data(), static_cast<std::int32_t>(inputs.size()), outputs.data(),
                  static_cast<std::int32_t>(outputs.size()));
  if (!added.is_ok()) return added.with_context(kernel->op().describe());
  // The plug-in's list refers to the kernel.
  kernels_.push_back(std::move(kernel));
  bytes_ += kStepBytes +
            static_cast<std::int64_t>((inputs.size() + outputs.size()) * sizeof(sluice_argument));
  return ok_status();
}

Status CommandList::add_copy(const sluice_argument& source, const sluice_argument& target,
                             std::int64_t size_bytes) {
  SLUICE_TRY(call_plugin(backend().name(), backend().api().list_add_copy, get(), &source, &target,
                         size_bytes));
  // No kernel, but an entry: the numbers that exchange() takes count copies too.
  kernels_.emplace_back();
  bytes_ += kStepBytes;
  return ok_status();
}

Status CommandList::finish() {
  return call_plugin(backend().name(), backend().api().list_finish, get());
}

Status CommandList::exchange(std::span<const std::int32_t> entries,
                             std::span<const std::shared_ptr<const Kernel>> kernels) {
  const auto* table = SLUICE_TRY(backend().find_table<sluice_list_exchange>(SLUICE_LIST_EXCHANGE));
  if (table == nullptr) {
    return unimplemented("backend \"{}\" exchanges no kernels of lists", backend().name());
  }
  std::vector<sluice_kernel*> handles;
  for (const auto& kernel : kernels) handles.push_back(kernel->get());
  SLUICE_TRY(call_plugin(backend().name(), table->exchange, get(), entries.data(), handles.data(),
                         static_cast<std::int32_t>(entries.size())));
  for (std::size_t i = 0; i < entries.size(); ++i) {
    kernels_[static_cast<std::size_t>(entries[i])] = kernels[i];
  }
  return ok_status();
}

}  // namespace sluice::backend
