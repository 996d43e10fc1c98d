#include "text/jinja/nodes/render.h"

#include "text/jinja/nodes/expressions.h"

namespace sluice::text::jinja {

void Scope::set(std::string_view name, Value value) {
  for (auto& [key, old] : values) {
    if (key != name) continue;
    old = std::move(value);
    return;
  }
  values.emplace_back(name, std::move(value));
}

Result<Value> Render::evaluate(const Expression& expression) {
  line = expression.line;
  SLUICE_TRY(work.spend(Work::kStepUnits));
  SLUICE_TRY(work.enter());
  auto value = expression.evaluate(*this);
  work.leave();
  return value;
}

Value Render::find(std::string_view name) const {
  for (const Scope* at = scope.get(); at != nullptr; at = at->parent.get()) {
    for (const auto& [key, value] : at->values) {
      if (key == name) return value;
    }
  }
  return Undefined{std::make_shared<const std::string>(name)};
}

Status Render::write(std::string_view text) {
  SLUICE_TRY(work.spend_text(text.size()));
  SLUICE_TRY(Work::check_text(output.size() + text.size()));
  output += text;
  return ok_status();
}

}  // namespace sluice::text::jinja
