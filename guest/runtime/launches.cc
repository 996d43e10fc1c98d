// Launches, and what programs ask of kernels.
//
// A launch that the device cannot take is refused here, without the proxy: programs ask for it
// right behind the launch. The proxy and the driver check again.
#include <cstring>
#include <vector>

#include "guest/runtime/abi.h"
#include "guest/runtime/connection.h"
#include "guest/runtime/device.h"
#include "guest/runtime/registry.h"
#include "guest/runtime/streams.h"

namespace sluice::guest {
namespace {

struct Configuration {
  Dim3 grid = {};
  Dim3 block = {};
  std::size_t dynamic_shared_bytes = 0;
  void* stream = nullptr;
};

/// Between `<<< >>>` and the call of the function behind it.
thread_local std::vector<Configuration> configurations;

bool is_within(const Dim3& size, const DeviceFacts& facts, int first_limit) {
  const auto fits = [&](unsigned value, int axis) {
    return value > 0 && value <= static_cast<unsigned>(attribute(facts, first_limit + axis));
  };
  return fits(size.x, 0) && fits(size.y, 1) && fits(size.z, 2);
}

Error check(const Function& function, const Configuration& configuration) {
  constexpr int kMaxBlockX = 2;
  constexpr int kMaxGridX = 5;
  const DeviceFacts* facts = nullptr;
  if (const Error error = device_facts(&facts); error != Error::kSuccess) return error;
  const Dim3& block = configuration.block;
  const bool is_legal = is_within(block, *facts, kMaxBlockX) &&
                        is_within(configuration.grid, *facts, kMaxGridX) &&
                        std::uint64_t{block.x} * block.y * block.z <=
                            static_cast<std::uint64_t>(attribute(*facts, /*threads of a block*/ 1));
  if (!is_legal) return Error::kInvalidConfiguration;
  if (std::uint64_t{block.x} * block.y * block.z >
      static_cast<std::uint64_t>(function.facts.max_threads)) {
    return Error::kLaunchOutOfResources;
  }
  const auto most = static_cast<std::size_t>(function.max_dynamic_shared_bytes);
  return configuration.dynamic_shared_bytes <= most ? Error::kSuccess : Error::kInvalidValue;
}

Error launch(const void* host_or_handle, const Configuration& configuration, void** arguments,
             bool is_per_thread) {
  Function* function = nullptr;
  Error error = Registry::get().load_function(host_or_handle, &function);
  if (error == Error::kSuccess) error = check(*function, configuration);
  if (error != Error::kSuccess) return error;
  if (arguments == nullptr && !function->parameters.empty()) return Error::kInvalidValue;
  std::array<std::byte, kMaxParameterBytes> packed;
  for (std::size_t i = 0; i < function->parameters.size(); ++i) {
    const ParameterPlace& place = function->parameters[i];
    std::memcpy(packed.data() + place.offset_bytes, arguments[i], place.size_bytes);
  }
  const Dim3& grid = configuration.grid;
  const Dim3& block = configuration.block;
  const LaunchBody body = {
      .kernel = function->facts.kernel,
      .stream = stream_number(configuration.stream, is_per_thread),
      .grid = {grid.x, grid.y, grid.z},
      .block = {block.x, block.y, block.z},
      .dynamic_shared_bytes = static_cast<std::uint32_t>(configuration.dynamic_shared_bytes)};
  return Connection::get().post(CallKind::kLaunch, to_body(body),
                                std::span(packed).first(function->parameter_bytes));
}

/// Attributes of a launch, such as clusters, are not supported.
Error launch(const LaunchConfig* config, const void* host, void** arguments, bool is_per_thread) {
  if (config == nullptr) return Error::kInvalidValue;
  if (config->num_attributes != 0) return Error::kNotSupported;
  return launch(host, {config->grid, config->block, config->dynamic_shared_bytes, config->stream},
                arguments, is_per_thread);
}

Error pop(Dim3* grid, Dim3* block, std::size_t* dynamic_shared_bytes, void** stream) {
  if (configurations.empty()) return Error::kMissingConfiguration;
  const Configuration last = configurations.back();
  configurations.pop_back();
  *grid = last.grid;
  *block = last.block;
  *dynamic_shared_bytes = last.dynamic_shared_bytes;
  *stream = last.stream;
  return Error::kSuccess;
}

Error describe_function(FunctionAttributes* attributes, const void* host) {
  Function* function = nullptr;
  const Error error = Registry::get().load_function(host, &function);
  if (attributes == nullptr) return Error::kInvalidValue;
  if (error != Error::kSuccess) return error;
  const KernelFacts& facts = function->facts;
  *attributes = {};
  attributes->shared_bytes = static_cast<std::size_t>(facts.static_shared_bytes);
  attributes->local_bytes = static_cast<std::size_t>(facts.local_bytes);
  attributes->max_threads_per_block = facts.max_threads;
  attributes->registers = facts.registers;
  attributes->ptx_version = facts.ptx_version;
  attributes->binary_version = facts.binary_version;
  attributes->max_dynamic_shared_bytes = function->max_dynamic_shared_bytes;
  return Error::kSuccess;
}

Error set_attribute(const void* host, int which, int value) {
  constexpr int kMaxDynamicSharedBytes = 8;
  constexpr int kCarveout = 9;  // a preference: nothing depends on it
  Function* function = nullptr;
  Error error = Registry::get().load_function(host, &function);
  if (error != Error::kSuccess || which == kCarveout) return error;
  if (which != kMaxDynamicSharedBytes) return Error::kNotSupported;
  const HandleBody body = {.handle = function->facts.kernel, .value = value};
  error = Connection::get().ask(CallKind::kKernelSharedBytes, to_body(body));
  if (error == Error::kSuccess) function->max_dynamic_shared_bytes = value;
  return error;
}

Error occupancy(int* blocks, const void* host, int block_size, std::size_t dynamic_shared_bytes) {
  Function* function = nullptr;
  Error error = Registry::get().load_function(host, &function);
  if (error != Error::kSuccess) return error;
  if (blocks == nullptr || block_size <= 0) return Error::kInvalidValue;
  Connection::Words words = {};
  const HandleBody body = {.handle = function->facts.kernel,
                           .other = dynamic_shared_bytes,
                           .flags = static_cast<std::uint32_t>(block_size)};
  error = Connection::get().ask(CallKind::kKernelOccupancy, to_body(body), {}, &words);
  if (error == Error::kSuccess) *blocks = static_cast<int>(words[0]);
  return error;
}

Error find_kernel(void** handle, const void* host) {
  if (handle == nullptr) return Error::kInvalidValue;
  *handle = Registry::get().find_function(host);
  return *handle != nullptr ? Error::kSuccess : Error::kInvalidDeviceFunction;
}

}  // namespace
}  // namespace sluice::guest

using sluice::guest::Dim3;
using sluice::guest::Error;
using sluice::guest::note;

// NOLINTBEGIN(bugprone-reserved-identifier): the vendor's names
/// 0 lets the launch go on.
SLUICE_GUEST_EXPORT unsigned __cudaPushCallConfiguration(Dim3 grid, Dim3 block,
                                                         std::size_t shared_bytes, void* stream) {
  sluice::guest::configurations.push_back({grid, block, shared_bytes, stream});
  return 0;
}
SLUICE_GUEST_EXPORT int __cudaPopCallConfiguration(Dim3* grid, Dim3* block,
                                                   std::size_t* shared_bytes, void** stream) {
  return note(sluice::guest::pop(grid, block, shared_bytes, stream));
}
SLUICE_GUEST_EXPORT int __cudaGetKernel(void** handle, const void* host) {
  return note(sluice::guest::find_kernel(handle, host));
}
SLUICE_GUEST_EXPORT int __cudaLaunchKernel(void* kernel, Dim3 grid, Dim3 block, void** arguments,
                                           std::size_t shared_bytes, void* stream) {
  return note(sluice::guest::launch(kernel, {grid, block, shared_bytes, stream}, arguments, false));
}
SLUICE_GUEST_EXPORT int __cudaLaunchKernel_ptsz(void* kernel, Dim3 grid, Dim3 block,
                                                void** arguments, std::size_t shared_bytes,
                                                void* stream) {
  return note(sluice::guest::launch(kernel, {grid, block, shared_bytes, stream}, arguments, true));
}
// NOLINTEND(bugprone-reserved-identifier)
SLUICE_GUEST_EXPORT int cudaGetKernel(void** handle, const void* host) {
  return note(sluice::guest::find_kernel(handle, host));
}
SLUICE_GUEST_EXPORT int cudaLaunchKernel(const void* host, Dim3 grid, Dim3 block, void** arguments,
                                         std::size_t shared_bytes, void* stream) {
  return note(sluice::guest::launch(host, {grid, block, shared_bytes, stream}, arguments, false));
}
SLUICE_GUEST_EXPORT int cudaLaunchKernel_ptsz(const void* host, Dim3 grid, Dim3 block,
                                              void** arguments, std::size_t shared_bytes,
                                              void* stream) {
  return note(sluice::guest::launch(host, {grid, block, shared_bytes, stream}, arguments, true));
}
SLUICE_GUEST_EXPORT int cudaLaunchKernelExC(const sluice::guest::LaunchConfig* config,
                                            const void* host, void** arguments) {
  return note(sluice::guest::launch(config, host, arguments, false));
}
SLUICE_GUEST_EXPORT int cudaLaunchKernelExC_ptsz(const sluice::guest::LaunchConfig* config,
                                                 const void* host, void** arguments) {
  return note(sluice::guest::launch(config, host, arguments, true));
}
SLUICE_GUEST_EXPORT int cudaFuncGetAttributes(sluice::guest::FunctionAttributes* attributes,
                                              const void* host) {
  return note(sluice::guest::describe_function(attributes, host));
}
SLUICE_GUEST_EXPORT int cudaFuncSetAttribute(const void* host, int attribute, int value) {
  return note(sluice::guest::set_attribute(host, attribute, value));
}
SLUICE_GUEST_EXPORT int cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void* host,
                                                                      int block_size,
                                                                      std::size_t shared_bytes) {
  return note(sluice::guest::occupancy(blocks, host, block_size, shared_bytes));
}
SLUICE_GUEST_EXPORT int cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
    int* blocks, const void* host, int block_size, std::size_t shared_bytes, unsigned /*flags*/) {
  return note(sluice::guest::occupancy(blocks, host, block_size, shared_bytes));
}
