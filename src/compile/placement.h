// The manual scheduler: rules that say which backends may run an operation.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "backend/registry.h"
#include "compile/assign.h"

namespace sluice::compile {

/// Rules have the form PATTERN=BACKEND[,BACKEND...]; the first backend of the list that supports
/// an operation runs it, and no other backend may. PATTERN is the name of an operation, an operator
/// ("Conv", "sluice::Reorder"), or a glob over names of operations in which `*` stands for any text
/// and `?` for one character. The last '=' separates the two parts. BACKEND is the name of a
/// plug-in, or `host`: the first preferred backend whose devices compute in host memory.
///
/// An exact name precedes an operator, and an operator precedes a glob; of equal rules the first
/// counts. An operation without a rule goes to the first preferred backend that supports it.
/// A fused operation has the name of the operation that the others joined.
///
/// Immutable; safe across threads.
class Placement {
 public:
  /// `preferred` are names of backends in order of preference.
  /// Fails: kInvalidArgument  a rule without '=', pattern or backend; `host` without a host backend
  ///        kNotFound         a backend is not there
  static Result<Placement> create(std::span<const std::string> rules,
                                  const backend::BackendRegistry& registry,
                                  std::span<const std::string> preferred);

  /// The preferred backends, then those that only rules name.
  std::span<const std::string> names() const { return names_; }
  Backends backends() const { return backends_; }
  const std::string& rule(std::size_t index) const { return rules_[index].text; }
  std::size_t num_rules() const { return rules_.size(); }

  /// Whether a rule matches the operation or one of its fused body, also where another decides.
  bool is_match(std::size_t rule, const ir::Graph& graph, const ir::Operation& operation) const;

  /// The rule that decides; nullopt if none matches. `sluice::Elementwise` is nothing but its body,
  /// so a rule for an operation in the body decides where no rule names the whole.
  std::optional<std::size_t> find_rule(const ir::Graph& graph,
                                       const ir::Operation& operation) const;

  /// Indices into backends() in order of preference.
  std::span<const std::int16_t> candidates(const ir::Graph& graph,
                                           const ir::Operation& operation) const;

  /// Whether the operation and all operations of its fused body have the same candidates, so that
  /// fusing them breaks no rule.
  bool is_uniform(const ir::Graph& graph, const ir::Operation& operation) const;

 private:
  struct Rule {
    std::string text;  ///< as given
    std::string pattern;
    std::vector<std::int16_t> candidates;
  };

  Result<std::int16_t> index_of(const std::string& name, const backend::BackendRegistry& registry);
  Status add_rule(const std::string& text, const backend::BackendRegistry& registry);
  std::optional<std::size_t> find_own_rule(const ir::Operation& operation) const;

  std::vector<std::string> names_;
  std::vector<std::shared_ptr<const backend::Backend>> backends_;
  std::vector<std::int16_t> preferred_;
  std::vector<Rule> rules_;
};

/// Key of the graph's metadata that keeps the rules a package was compiled with.
inline constexpr const char* kPlacesFact = "sluice.places";

/// Key of the graph's metadata that says which scheduler chose between backends; absent for the
/// rules.
inline constexpr const char* kScheduledFact = "sluice.scheduled_by";

/// Whether `text` as a whole matches `pattern`: `*` is any text, `?` one character.
bool matches_glob(std::string_view pattern, std::string_view text);

}  // namespace sluice::compile
