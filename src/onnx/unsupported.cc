#include "onnx/unsupported.h"

#include <utility>

namespace sluice::onnx {
namespace {

constexpr std::size_t kMaxOperators = 20;
constexpr std::size_t kMaxNodes = 3;

}  // namespace

void UnsupportedOperators::add(const std::string& domain, const std::string& kind, int opset,
                               bool is_known, std::string node_name) {
  Uses& uses = uses_[{domain, kind, opset}];
  ++uses.count;
  uses.is_known = is_known;
  if (uses.some_names.size() < kMaxNodes) uses.some_names.push_back(std::move(node_name));
}

Status UnsupportedOperators::status() const {
  if (uses_.empty()) return ok_status();
  std::string list;
  std::size_t listed = 0;
  bool all_known = true;
  for (const auto& [key, uses] : uses_) {
    all_known = all_known && uses.is_known;
    if (++listed > kMaxOperators) continue;
    const auto& [domain, kind, opset] = key;
    list += fmt::format("{}{}{}{} of opset {} (", listed > 1 ? ", " : "", domain,
                        domain.empty() ? "" : "::", kind, opset);
    for (std::size_t i = 0; i < uses.some_names.size(); ++i) {
      list += fmt::format("{}\"{}\"", i > 0 ? ", " : "", uses.some_names[i]);
    }
    if (uses.count > uses.some_names.size()) {
      list += fmt::format(" and {} more", uses.count - uses.some_names.size());
    }
    list += ")";
  }
  if (listed > kMaxOperators) list += fmt::format(" and {} more operators", listed - kMaxOperators);
  const char* remedy = all_known
                           ? "convert the model to opset 13 or later"
                           : "export the model without them, or register them in the program that "
                             "compiles it (sluice/operators.h)";
  return unimplemented("not supported: {}; {}", list, remedy);
}

}  // namespace sluice::onnx
