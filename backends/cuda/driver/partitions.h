// Green contexts: parts of a device's multiprocessors, which the driver keeps kernels on.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "driver/driver_table.h"

namespace sluice::cuda {

/// A green context. Destroyed with it; its streams end before.
class GreenContext {
 public:
  GreenContext(const DriverTable& driver, CuGreenContext context)
      : driver_(driver), context_(context) {}
  GreenContext(const GreenContext&) = delete;
  GreenContext& operator=(const GreenContext&) = delete;
  ~GreenContext() { driver_.green_ctx_destroy(context_); }

  CuGreenContext get() const { return context_; }

 private:
  const DriverTable& driver_;
  const CuGreenContext context_;
};

/// The multiprocessors of one device. The driver hands them out in units of some; it is asked to
/// split the device once, into its smallest units, because parts of two splits overlap. Unit u
/// stands for the cores [u * size, (u + 1) * size); the last may have fewer. Safe across threads.
class Partitions {
 public:
  /// `driver` outlives the partitions and their contexts.
  Partitions(const DriverTable& driver, CuDevice device) : driver_(driver), device_(device) {}

  /// How many cores each unit has.
  /// Requires: the device's primary context is current.
  /// Fails: as the driver
  Status unit_sizes(std::vector<std::int32_t>* sizes);

  /// A context of exactly these cores, ascending. Null for all cores of the device: its own context
  /// has them.
  /// Requires: the device's primary context is current; cores of the device.
  /// Fails: INVALID_ARGUMENT   a core without the others of its unit; the message names them
  ///        INTERNAL           the driver gave another number of multiprocessors
  ///        or as the driver
  Status make(std::span<const std::int32_t> cores, std::unique_ptr<GreenContext>* context);

 private:
  Status split();
  Status check_whole(std::span<const std::int32_t> cores) const;
  std::size_t size_of(std::size_t unit) const;

  const DriverTable& driver_;
  const CuDevice device_;
  std::mutex mutex_;
  std::vector<CuResource> units_;  // guarded by mutex_; empty before the split
};

}  // namespace sluice::cuda
