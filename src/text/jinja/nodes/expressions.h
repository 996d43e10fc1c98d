// What stands in {{ .. }}, and behind `if`, `in` and `=`: a tree of nodes that evaluate themselves.
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "text/jinja/library/arithmetic.h"
#include "text/jinja/library/function.h"
#include "text/jinja/nodes/render.h"
#include "text/jinja/values/call.h"

namespace sluice::text::jinja {

/// Immutable once it is parsed.
struct Expression {
  Expression() = default;
  Expression(const Expression&) = delete;
  Expression& operator=(const Expression&) = delete;
  virtual ~Expression() = default;

  /// Fails: kInvalidArgument for values that the operation does not take; kResourceExhausted.
  virtual Result<Value> evaluate(Render& render) const = 0;

  int line = 0;
  int depth = 1;  ///< of the tree; bounded by the parser
};

using ExpressionPtr = std::unique_ptr<const Expression>;

struct ArgumentNodes {
  std::vector<ExpressionPtr> positional;
  std::vector<std::pair<std::string, ExpressionPtr>> named;

  Result<Arguments> evaluate(Render& render) const;
};

struct Literal : Expression {
  Value value;
  Result<Value> evaluate(Render& render) const override;
};

struct Name : Expression {
  std::string name;
  Result<Value> evaluate(Render& render) const override;
};

struct ListNode : Expression {
  std::vector<ExpressionPtr> items;
  bool is_tuple = false;
  Result<Value> evaluate(Render& render) const override;
};

struct DictNode : Expression {
  std::vector<std::pair<ExpressionPtr, ExpressionPtr>> entries;
  Result<Value> evaluate(Render& render) const override;
};

struct AttributeNode : Expression {
  ExpressionPtr owner;
  std::string name;
  Result<Value> evaluate(Render& render) const override;
};

struct ItemNode : Expression {
  ExpressionPtr owner;
  ExpressionPtr key;
  Result<Value> evaluate(Render& render) const override;
};

struct SliceNode : Expression {
  ExpressionPtr owner;
  ExpressionPtr start;  ///< null: absent, as the others
  ExpressionPtr stop;
  ExpressionPtr step;
  Result<Value> evaluate(Render& render) const override;
};

struct CallNode : Expression {
  ExpressionPtr callee;
  ArgumentNodes arguments;
  Result<Value> evaluate(Render& render) const override;
};

/// A filter, or a test.
struct FilterNode : Expression {
  ExpressionPtr subject;
  NamedFunction filter = {};
  ArgumentNodes arguments;
  Result<Value> evaluate(Render& render) const override;
};

struct BinaryNode : Expression {
  Operator op = Operator::kAdd;
  ExpressionPtr left;
  ExpressionPtr right;
  Result<Value> evaluate(Render& render) const override;
};

struct NegateNode : Expression {
  ExpressionPtr operand;
  Result<Value> evaluate(Render& render) const override;
};

struct NotNode : Expression {
  ExpressionPtr operand;
  Result<Value> evaluate(Render& render) const override;
};

/// a ~ b ~ c
struct ConcatNode : Expression {
  std::vector<ExpressionPtr> parts;
  Result<Value> evaluate(Render& render) const override;
};

enum class Comparison {
  kEqual,
  kNotEqual,
  kLess,
  kLessEqual,
  kGreater,
  kGreaterEqual,
  kIn,
  kNotIn
};

/// a < b <= c
struct CompareNode : Expression {
  ExpressionPtr first;
  std::vector<std::pair<Comparison, ExpressionPtr>> others;
  Result<Value> evaluate(Render& render) const override;
};

/// The operand that decides, as in Python.
struct LogicNode : Expression {
  bool is_and = false;
  ExpressionPtr left;
  ExpressionPtr right;
  Result<Value> evaluate(Render& render) const override;
};

struct ConditionalNode : Expression {
  ExpressionPtr condition;
  ExpressionPtr value;
  ExpressionPtr otherwise;  ///< null: undefined
  Result<Value> evaluate(Render& render) const override;
};

}  // namespace sluice::text::jinja
