#include "guest/runtime/registry.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "driver/fatbin.h"
#include "guest/runtime/connection.h"

namespace sluice::guest {
namespace {

/// A fat binary of the program, by its header; empty if there is none.
std::span<const std::byte> code_at(const void* data) {
  return {static_cast<const std::byte*>(data), cuda::fatbin_bytes(data)};
}

std::span<const std::byte> code_of(const FatbinWrapper& wrapper) {
  constexpr int kLinkedVersion = 2;
  if (wrapper.version == kLinkedVersion && wrapper.prelinked != nullptr) {
    const void* first = nullptr;
    std::memcpy(&first, wrapper.prelinked, sizeof(first));
    if (first != nullptr) return code_at(first);
  }
  return code_at(wrapper.data);
}

std::span<const std::byte> bytes_of(const std::string& text) {
  return std::as_bytes(std::span(text));
}

}  // namespace

Registry& Registry::get() {
  static auto* const kRegistry = new Registry;  // programs unregister after destructors have run
  return *kRegistry;
}

Binary* Registry::add_binary(const FatbinWrapper& wrapper) {
  const std::lock_guard lock(mutex_);
  binaries_.push_back(std::make_unique<Binary>());
  if (wrapper.magic == kWrapperMagic) binaries_.back()->code = code_of(wrapper);
  return binaries_.back().get();
}

void Registry::add_function(Binary* binary, const void* host, std::string name) {
  const std::lock_guard lock(mutex_);
  auto function = std::make_unique<Function>();
  function->binary = binary;
  function->name = std::move(name);
  handles_.insert(function.get());
  functions_[host] = std::move(function);
}

void Registry::add_variable(Binary* binary, const void* host, std::string name,
                            std::uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  binary->has_variables = true;
  binary->variable_bytes += bytes;
  variables_[host] = {.binary = binary, .name = std::move(name)};
}

Function* Registry::find_function(const void* host_or_handle) {
  const std::lock_guard lock(mutex_);
  if (handles_.contains(host_or_handle)) {
    return const_cast<Function*>(static_cast<const Function*>(host_or_handle));  // NOLINT: ours
  }
  const auto found = functions_.find(host_or_handle);
  return found != functions_.end() ? found->second.get() : nullptr;
}

Error Registry::load(Binary& binary) {
  if (binary.library != 0) return Error::kSuccess;
  if (binary.code.empty()) return Error::kInvalidKernelImage;
  Connection::Words words = {};
  for (auto rest = binary.code; !rest.empty();) {
    const auto piece = rest.first(std::min<std::size_t>(rest.size(), kMaxPayloadBytes));
    const HandleBody body = {.other = rest.size() == binary.code.size() ? rest.size() : 0};
    rest = rest.subspan(piece.size());
    const Error error = Connection::get().ask(CallKind::kCodePiece, to_body(body), piece, &words);
    if (error != Error::kSuccess) return error;
  }
  const HandleBody body = {.other = binary.variable_bytes, .flags = binary.has_variables ? 1U : 0U};
  const Error error = Connection::get().ask(CallKind::kCodeLoad, to_body(body), {}, &words);
  if (error == Error::kSuccess) binary.library = words[0];
  return error;
}

Error Registry::load_facts(Function& function) {
  if (const Error error = load(*function.binary); error != Error::kSuccess) return error;
  std::vector<std::byte> back;
  const HandleBody body = {.handle = function.binary->library};
  const Error error = Connection::get().ask(CallKind::kKernelFind, to_body(body),
                                            bytes_of(function.name), nullptr, &back);
  if (error != Error::kSuccess) return error;
  if (back.size() < sizeof(KernelFacts)) return Error::kUnknown;
  std::memcpy(&function.facts, back.data(), sizeof(KernelFacts));
  const std::size_t places_bytes = back.size() - sizeof(KernelFacts);
  if (function.facts.num_parameters != places_bytes / sizeof(ParameterPlace))
    return Error::kUnknown;
  function.parameters.resize(function.facts.num_parameters);
  if (places_bytes > 0) {
    std::memcpy(function.parameters.data(), back.data() + sizeof(KernelFacts), places_bytes);
  }
  for (const ParameterPlace& place : function.parameters) {
    if (place.size_bytes > kMaxParameterBytes ||
        place.offset_bytes > kMaxParameterBytes - place.size_bytes) {
      return Error::kUnknown;
    }
    function.parameter_bytes =
        std::max(function.parameter_bytes, place.offset_bytes + place.size_bytes);
  }
  function.max_dynamic_shared_bytes = function.facts.max_dynamic_shared_bytes;
  function.is_loaded = true;
  return Error::kSuccess;
}

Error Registry::load_function(const void* host_or_handle, Function** function) {
  *function = find_function(host_or_handle);
  if (*function == nullptr) return Error::kInvalidDeviceFunction;
  const std::lock_guard lock(mutex_);
  return (*function)->is_loaded ? Error::kSuccess : load_facts(**function);
}

Error Registry::load_variable(const void* host, DeviceVariable** variable) {
  const std::lock_guard lock(mutex_);
  const auto found = variables_.find(host);
  if (found == variables_.end()) return Error::kInvalidSymbol;
  *variable = &found->second;
  if (found->second.address != 0) return Error::kSuccess;
  if (const Error error = load(*found->second.binary); error != Error::kSuccess) return error;
  Connection::Words words = {};
  const HandleBody body = {.handle = found->second.binary->library};
  const Error error = Connection::get().ask(CallKind::kVariableFind, to_body(body),
                                            bytes_of(found->second.name), &words);
  if (error != Error::kSuccess) return error;
  found->second.address = words[0];
  found->second.bytes = words[1];
  return Error::kSuccess;
}

}  // namespace sluice::guest

using sluice::guest::Binary;
using sluice::guest::Registry;

// NOLINTBEGIN(bugprone-reserved-identifier): the vendor's names
SLUICE_GUEST_EXPORT void** __cudaRegisterFatBinary(void* wrapper) {
  const auto* const read = static_cast<const sluice::guest::FatbinWrapper*>(wrapper);
  return reinterpret_cast<void**>(Registry::get().add_binary(*read));
}
SLUICE_GUEST_EXPORT void __cudaRegisterFatBinaryEnd(void** /*binary*/) {}
/// The proxy frees what a process leaves.
SLUICE_GUEST_EXPORT void __cudaUnregisterFatBinary(void** /*binary*/) {}
SLUICE_GUEST_EXPORT char __cudaInitModule(void** /*binary*/) { return 1; }

SLUICE_GUEST_EXPORT void __cudaRegisterFunction(void** binary, const char* host, char* /*device*/,
                                                const char* name, int /*thread_limit*/,
                                                void* /*tid*/, void* /*bid*/, void* /*block*/,
                                                void* /*grid*/, int* /*warp_size*/) {
  Registry::get().add_function(reinterpret_cast<Binary*>(binary), host, name);
}
SLUICE_GUEST_EXPORT void __cudaRegisterVar(void** binary, char* host, char* /*address*/,
                                           const char* name, int is_external, std::size_t bytes,
                                           int /*is_constant*/, int /*is_global*/) {
  Registry::get().add_variable(reinterpret_cast<Binary*>(binary), host, name,
                               is_external == 0 ? bytes : 0);
}
// NOLINTEND(bugprone-reserved-identifier)
