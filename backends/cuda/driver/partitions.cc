#include "driver/partitions.h"

#include <algorithm>
#include <string>

namespace sluice::cuda {

Status Partitions::split() {
  const DriverTable& cu = driver_;
  CuResource whole = {};
  unsigned count = 0;
  CuResult result = cu.device_get_dev_resource(device_, &whole, CuResourceType::kMultiprocessors);
  if (result == CuResult::kSuccess) {
    count = whole.multiprocessors.count;  // more than there are units
    result = cu.dev_sm_resource_split_by_count(nullptr, &count, &whole, nullptr,
                                               kSplitIgnoreCoscheduling, 1);
  }
  std::vector<CuResource> units(count);
  CuResource rest = {};
  if (result == CuResult::kSuccess) {
    result = cu.dev_sm_resource_split_by_count(units.data(), &count, &whole, &rest,
                                               kSplitIgnoreCoscheduling, 1);
  }
  Status status = check_call(driver_, result, "splitting the multiprocessors of a device");
  if (!status.is_ok()) return status;
  units.resize(count);
  if (rest.type == CuResourceType::kMultiprocessors && rest.multiprocessors.count > 0) {
    units.push_back(rest);
  }
  if (units.empty()) return {SLUICE_INTERNAL, "the driver splits the device into no parts"};
  units_ = std::move(units);
  return plugin::ok();
}

Status Partitions::unit_sizes(std::vector<std::int32_t>* sizes) {
  const std::lock_guard lock(mutex_);
  Status status = units_.empty() ? split() : plugin::ok();
  sizes->clear();
  for (const CuResource& unit : units_) {
    sizes->push_back(static_cast<std::int32_t>(unit.multiprocessors.count));
  }
  return status;
}

std::size_t Partitions::size_of(std::size_t unit) const {
  return units_[unit].multiprocessors.count;
}

Status Partitions::check_whole(std::span<const std::int32_t> cores) const {
  for (const std::int32_t core : cores) {
    const std::size_t unit = static_cast<std::size_t>(core) / size_of(0);
    const auto first = static_cast<std::int32_t>(unit * size_of(0));
    const auto end = first + static_cast<std::int32_t>(size_of(unit));
    for (std::int32_t other = first; other < end; ++other) {
      if (std::ranges::binary_search(cores, other)) continue;
      return plugin::invalid_argument(
          "a group has core " + std::to_string(core) + " without core " + std::to_string(other) +
          "; green contexts of this device have cores " + std::to_string(first) + " to " +
          std::to_string(end - 1) + " together (SLUICE_CUDA_CONFINE=masks divides them)");
    }
  }
  return plugin::ok();
}

Status Partitions::make(std::span<const std::int32_t> cores,
                        std::unique_ptr<GreenContext>* context) {
  const std::lock_guard lock(mutex_);
  Status status = units_.empty() ? split() : plugin::ok();
  std::size_t num_cores = 0;
  for (std::size_t unit = 0; unit < units_.size(); ++unit) num_cores += size_of(unit);
  if (status.is_ok() && cores.size() == num_cores) return status;
  if (status.is_ok()) status = check_whole(cores);
  if (!status.is_ok()) return status;
  std::vector<CuResource> parts;
  for (std::size_t i = 0; i < cores.size(); i += parts.back().multiprocessors.count) {
    parts.push_back(units_[static_cast<std::size_t>(cores[i]) / size_of(0)]);
  }
  const DriverTable& cu = driver_;
  CuResourceDescriptor descriptor = nullptr;
  CuGreenContext made = nullptr;
  CuResult result =
      cu.dev_resource_generate_desc(&descriptor, parts.data(), static_cast<unsigned>(parts.size()));
  if (result == CuResult::kSuccess) {
    result = cu.green_ctx_create(&made, descriptor, device_, kGreenContextDefaultStream);
  }
  status = check_call(driver_, result, "making a green context");
  if (!status.is_ok()) return status;
  auto owned = std::make_unique<GreenContext>(driver_, made);
  CuResource granted = {};
  result = cu.green_ctx_get_dev_resource(made, &granted, CuResourceType::kMultiprocessors);
  status = check_call(driver_, result, "asking a green context for its multiprocessors");
  if (status.is_ok() && granted.multiprocessors.count != cores.size()) {
    status = {SLUICE_INTERNAL, "the driver gave " + std::to_string(granted.multiprocessors.count) +
                                   " multiprocessors for " + std::to_string(cores.size())};
  }
  if (status.is_ok()) *context = std::move(owned);
  return status;
}

}  // namespace sluice::cuda
