// Models of a local runtime that are loaded at their first request.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "runtime/engine.h"

namespace sluice::api {

/// Handles for the engine's models on demand, which the engine knows by name. Safe across threads.
class DemandModels {
 public:
  struct Entry {
    std::string key;  ///< in the engine; unique, while users may give a name twice
    std::string name;
    terms::Signature signature;
    terms::Footprint footprint;
  };

  /// Distinguishes these handles from the engine's, which count from below.
  static bool is_handle(std::uint64_t model) { return (model & kBit) != 0; }

  /// Fails: what reading the package reports.
  Result<std::uint64_t> add(runtime::Engine& engine, runtime::LoadRequest request, bool is_pinned);
  /// Fails: kInvalidHandle.
  Result<std::shared_ptr<const Entry>> find(std::uint64_t model) const;
  /// As find, and later calls fail.
  Result<std::shared_ptr<const Entry>> remove(std::uint64_t model);
  std::map<std::uint64_t, std::shared_ptr<const Entry>> all() const;

 private:
  static constexpr std::uint64_t kBit = std::uint64_t{1} << 63U;

  mutable std::mutex mutex_;
  std::uint64_t next_ = kBit;
  std::map<std::uint64_t, std::shared_ptr<const Entry>> entries_;
};

}  // namespace sluice::api
