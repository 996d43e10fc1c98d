// A model of the engine's rules: the required answer of each call after any earlier calls.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <vector>

#include "runtime/engine.h"
#include "runtime/testing/cookies.h"

namespace sluice::runtime::testing {

/// One device of `num_cores` cores in a row; models of one or two segments; drivers that work only
/// while somebody waits, so that what was posted stays in flight until then.
class EngineRules {
 public:
  explicit EngineRules(int num_cores) : owner_(static_cast<std::size_t>(num_cores), kFree) {}

  struct Group {
    std::vector<std::int32_t> cores;
    bool is_implicit = false;
    std::set<terms::ModelHandle> models;
  };
  struct Model {
    terms::CoreGroupId group = {};
    terms::ModelPhase phase = terms::ModelPhase::kLoaded;
    int max_in_flight = 1;
    std::set<Cookie> in_flight;
  };

  std::map<terms::CoreGroupId, Group> groups;
  std::map<terms::ModelHandle, Model> models;
  /// What poll will answer, by cookie; kPending while in flight.
  std::map<Cookie, RuntimeCode> cookies;

  bool has_free_range(std::int32_t length) const;
  /// Whether these cores were free and lie in a row; takes them.
  bool take(terms::CoreGroupId id, const std::vector<terms::CoreRef>& cores, bool is_implicit);
  void release(terms::CoreGroupId id);
  std::int32_t num_free() const;

  RuntimeCode on_destroy(terms::CoreGroupId id);
  /// nullopt: the load must succeed.
  std::optional<RuntimeCode> refuses_load(const std::vector<std::int32_t>& segments,
                                          std::optional<terms::CoreGroupId> group) const;
  void on_loaded(terms::ModelHandle handle, terms::CoreGroupId group, int max_in_flight);
  RuntimeCode on_start(terms::ModelHandle handle);
  RuntimeCode on_stop(terms::ModelHandle handle);
  RuntimeCode on_unload(terms::ModelHandle handle);
  RuntimeCode on_post(terms::ModelHandle handle) const;
  /// Somebody waits: all that is in flight gets done.
  void on_wait();

 private:
  static constexpr terms::CoreGroupId kFree = {};
  void cancel_all(Model& model);
  std::vector<terms::CoreGroupId> owner_;
};

}  // namespace sluice::runtime::testing
