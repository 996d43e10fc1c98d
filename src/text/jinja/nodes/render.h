// One rendering: its variables, its text so far, and what it has cost.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "text/jinja/library/globals.h"
#include "text/jinja/values/value.h"

namespace sluice::text::jinja {

struct Expression;

/// Variables of the template, of one turn of a loop, or of one call of a macro. A macro keeps the
/// scope that it was defined in.
struct Scope {
  std::shared_ptr<Scope> parent;
  std::vector<std::pair<std::string, Value>> values;

  void set(std::string_view name, Value value);
};

/// Used by one thread.
class Render {
 public:
  explicit Render(Work& budget) : work(budget) {}

  Work& work;
  std::shared_ptr<Scope> scope;
  std::string output;  ///< of the template, the macro or the block that is evaluated
  int line = 1;        ///< of what was evaluated last, for messages

  /// Counts depth and steps.
  Result<Value> evaluate(const Expression& expression);
  /// Undefined if no scope has the name.
  Value find(std::string_view name) const;
  Status write(std::string_view text);
};

/// While it lives, names are set in a scope of their own. Its end empties the scope: a macro in it
/// and the scope hold each other.
class InnerScope {
 public:
  InnerScope(Render& render, std::shared_ptr<Scope> parent)
      : render_(render), outer_(std::move(render.scope)) {
    render_.scope = std::make_shared<Scope>(Scope{std::move(parent), {}});
  }
  explicit InnerScope(Render& render) : InnerScope(render, render.scope) {}
  InnerScope(const InnerScope&) = delete;
  InnerScope& operator=(const InnerScope&) = delete;
  ~InnerScope() {
    render_.scope->values.clear();
    render_.scope = std::move(outer_);
  }

 private:
  Render& render_;
  std::shared_ptr<Scope> outer_;
};

}  // namespace sluice::text::jinja
