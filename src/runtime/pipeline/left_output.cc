#include "runtime/pipeline/left_output.h"

#include <mutex>
#include <utility>

#include "terms/runtime_code.h"

namespace sluice::runtime {
namespace {

struct LeftMemory {
  std::shared_ptr<device::DeviceServices> services;
  std::shared_ptr<const void> name;
  Bytes host;
  std::shared_ptr<const void> copy;  ///< on the device; the first to go
  std::mutex mutex;                  ///< held while the bytes come
  bool is_in_host = false;
};

Status fetch(LeftMemory& left) {
  const std::lock_guard lock(left.mutex);
  if (left.is_in_host) return ok_status();
  auto* target = const_cast<std::byte*>(left.host.data());  // NOLINT: nobody has read it
  const auto read = left.services->constants.read_back(left.host, target);
  if (!read.is_ok()) {
    return terms::with_runtime_code(read.status(), RuntimeCode::kDeviceError)
        .with_context("a tensor of the exchange that is on the device of its model");
  }
  left.is_in_host = true;
  return ok_status();
}

}  // namespace

Result<std::shared_ptr<const terms::LeftBytes>> leave_on(
    std::shared_ptr<device::DeviceServices> services, std::shared_ptr<const void> name,
    const Bytes& host, device::PooledMemory memory) {
  const auto left = std::make_shared<LeftMemory>();
  left->copy = SLUICE_TRY(services->constants.adopt(host, std::move(memory)));
  left->services = std::move(services);
  left->name = std::move(name);
  left->host = host;
  const void* device = left->services.get();
  return std::make_shared<const terms::LeftBytes>(
      terms::LeftBytes{device, [left] { return fetch(*left); }});
}

}  // namespace sluice::runtime
