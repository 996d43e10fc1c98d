// Measured times of operations, for the profiled scheduler: data, and the file they are kept in.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "backend/backend.h"
#include "compile/schedule/problem.h"

namespace sluice::compile {

/// Times of one backend in one version on one kind of machine.
struct DeviceProfile {
  TransferCost to_device;    ///< from the host
  TransferCost from_device;  ///< to the host
  /// From the first to the second device of the backend, which stands for every two. Absent where
  /// there is one device, or the host passes tensors on.
  std::optional<TransferCost> between_devices;
  /// Time of a list without operations, from its submission to its end: what operations that follow
  /// one another on the device share. In `times_ns` each has it.
  double launch_ns = 0;
  std::map<std::string, double> times_ns;  ///< by key_of(operation)
};

/// The file is JSON: `to_json` shows its fields; docs/howto/place-operations.md tells how to make
/// one. Files of version 1 had one "transfer" for both directions and no "launch_ns"; they are
/// read.
struct OperatorProfile {
  std::map<std::string, DeviceProfile> devices;  ///< by device_key

  /// nullopt if the operation was not measured there.
  std::optional<double> find(const std::string& device, const std::string& operation) const;
  /// Adds what `other` has; its times replace those of the same device and operation.
  void merge(const OperatorProfile& other);
};

/// What times depend on besides the operation: "cpu 0.1.0 avx512 x2" for two cores.
std::string device_key(const backend::Backend& backend, int num_cores);

/// The key of the backend as it is here under which `profile` has times: that with the most cores.
/// nullopt if it has none.
std::optional<std::string> find_device_key(const OperatorProfile& profile,
                                           const backend::Backend& backend);

std::string to_json(const OperatorProfile& profile);
/// Fails: kInvalidArgument  naming the field that is missing, of another type, or negative
Result<OperatorProfile> parse_operator_profile(std::string_view text);
/// Fails: what reading reports; as `parse_operator_profile`, naming the file.
Result<OperatorProfile> read_operator_profile(const std::string& path);

}  // namespace sluice::compile
