#include "guest/proxy/shared_device.h"

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

bool ends_context(CuResult result) {
  switch (result) {
    case CuResult::kIllegalAddress:
    case CuResult::kIllegalInstruction:
    case CuResult::kMisalignedAddress:
    case CuResult::kLaunchFailed:
    case CuResult::kContextIsDestroyed: return true;
    default: return false;
  }
}

Result<std::unique_ptr<SharedDevice>> SharedDevice::create(const cuda::DriverTable& driver,
                                                           std::shared_ptr<void> owner) {
  std::unique_ptr<SharedDevice> device(new SharedDevice(driver, std::move(owner)));
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
  close();
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

void SharedDevice::close() {
  for (const auto& [priority, stream] : idle_streams_) driver_.stream_destroy(stream);
  idle_streams_.clear();
  if (pool_ != nullptr) driver_.mem_pool_destroy(pool_);
  pool_ = nullptr;
  driver_.device_primary_ctx_release(ordinal());
}

CuResult SharedDevice::join() {
  const std::lock_guard lock(mutex_);
  ++num_guests_;
  return driver_.ctx_set_current(context_);
}

void SharedDevice::leave() {
  const std::lock_guard lock(mutex_);
  if (--num_guests_ > 0 || !is_lost_) return;
  close();
  driver_.device_primary_ctx_reset(ordinal());
  is_lost_ = open() != CuResult::kSuccess;
  ++life_;
}

void SharedDevice::notice(CuResult result) {
  if (!ends_context(result)) return;
  const std::lock_guard lock(mutex_);
  is_lost_ = true;
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
  {
    const std::lock_guard lock(mutex_);
    if (!is_lost_ && idle_streams_.size() < kMaxIdleStreams) {
      idle_streams_.emplace(priority, stream);
      return;
    }
  }
  driver_.stream_destroy(stream);
}

CuResult SharedDevice::load(std::string code, bool has_variables,
                            std::shared_ptr<const Module>* module) {
  CuResult result = CuResult::kSuccess;
  const auto make = [&]() -> Result<std::shared_ptr<const Module>> {
    cuda::CuLibrary library = nullptr;
    result =
        driver_.library_load_data(&library, code.c_str(), nullptr, nullptr, 0, nullptr, nullptr, 0);
    if (result != CuResult::kSuccess) return internal_error("the driver refuses the code");
    return std::make_shared<const Module>(driver_, library);
  };
  if (has_variables) {
    auto made = make();
    if (made.is_ok()) *module = std::move(made).value();
    return result;
  }
  std::uint64_t life = 0;
  {
    const std::lock_guard lock(mutex_);
    life = life_;
  }
  auto found = modules_.find_or_make(std::to_string(life) + ":" + code, make);
  if (!found.is_ok()) return result;
  *module = std::move(found).value();
  return CuResult::kSuccess;
}

}  // namespace sluice::guest
