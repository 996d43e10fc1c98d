#include "onnx/faults/attribute_names.h"

#include <algorithm>
#include <string>

#include "ops/history/operator_history.h"
#include "ops/schema.h"

namespace sluice::onnx {
namespace {

constexpr std::string_view kOwnDomain = "sluice";
constexpr std::string_view kOwnPrefix = "sluice_";

/// The opset whose attributes count. An operator set that is not imported counts as the newest, and
/// an operator newer than its opset as its first version: import accepts some of these.
int effective_opset(const ops::OpSchema* schema, const ops::OperatorHistory& history,
                    const std::string& domain, const Opsets& opsets) {
  const auto imported = opsets.find(domain);
  if (imported != opsets.end()) return std::max(imported->second, history.first);
  return schema == nullptr ? history.first : schema->newest_version();
}

std::string opset_name(const std::string& domain, int opset) {
  return domain.empty() ? fmt::format("opset {}", opset)
                        : fmt::format("opset {} of {}", opset, domain);
}

}  // namespace

Status check_attribute_names(const pb::NodeProto& node, const Opsets& opsets) {
  const std::string domain = canonical_domain(node.domain());
  if (domain == kOwnDomain) {
    return invalid_argument("operators of domain \"{}\" cannot come from a file", domain);
  }
  const ops::OpSchema* schema = ops::find_schema(domain, node.op_type());
  const bool is_custom = schema != nullptr && schema->has(ops::kCustom);
  const ops::OperatorHistory* history =
      is_custom ? nullptr : ops::find_history(domain, node.op_type());
  const int opset = history == nullptr ? 0 : effective_opset(schema, *history, domain, opsets);
  std::string faults;
  const auto add = [&](const std::string& fault) {
    faults += (faults.empty() ? "" : "; ") + fault;
  };
  for (const pb::AttributeProto& attribute : node.attribute()) {
    SLUICE_TRY(check_name(attribute.name()));
    if (attribute.name().starts_with(kOwnPrefix)) {
      add(fmt::format("attribute \"{}\" cannot come from a file", attribute.name()));
    } else if (history != nullptr && !history->has_attribute(attribute.name(), opset)) {
      add(fmt::format("the operator has no attribute \"{}\" in {}: {}", attribute.name(),
                      opset_name(domain, opset),
                      ops::advise_on_attribute(*history, opset, attribute.name())));
    }
  }
  return faults.empty() ? ok_status() : Status(Code::kInvalidArgument, faults);
}

}  // namespace sluice::onnx
