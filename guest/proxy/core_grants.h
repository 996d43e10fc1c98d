// Which guests have which multiprocessors of the device.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "driver/partitions.h"

namespace sluice::guest {

class CoreGrants;

/// Multiprocessors of one guest, until it is destroyed. Their streams end before.
class CoreGrant {
 public:
  CoreGrant(CoreGrants& grants, std::vector<std::size_t> units, std::int32_t num_cores,
            std::unique_ptr<cuda::GreenContext> context)
      : grants_(grants),
        units_(std::move(units)),
        num_cores_(num_cores),
        context_(std::move(context)) {}
  CoreGrant(const CoreGrant&) = delete;
  CoreGrant& operator=(const CoreGrant&) = delete;
  ~CoreGrant();

  std::int32_t num_cores() const { return num_cores_; }
  /// Null: all multiprocessors, which the device's own context has.
  cuda::CuGreenContext context() const { return context_ != nullptr ? context_->get() : nullptr; }

 private:
  CoreGrants& grants_;
  const std::vector<std::size_t> units_;
  const std::int32_t num_cores_;
  std::unique_ptr<cuda::GreenContext> context_;
};

/// The driver hands multiprocessors out in units of some; a unit has one guest at most. Guests
/// without a grant use them all. Safe across threads that have joined the device.
class CoreGrants {
 public:
  /// `driver` outlives the grants.
  CoreGrants(const cuda::DriverTable& driver, cuda::CuDevice device)
      : partitions_(driver, device) {}

  /// At least `num_cores` that no other grant has, and the fewest units.
  /// Fails: kInvalidValue for a number below 1; kInvalidResourceConfiguration where fewer are free,
  /// or the driver does not divide the device so.
  cuda::CuResult take(std::int32_t num_cores, std::unique_ptr<CoreGrant>* grant);

 private:
  friend class CoreGrant;
  cuda::CuResult make_locked(const std::vector<std::size_t>& units,
                             std::unique_ptr<CoreGrant>* grant);
  void give(const std::vector<std::size_t>& units);

  cuda::Partitions partitions_;
  std::mutex mutex_;                      // guards what follows
  std::vector<std::int32_t> unit_sizes_;  ///< empty before the first grant
  std::vector<bool> is_taken_;            ///< by unit
};

}  // namespace sluice::guest
