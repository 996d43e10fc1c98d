// Device code, its kernels and variables, and launches.
//
// The driver believes the header of a fat binary about its size and reads text up to a NUL, so both
// are checked before it sees the bytes.
#include <algorithm>
#include <cstring>
#include <utility>

#include "driver/fatbin.h"
#include "guest/proxy/guest.h"

namespace sluice::guest {
namespace {

using cuda::CuResult;

constexpr std::size_t kMaxNameBytes = 4096;

/// A load may allocate memory, which the driver forbids the thread of a capture. Programs launch
/// kernels for the first time within captures, so CUDA's runtime lifts this for its loads too.
class AllowedInCaptures {
 public:
  explicit AllowedInCaptures(const cuda::DriverTable& driver) : driver_(driver) {
    driver_.thread_exchange_stream_capture_mode(&mode_);
  }
  AllowedInCaptures(const AllowedInCaptures&) = delete;
  AllowedInCaptures& operator=(const AllowedInCaptures&) = delete;
  ~AllowedInCaptures() { driver_.thread_exchange_stream_capture_mode(&mode_); }

 private:
  const cuda::DriverTable& driver_;
  cuda::CuCaptureMode mode_ = cuda::CuCaptureMode::kRelaxed;
};

/// The first piece pays for all: what was left of another code goes.
CuResult begin_code(Guest& guest, std::uint64_t bytes) {
  guest.code = {};
  if (bytes > kMaxCodeBytes) return CuResult::kOutOfMemory;
  auto charge = ByteCharge::take(guest.code_budget, static_cast<std::int64_t>(bytes));
  if (!charge.is_ok()) return CuResult::kOutOfMemory;
  guest.code.charge = std::move(charge).value();
  guest.code.bytes.reserve(bytes);
  return CuResult::kSuccess;
}

CuResult code_piece(Guest& guest, const Call& call, Answer& /*answer*/) {
  const std::uint64_t all_bytes = from_body<HandleBody>(call.body).other;
  const CuResult result = all_bytes > 0 ? begin_code(guest, all_bytes) : CuResult::kSuccess;
  if (result != CuResult::kSuccess) return result;
  DeviceCode& code = guest.code;
  if (call.payload.size() > static_cast<std::size_t>(code.charge.bytes()) - code.bytes.size()) {
    return CuResult::kInvalidValue;
  }
  code.bytes.append(reinterpret_cast<const char*>(call.payload.data()), call.payload.size());
  return CuResult::kSuccess;
}

/// Whether the bytes are one fat binary, whole.
bool is_whole_fatbin(const std::string& code) {
  return code.size() >= cuda::kFatbinHeaderBytes && cuda::fatbin_bytes(code.data()) == code.size();
}

/// The quota counts variables before the driver allocates them.
CuResult code_load(Guest& guest, const Call& call, Answer& answer) {
  const auto body = from_body<HandleBody>(call.body);
  const bool has_variables = body.flags != 0;
  DeviceCode code = std::exchange(guest.code, {});
  if (!is_whole_fatbin(code.bytes)) return CuResult::kInvalidImage;
  GuestLibrary library;
  library.variable_bytes = has_variables ? body.other : 0;
  if (!guest.take_quota(library.variable_bytes)) return CuResult::kOutOfMemory;
  const AllowedInCaptures allowed(guest.driver());
  CuResult result = guest.device().load(std::move(code), has_variables, &library.module);
  if (result == CuResult::kSuccess) {
    answer.words[0] = guest.libraries.add(library);
    if (answer.words[0] == 0) result = CuResult::kOutOfMemory;
  }
  if (result != CuResult::kSuccess) guest.give_quota(library.variable_bytes);
  return result;
}

/// The name behind a call, copied; empty if it is too long or holds a NUL.
std::string name_of(const Call& call) {
  if (call.payload.size() > kMaxNameBytes) return {};
  std::string name(reinterpret_cast<const char*>(call.payload.data()), call.payload.size());
  return name.find('\0') == std::string::npos ? name : std::string();
}

CuResult read_parameters(Guest& guest, cuda::CuKernel kernel, GuestKernel& found) {
  for (std::size_t i = 0; i < kMaxParameters; ++i) {
    std::size_t offset = 0;
    std::size_t bytes = 0;
    const CuResult result = guest.driver().kernel_get_param_info(kernel, i, &offset, &bytes);
    if (result == CuResult::kInvalidValue)
      return CuResult::kSuccess;  // no parameter has this index
    if (result != CuResult::kSuccess) return result;
    if (offset + bytes > kMaxParameterBytes) return CuResult::kInvalidImage;
    const auto end = static_cast<std::uint32_t>(offset + bytes);
    found.parameters.push_back(
        {static_cast<std::uint32_t>(offset), static_cast<std::uint32_t>(bytes)});
    found.parameter_bytes = std::max(found.parameter_bytes, end);
  }
  return CuResult::kInvalidImage;
}

/// A guest may ask for many kernels of many parameters.
CuResult charge_for(Guest& guest, GuestKernel& kernel) {
  const std::size_t bytes =
      sizeof(GuestKernel) + kernel.parameters.capacity() * sizeof(ParameterPlace);
  auto charge = ByteCharge::take(guest.code_budget, static_cast<std::int64_t>(bytes));
  if (!charge.is_ok()) return CuResult::kOutOfMemory;
  kernel.charge = std::move(charge).value();
  return CuResult::kSuccess;
}

int attribute(Guest& guest, cuda::CuFunction function, cuda::CuFunctionAttribute which) {
  int value = 0;
  return guest.driver().func_get_attribute(&value, which, function) == CuResult::kSuccess ? value
                                                                                          : 0;
}

void write_facts(const GuestKernel& kernel, KernelFacts facts, Answer& answer) {
  facts.num_parameters = static_cast<std::uint32_t>(kernel.parameters.size());
  const std::size_t bytes = kernel.parameters.size() * sizeof(ParameterPlace);
  std::memcpy(answer.room.data(), &facts, sizeof(facts));
  if (bytes > 0) std::memcpy(answer.room.data() + sizeof(facts), kernel.parameters.data(), bytes);
  answer.payload_bytes = static_cast<std::uint32_t>(sizeof(facts) + bytes);
}

CuResult kernel_find(Guest& guest, const Call& call, Answer& answer) {
  const GuestLibrary* const library = guest.libraries.find(from_body<HandleBody>(call.body).handle);
  const std::string name = name_of(call);
  if (library == nullptr || name.empty()) return CuResult::kInvalidHandle;
  const AllowedInCaptures allowed(guest.driver());
  cuda::CuKernel handle = nullptr;
  GuestKernel kernel;
  kernel.module = library->module;
  CuResult result =
      guest.driver().library_get_kernel(&handle, kernel.module->library(), name.c_str());
  if (result == CuResult::kSuccess)
    result = guest.driver().kernel_get_function(&kernel.function, handle);
  if (result == CuResult::kSuccess) result = read_parameters(guest, handle, kernel);
  if (result == CuResult::kSuccess) result = charge_for(guest, kernel);
  if (result != CuResult::kSuccess) return result;
  using enum cuda::CuFunctionAttribute;
  KernelFacts facts;
  facts.max_threads = kernel.max_threads = attribute(guest, kernel.function, kMaxThreadsPerBlock);
  facts.static_shared_bytes = attribute(guest, kernel.function, kStaticSharedBytes);
  facts.max_dynamic_shared_bytes = kernel.max_dynamic_shared_bytes =
      kernel.module->usual_shared_bytes(kernel.function);
  facts.local_bytes = attribute(guest, kernel.function, kLocalBytes);
  facts.registers = attribute(guest, kernel.function, kRegisters);
  facts.ptx_version = attribute(guest, kernel.function, kPtxVersion);
  facts.binary_version = attribute(guest, kernel.function, kBinaryVersion);
  facts.kernel = guest.kernels.add(std::move(kernel));
  if (facts.kernel == 0) return CuResult::kOutOfMemory;
  write_facts(*guest.kernels.find(facts.kernel), facts, answer);
  return CuResult::kSuccess;
}

/// Not of a shared module: a neighbour's kernels would read what this guest writes.
CuResult variable_find(Guest& guest, const Call& call, Answer& answer) {
  GuestLibrary* const library = guest.libraries.find(from_body<HandleBody>(call.body).handle);
  const std::string name = name_of(call);
  if (library == nullptr || name.empty()) return CuResult::kInvalidHandle;
  if (library->module->is_shared()) return CuResult::kNotPermitted;
  const AllowedInCaptures allowed(guest.driver());
  std::size_t bytes = 0;
  const CuResult result = guest.driver().library_get_global(
      answer.words.data(), &bytes, library->module->library(), name.c_str());
  if (result != CuResult::kSuccess) return result;
  answer.words[1] = bytes;
  return guest.add_variable(*library, answer.words[0], bytes);
}

CuResult kernel_shared_bytes(Guest& guest, const Call& call, Answer& /*answer*/) {
  const auto body = from_body<HandleBody>(call.body);
  GuestKernel* const kernel = guest.kernels.find(body.handle);
  if (kernel == nullptr) return CuResult::kInvalidHandle;
  const CuResult result = kernel->module->allow_shared_bytes(kernel->function, body.value);
  if (result == CuResult::kSuccess) kernel->max_dynamic_shared_bytes = body.value;
  return result;
}

CuResult kernel_occupancy(Guest& guest, const Call& call, Answer& answer) {
  const auto body = from_body<HandleBody>(call.body);
  const GuestKernel* const kernel = guest.kernels.find(body.handle);
  if (kernel == nullptr) return CuResult::kInvalidHandle;
  int blocks = 0;
  const CuResult result = guest.driver().occupancy_max_active_blocks_per_multiprocessor(
      &blocks, kernel->function, static_cast<int>(body.flags), body.other);
  answer.words[0] = static_cast<std::uint64_t>(blocks);
  return result;
}

CuResult launch(Guest& guest, const Call& call, Answer& /*answer*/) {
  const auto body = from_body<LaunchBody>(call.body);
  const GuestKernel* const kernel = guest.kernels.find(body.kernel);
  if (kernel == nullptr) return CuResult::kInvalidHandle;
  if (call.payload.size() != kernel->parameter_bytes ||
      body.dynamic_shared_bytes > static_cast<std::uint32_t>(kernel->max_dynamic_shared_bytes)) {
    return CuResult::kInvalidValue;
  }
  GuestStream* stream = nullptr;
  const CuResult result = guest.enter(body.stream, &stream);
  if (result != CuResult::kSuccess) return result;
  alignas(16) std::array<std::byte, kMaxParameterBytes + 1> bytes;  // the driver wants them aligned
  if (!call.payload.empty()) std::memcpy(bytes.data(), call.payload.data(), call.payload.size());
  std::vector<void*> parameters;
  parameters.reserve(kernel->parameters.size());
  for (const ParameterPlace& place : kernel->parameters) {
    parameters.push_back(bytes.data() + place.offset_bytes);
  }
  return guest.driver().launch_kernel(
      kernel->function, body.grid[0], body.grid[1], body.grid[2], body.block[0], body.block[1],
      body.block[2], body.dynamic_shared_bytes, stream->stream, parameters.data(), nullptr);
}

}  // namespace

void fill_code_entries(EntryTable& table) {
  table[CallKind::kCodePiece] = code_piece;
  table[CallKind::kCodeLoad] = code_load;
  table[CallKind::kKernelFind] = kernel_find;
  table[CallKind::kVariableFind] = variable_find;
  table[CallKind::kKernelSharedBytes] = kernel_shared_bytes;
  table[CallKind::kKernelOccupancy] = kernel_occupancy;
  table[CallKind::kLaunch] = launch;
}

}  // namespace sluice::guest
