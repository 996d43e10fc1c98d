#include "compile/placement.h"

#include <algorithm>
#include <utility>

#include "compile/optimize.h"

namespace sluice::compile {
namespace {

constexpr std::string_view kHost = "host";

bool is_on_host(const backend::Backend& backend) {
  return std::ranges::all_of(backend.devices(), [](const backend::DeviceInfo& device) {
    return device.has_host_memory && !device.has_own_memory && !device.is_simulated;
  });
}

/// How strictly `pattern` names the operation: 3 by its name, 2 by its operator, 1 as a glob, 0 not
/// at all. No glob names a change of layout, which has no place in the model: the compiler inserts
/// it beside operations that want it.
int strictness(const std::string& pattern, const ir::Operation& operation) {
  if (!operation.name.empty() && pattern == operation.name) return 3;
  if (pattern == operation.kind || pattern == operation.domain + "::" + operation.kind) return 2;
  if (operation.is("Reorder", "sluice")) return 0;
  return matches_glob(pattern, operation.name) ? 1 : 0;
}

}  // namespace

bool matches_glob(std::string_view pattern, std::string_view text) {
  // Greedy, with one point of return: the last `*` takes one more character after a mismatch.
  std::size_t p = 0;
  std::size_t t = 0;
  std::size_t star = std::string_view::npos;
  std::size_t star_text = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      star_text = t;
    } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == text[t])) {
      ++p;
      ++t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++star_text;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

Result<Placement> Placement::create(std::span<const std::string> rules,
                                    const backend::BackendRegistry& registry,
                                    std::span<const std::string> preferred) {
  Placement placement;
  placement.names_.assign(preferred.begin(), preferred.end());
  placement.backends_ = SLUICE_TRY(find_backends(registry, preferred));
  for (std::size_t i = 0; i < preferred.size(); ++i) {
    placement.preferred_.push_back(static_cast<std::int16_t>(i));
  }
  for (const std::string& rule : rules) {
    SLUICE_TRY(placement.add_rule(rule, registry).with_context("--place " + rule));
  }
  return placement;
}

Status Placement::add_rule(const std::string& text, const backend::BackendRegistry& registry) {
  const std::size_t equals = text.rfind('=');
  if (equals == std::string::npos || equals == 0 || equals + 1 == text.size()) {
    return invalid_argument("write it as PATTERN=BACKEND, such as Conv=cpu or \"layer1.*=host\"");
  }
  Rule rule = {text, text.substr(0, equals), {}};
  for (std::size_t start = equals + 1; start <= text.size();) {
    const std::size_t comma = std::min(text.find(',', start), text.size());
    rule.candidates.push_back(SLUICE_TRY(index_of(text.substr(start, comma - start), registry)));
    start = comma + 1;
  }
  rules_.push_back(std::move(rule));
  return ok_status();
}

Result<std::int16_t> Placement::index_of(const std::string& name,
                                         const backend::BackendRegistry& registry) {
  if (name == kHost) {
    // Only backends of --backend count: a rule must not bring in one that the user did not name.
    const auto host = std::ranges::find_if(preferred_, [&](std::int16_t index) {
      return is_on_host(*backends_[static_cast<std::size_t>(index)]);
    });
    if (host != preferred_.end()) return *host;
    return invalid_argument("no backend of --backend computes on the host; add \"cpu\" to it");
  }
  const auto known = std::ranges::find(names_, name);
  if (known != names_.end()) return static_cast<std::int16_t>(known - names_.begin());
  backends_.push_back(SLUICE_TRY(registry.find(name)));
  names_.push_back(name);
  return static_cast<std::int16_t>(names_.size() - 1);
}

bool Placement::is_match(std::size_t rule, const ir::Graph& graph,
                         const ir::Operation& operation) const {
  const std::string& pattern = rules_[rule].pattern;
  if (strictness(pattern, operation) > 0) return true;
  if (!operation.body) return false;
  const ir::Subgraph& body = graph.subgraph(operation.body->subgraph);
  return std::ranges::any_of(body.order(), [&](ir::OperationId id) {
    return strictness(pattern, body.operation(id)) > 0;
  });
}

std::optional<std::size_t> Placement::find_own_rule(const ir::Operation& operation) const {
  std::optional<std::size_t> found;
  int best = 0;
  for (std::size_t i = 0; i < rules_.size(); ++i) {
    const int strict = strictness(rules_[i].pattern, operation);
    // The first of equally strict rules wins.
    if (strict <= best) continue;
    best = strict;
    found = i;
  }
  return found;
}

std::optional<std::size_t> Placement::find_rule(const ir::Graph& graph,
                                                const ir::Operation& operation) const {
  const auto own = find_own_rule(operation);
  // A fused operation has no name of its own: the rules of its parts hold for it.
  if (own || !operation.body || !operation.is("Elementwise", "sluice")) return own;
  const ir::Subgraph& body = graph.subgraph(operation.body->subgraph);
  for (const ir::OperationId id : body.order()) {
    if (const auto rule = find_own_rule(body.operation(id))) return rule;
  }
  return std::nullopt;
}

std::span<const std::int16_t> Placement::candidates(const ir::Graph& graph,
                                                    const ir::Operation& operation) const {
  const auto rule = find_rule(graph, operation);
  return rule ? rules_[*rule].candidates : preferred_;
}

bool Placement::is_uniform(const ir::Graph& graph, const ir::Operation& operation) const {
  if (rules_.empty() || !operation.body) return true;
  const auto whole = candidates(graph, operation);
  const ir::Subgraph& body = graph.subgraph(operation.body->subgraph);
  return std::ranges::all_of(body.order(), [&](ir::OperationId id) {
    return std::ranges::equal(candidates(graph, body.operation(id)), whole);
  });
}

}  // namespace sluice::compile
