// Functions that templates call: filters, tests, methods, globals.
#pragma once

#include <string_view>
#include <utility>

#include "text/jinja/values/call.h"
#include "text/jinja/values/value.h"

namespace sluice::text::jinja {

/// `subject`: what stands before a filter, or the owner of a method.
using Function = Result<Value> (*)(const Value& subject, Call& call);

struct NamedFunction {
  std::string_view name;
  Function function;
};

/// Null: there is none of this name.
template <typename Table>
const NamedFunction* find_function(const Table& table, std::string_view name) {
  for (const NamedFunction& entry : table) {
    if (entry.name == name) return &entry;
  }
  return nullptr;
}

/// Refuses arguments that the function does not take.
inline Result<Value> invoke(Function function, const Value& subject, Call& call) {
  SLUICE_TRY(call.work.spend(Work::kStepUnits));
  Value result = SLUICE_TRY(function(subject, call));
  SLUICE_TRY(call.finish());
  return result;
}

/// A function of a template as a value; a method keeps its owner.
class BoundFunction : public Object {
 public:
  explicit BoundFunction(const NamedFunction& named, Value subject = {})
      : function_(named.function), subject_(std::move(subject)) {}

  std::string_view kind() const override { return "function"; }
  bool is_callable() const override { return true; }
  Result<Value> call(Call& call) override { return invoke(function_, subject_, call); }
  int depth() const override { return depth_of(subject_) + 1; }

 private:
  Function function_;
  Value subject_;
};

}  // namespace sluice::text::jinja
