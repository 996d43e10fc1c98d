#include "guest/proxy/shared_device.h"

#include <fmt/format.h>

#include <cstdio>
#include <functional>

#include "base/no_memory.h"
#include "base/status.h"

namespace sluice::guest {

using cuda::CuResult;

namespace {

/// Streams that a proxy keeps for guests to come, beyond those in use.
constexpr std::size_t kMaxIdleStreams = 256;
constexpr std::size_t kMadeAhead = 8;

Status as_status(CuResult result, const char* what) {
  const cuda::Status status = cuda::check(result, what);
  return make_error(Code::kUnavailable, "{}", status.text);
}

}  // namespace

CuResult Module::load(const cuda::DriverTable& driver, DeviceCode& code, bool is_shared,
                      std::shared_ptr<const Module>* module) {
  const std::shared_ptr<Module> made(new Module(driver, is_shared));
  const CuResult result = driver.library_load_data(&made->library_, code.bytes.c_str(), nullptr,
                                                   nullptr, 0, nullptr, nullptr, 0);
  if (result != CuResult::kSuccess) return result;
  made->code_ = std::move(code);
  if (!is_shared) made->code_.bytes = {};  // the driver has its own
  *module = made;
  return result;
}

Module::~Module() {
  if (library_ != nullptr) driver_.library_unload(library_);
}

Module::SharedBytes& Module::shared_bytes_locked(cuda::CuFunction function) const {
  const auto [at, is_new] = shared_bytes_.try_emplace(function);
  if (is_new) {
    int bytes = 0;
    driver_.func_get_attribute(&bytes, cuda::CuFunctionAttribute::kMaxDynamicSharedBytes, function);
    at->second = {.usual = bytes, .most = bytes};
  }
  return at->second;
}

int Module::usual_shared_bytes(cuda::CuFunction function) const {
  const std::lock_guard lock(mutex_);
  return shared_bytes_locked(function).usual;
}

CuResult Module::allow_shared_bytes(cuda::CuFunction function, int bytes) const {
  const std::lock_guard lock(mutex_);
  SharedBytes& known = shared_bytes_locked(function);
  if (bytes >= 0 && bytes <= known.most) return CuResult::kSuccess;
  const CuResult result = driver_.func_set_attribute(
      function, cuda::CuFunctionAttribute::kMaxDynamicSharedBytes, bytes);
  if (result == CuResult::kSuccess) known.most = bytes;
  return result;
}

Result<std::unique_ptr<SharedDevice>> SharedDevice::create(const cuda::DriverTable& driver,
                                                           std::shared_ptr<void> owner,
                                                           const SharedDeviceOptions& options) {
  std::unique_ptr<SharedDevice> device(new SharedDevice(driver, std::move(owner), options));
  std::size_t bytes = 0;
  if (const CuResult result = driver.device_total_mem(&bytes, 0); result != CuResult::kSuccess) {
    return as_status(result, "asking for the memory of device 0");
  }
  device->memory_bytes_ = bytes;
  if (const CuResult result = device->open(); result != CuResult::kSuccess) {
    return as_status(result, "making a context on device 0");
  }
  return device;
}

SharedDevice::~SharedDevice() {
  driver_.ctx_set_current(context_);
  for (const auto& [priority, stream] : idle_streams_) driver_.stream_destroy(stream);
  if (pool_ != nullptr) driver_.mem_pool_destroy(pool_);
  driver_.device_primary_ctx_release(ordinal());
}

CuResult SharedDevice::open() {
  CuResult result = driver_.device_primary_ctx_retain(&context_, ordinal());
  if (result == CuResult::kSuccess) result = driver_.ctx_set_current(context_);
  if (result != CuResult::kSuccess) return result;
  const cuda::CuMemoryPoolProperties properties = {
      .allocation_type = cuda::CuAllocationType::kPinned,
      .handle_types = 0,
      .location = {cuda::CuLocationType::kDevice, ordinal()},
      .security_attributes = nullptr,
      .max_bytes = 0,
      .usage = 0,
      .reserved = {}};
  result = driver_.mem_pool_create(&pool_, &properties);
  for (std::size_t i = 0; i < kMadeAhead && result == CuResult::kSuccess; ++i) {
    cuda::CuStream stream = nullptr;
    result = driver_.stream_create_with_priority(&stream, cuda::kStreamNonBlocking, 0);
    if (result == CuResult::kSuccess) idle_streams_.emplace(0, stream);
  }
  return result;
}

CuResult SharedDevice::join() { return driver_.ctx_set_current(context_); }

void SharedDevice::notice(CuResult result) {
  if (!cuda::ends_context(result) || is_lost_.exchange(true)) return;
  const std::string why = driver_.explain != nullptr ? driver_.explain() : std::string();
  std::fprintf(stderr, "sluice-guest-proxy: %s%s%s\n",
               cuda::check(result, "the device is lost").text.c_str(), why.empty() ? "" : ": ",
               why.c_str());
}

CuResult SharedDevice::take_stream(int priority, cuda::CuStream* stream) {
  {
    const std::lock_guard lock(mutex_);
    if (const auto idle = idle_streams_.find(priority); idle != idle_streams_.end()) {
      *stream = idle->second;
      idle_streams_.erase(idle);
      return CuResult::kSuccess;
    }
  }
  return driver_.stream_create_with_priority(stream, cuda::kStreamNonBlocking, priority);
}

void SharedDevice::give_stream(int priority, cuda::CuStream stream) {
  bool is_kept = false;
  const Status ignored = catch_no_memory([&]() -> Status {
    const std::lock_guard lock(mutex_);
    if (is_lost_ || idle_streams_.size() >= kMaxIdleStreams) return ok_status();
    idle_streams_.emplace(priority, stream);
    is_kept = true;
    return ok_status();
  });
  if (!is_kept) driver_.stream_destroy(stream);
}

void SharedDevice::free(std::uint64_t address) {
  cuda::CuStream stream = nullptr;
  if (take_stream(0, &stream) != CuResult::kSuccess) return;
  driver_.mem_free_async(address, stream);
  driver_.stream_synchronize(stream);
  give_stream(0, stream);
}

/// The cache's key is short and two codes may have the same, so the bytes are compared.
CuResult SharedDevice::load(DeviceCode code, bool has_variables,
                            std::shared_ptr<const Module>* module) {
  if (has_variables) return Module::load(driver_, code, /*is_shared=*/false, module);
  const std::size_t hash = std::hash<std::string>()(code.bytes);
  const std::string key = fmt::format("{}:{}", code.bytes.size(), hash);
  CuResult result = CuResult::kSuccess;
  bool is_new = false;
  auto found = modules_.find_or_make(key, [&]() -> Result<std::shared_ptr<const Module>> {
    std::shared_ptr<const Module> made;
    result = Module::load(driver_, code, /*is_shared=*/true, &made);
    if (result != CuResult::kSuccess) return internal_error("the driver refuses the code");
    is_new = true;
    return made;
  });
  if (!found.is_ok()) return result;
  if (!is_new && (*found)->code() != code.bytes) {
    return Module::load(driver_, code, /*is_shared=*/true, module);
  }
  *module = std::move(found).value();
  return CuResult::kSuccess;
}

}  // namespace sluice::guest
