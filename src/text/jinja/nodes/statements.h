// What stands between expressions: text and {% .. %}.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "text/jinja/nodes/expressions.h"
#include "text/jinja/nodes/render.h"

namespace sluice::text::jinja {

/// What follows a statement: the next one, the end of the loop, or its next turn.
enum class Flow { kNext, kBreak, kContinue };

/// Immutable once it is parsed.
struct Statement {
  Statement() = default;
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;
  virtual ~Statement() = default;

  /// Writes to the output of `render`. Fails: as expressions.
  virtual Result<Flow> run(Render& render) const = 0;
};

using Block = std::vector<std::unique_ptr<const Statement>>;

Result<Flow> run(const Block& block, Render& render);

/// What a loop or `set` gives a value to: a name, a field of a namespace, or several of them.
struct Target {
  std::string name;
  std::string field;          ///< empty: the name itself
  std::vector<Target> parts;  ///< not empty: these, of a list with as many elements

  /// Fails: kInvalidArgument for a list of another length, or what is no namespace.
  Status set(Value value, Render& render) const;
};

struct TextNode : Statement {
  std::string text;
  Result<Flow> run(Render& render) const override;
};

struct OutputNode : Statement {
  ExpressionPtr value;
  Result<Flow> run(Render& render) const override;
};

struct IfNode : Statement {
  std::vector<std::pair<ExpressionPtr, Block>> branches;
  Block otherwise;
  Result<Flow> run(Render& render) const override;
};

struct ForNode : Statement {
  Target target;
  ExpressionPtr list;
  ExpressionPtr condition;  ///< null: every element has its turn
  Block body;
  Block otherwise;
  Result<Flow> run(Render& render) const override;

 private:
  Result<ListPtr> chosen(Render& render) const;
};

struct SetNode : Statement {
  Target target;
  ExpressionPtr value;
  Result<Flow> run(Render& render) const override;
};

/// {% set name %} .. {% endset %}
struct SetBlockNode : Statement {
  Target target;
  Block body;
  Result<Flow> run(Render& render) const override;
};

struct MacroNode : Statement {
  std::string name;
  std::vector<std::pair<std::string, ExpressionPtr>> parameters;  ///< with its default, or null
  Block body;
  Result<Flow> run(Render& render) const override;
};

struct FlowNode : Statement {
  Flow flow = Flow::kBreak;
  Result<Flow> run(Render& render) const override;
};

}  // namespace sluice::text::jinja
