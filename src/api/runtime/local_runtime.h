// An engine in this process.
#pragma once

#include <filesystem>
#include <memory>
#include <vector>

#include "api/runtime/runtime.h"

namespace sluice::api {

struct LocalOptions {
  std::vector<std::filesystem::path> plugins;
  std::vector<terms::DeviceId> devices;     ///< empty: all
  std::filesystem::path simulated_machine;  ///< empty: this machine
  std::int64_t demand_budget_bytes = 0;     ///< 0: no limit
};

/// Fails: kNotFound for plug-ins, a file or a device; kInvalidArgument for a malformed file.
Result<std::unique_ptr<Runtime>> create_local_runtime(const LocalOptions& options);

}  // namespace sluice::api
