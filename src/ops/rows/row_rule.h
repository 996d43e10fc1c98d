// What the proof of rows knows of an operand, and the rule that an operator has.
#pragma once

#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "ops/inference.h"

namespace sluice::ops {

/// What an operand has to do with the rows of a run.
struct Rows {
  enum class Kind {
    kNone,   ///< the same for every row and for any number of them
    kCount,  ///< depends on the number of rows, but on no request's data
    kRows    ///< along `axis` lie the rows, each of as many neighbouring entries as the others
  };

  Kind kind = Kind::kNone;
  std::size_t axis = 0;

  bool is_none() const { return kind == Kind::kNone; }
  bool is_rows() const { return kind == Kind::kRows; }
  bool are_at(std::size_t wanted) const { return is_rows() && axis == wanted; }
  static Rows at(std::size_t axis) { return {Kind::kRows, axis}; }
};

/// An operation whose types are inferred, and its inputs' rows. Borrowed arguments outlive it.
class RowContext {
 public:
  RowContext(const InferenceContext& inferred, std::span<const Rows> inputs)
      : facts(inferred), inputs_(inputs) {}

  const InferenceContext& facts;

  /// The rows of an input; an absent one has none.
  Rows rows(std::size_t input) const { return input < inputs_.size() ? inputs_[input] : Rows(); }
  std::size_t num_inputs() const { return inputs_.size(); }
  /// Requires: the input is there and its rank is known, which holds for inputs with rows.
  const ir::Shape& shape(std::size_t input) const { return *facts.shape(input); }
  /// Null if the rank is unknown.
  const ir::Shape* output(std::size_t index) const { return facts.output(index).shape(); }
  /// Fails unless no input but those of `except` has to do with the rows.
  Status others_have_none(std::initializer_list<std::size_t> except) const;

  template <typename... Args>
  Status mixes(fmt::format_string<Args...> format, Args&&... args) const {
    return Status(Code::kInvalidArgument,
                  "mixes rows: " + fmt::format(format, std::forward<Args>(args)...));
  }

 private:
  std::span<const Rows> inputs_;
};

/// The rows of the outputs, or of all of them if there is one entry.
using RowsResult = Result<std::vector<Rows>>;

/// Called if some input has rows. Only an input that is a shape may be kCount.
using RowRule = RowsResult (*)(const RowContext& context);

struct NamedRowRule {
  std::string_view domain;
  std::string_view name;
  RowRule rule;
};

// The families, a file each.
std::span<const NamedRowRule> axis_row_rules();
std::span<const NamedRowRule> batch_row_rules();
std::span<const NamedRowRule> move_row_rules();
std::span<const NamedRowRule> pick_row_rules();
std::span<const NamedRowRule> product_row_rules();
std::span<const NamedRowRule> sequence_row_rules();

/// An operand of a broadcast.
struct RowOperand {
  const ir::Shape* shape = nullptr;
  Rows rows;
};

/// Rows of a result of `shape` to which the operands are broadcast: all rows must meet, and the
/// other operands must be the same for each of them. None if no operand has rows.
/// Fails: kInvalidArgument, why rows mix.
Result<Rows> broadcast_rows(std::span<const RowOperand> operands, const ir::Shape& shape);

/// broadcast_rows of all inputs.
RowsResult elementwise_rows(const RowContext& context);

/// The axis of attribute `name`, made non-negative.
Result<std::size_t> axis_of(const RowContext& context, std::string_view name, std::size_t rank);

}  // namespace sluice::ops
