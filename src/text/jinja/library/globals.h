// Names that every template knows: range, dict, namespace, raise_exception, strftime_now.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "text/jinja/values/value.h"

namespace sluice::text::jinja {

/// The one thing that a template changes: `{% set ns.count = ns.count + 1 %}`.
class Namespace : public Object {
 public:
  explicit Namespace(std::vector<std::pair<std::string, Value>> fields)
      : fields_(std::move(fields)) {}

  std::string_view kind() const override { return "namespace"; }
  std::optional<Value> field(std::string_view name) const override;
  /// Fails: kResourceExhausted.
  Status set(std::string_view name, Value value, Work& work);
  void clear() { fields_.clear(); }

 private:
  std::vector<std::pair<std::string, Value>> fields_;
};

/// Namespaces of one rendering. Namespaces may hold each other, so the end empties all of them.
class Namespaces {
 public:
  Namespaces() = default;
  Namespaces(const Namespaces&) = delete;
  Namespaces& operator=(const Namespaces&) = delete;
  ~Namespaces();

  ObjectPtr add(std::vector<std::pair<std::string, Value>> fields);

 private:
  std::vector<std::shared_ptr<Namespace>> all_;
};

/// `namespaces` outlives what they make. `time_seconds`, since 1970, is what strftime_now tells in
/// local time.
std::vector<std::pair<std::string, Value>> make_globals(Namespaces& namespaces,
                                                        std::int64_t time_seconds);

}  // namespace sluice::text::jinja
