#include "onnx/faults/findings.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "ops/history/operator_history.h"
#include "ops/schema.h"

namespace sluice::onnx {
namespace {

constexpr std::size_t kMaxOperators = 20;
constexpr std::size_t kMaxFaults = 20;
constexpr std::size_t kMaxNodes = 3;

/// The opset that brought an operator newer than `opset`; 0 if it is older, or nobody knows it.
int later_opset(const std::string& domain, const std::string& kind, int opset) {
  const ops::OpSchema* schema = ops::find_schema(domain, kind);
  const ops::OperatorHistory* history = ops::find_history(domain, kind);
  const int first = history != nullptr  ? history->first
                    : schema != nullptr ? schema->versions.front()
                                        : 0;
  return first > opset ? first : 0;
}

/// ": opset 20 has it", or a similar name; "" if there is nothing to say.
std::string advise(const std::string& domain, const std::string& kind, int opset) {
  if (const int later = later_opset(domain, kind, opset); later > 0) {
    return fmt::format(": opset {} has it", later);
  }
  if (ops::find_history(domain, kind) != nullptr) return "";
  const auto similar = ops::similar_operator(domain, kind);
  return similar ? fmt::format(": did you mean {}?", *similar) : "";
}

/// The advice for an unsupported operator.
enum class Remedy : std::uint8_t { kNewerOpset, kConvert, kRegister, kSaveAgain };

Remedy remedy_of(const std::string& domain, const std::string& kind, int opset) {
  if (domain == "com.microsoft.nchwc") return Remedy::kSaveAgain;
  if (ops::find_schema(domain, kind) == nullptr) return Remedy::kRegister;
  return later_opset(domain, kind, opset) > 0 ? Remedy::kNewerOpset : Remedy::kConvert;
}

const char* text_of(Remedy remedy) {
  switch (remedy) {
    case Remedy::kNewerOpset: return "export the model with that opset or a later one";
    case Remedy::kConvert: return "convert the model to opset 13 or later";
    case Remedy::kRegister:
      return "export the model without them, or register them in the program that compiles it "
             "(sluice/operators.h)";
    case Remedy::kSaveAgain:
      return "onnxruntime optimized the file for one machine: load the original, or save it with "
             "ORT_ENABLE_EXTENDED";
  }
  return "";
}

}  // namespace

void Findings::add_operator(const std::string& domain, const std::string& kind, int opset,
                            std::string node_name) {
  Uses& uses = operators_[{domain, kind, opset}];
  ++uses.count;
  if (uses.some_names.size() < kMaxNodes) uses.some_names.push_back(std::move(node_name));
}

void Findings::add(Status fault) {
  ++num_faults_;
  if (faults_.size() < kMaxFaults) faults_.push_back(std::move(fault));
}

bool Findings::is_full() const { return num_faults_ >= kMaxFaults; }

std::string Findings::describe_operators() const {
  std::string list;
  std::size_t listed = 0;
  Remedy remedy = Remedy::kNewerOpset;
  for (const auto& [key, uses] : operators_) {
    const auto& [domain, kind, opset] = key;
    // The strongest of what any operator needs, in the order of the enumeration.
    remedy = std::max(remedy, remedy_of(domain, kind, opset));
    if (++listed > kMaxOperators) continue;
    list += fmt::format("{}{}{}{} of opset {} (", listed > 1 ? ", " : "", domain,
                        domain.empty() ? "" : "::", kind, opset);
    for (std::size_t i = 0; i < uses.some_names.size(); ++i) {
      list += fmt::format("{}\"{}\"", i > 0 ? ", " : "", uses.some_names[i]);
    }
    if (uses.count > uses.some_names.size()) {
      list += fmt::format(" and {} more", uses.count - uses.some_names.size());
    }
    list += ")" + advise(domain, kind, opset);
  }
  if (listed > kMaxOperators) list += fmt::format(" and {} more operators", listed - kMaxOperators);
  return fmt::format("not supported: {}; {}", list, text_of(remedy));
}

Status Findings::status() const {
  if (is_empty()) return ok_status();
  if (operators_.empty() && faults_.size() == 1) return faults_.front();
  if (faults_.empty()) return Status(Code::kUnimplemented, describe_operators());
  std::string text = fmt::format("{} faults: ", num_faults_ + (operators_.empty() ? 0 : 1));
  for (const Status& fault : faults_) text += fault.message() + "; ";
  if (num_faults_ > faults_.size()) {
    text += fmt::format("and {} more; ", num_faults_ - faults_.size());
  }
  text += operators_.empty() ? "" : describe_operators();
  if (operators_.empty()) text.resize(text.size() - 2);
  return Status(operators_.empty() ? faults_.front().code() : Code::kUnimplemented, text);
}

}  // namespace sluice::onnx
