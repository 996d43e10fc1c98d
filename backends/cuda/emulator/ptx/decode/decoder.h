// A statement on its way to an instruction: what the families of opcodes read and set.
#pragma once

#include <initializer_list>
#include <string_view>
#include <vector>

#include "emulator/ptx/decode/builder.h"
#include "emulator/ptx/text/statement.h"

namespace sluice::cuda::ptx {

/// All functions throw Refusal. A family takes the words that it knows; `finish` refuses the rest
/// by name.
class Decoder {
 public:
  Decoder(const Statement& statement, Builder& builder);

  std::string_view family() const { return statement_.words.front(); }
  /// Whether the opcode has the word, which then counts as known.
  bool take(std::string_view word);
  /// The number of the first of `words` that the opcode has; -1 for none.
  int take_one_of(std::initializer_list<std::string_view> words);
  /// The next type of the opcode, from left to right; kNone without another one.
  Type take_type();
  /// The same, refused if there is none.
  Type need_type();
  Space take_space();

  std::size_t operand_count() const { return statement_.operands.size(); }
  const Operand& operand(std::size_t index) const;
  void need_operands(std::size_t min, std::size_t max) const;

  /// A value: register, number, special register or address of memory. Registers have the size of
  /// the type; if `is_relaxed` they may be larger.
  Place source(const Operand& operand, Type type, bool is_relaxed = false);
  Place source(std::size_t index, Type type) { return source(operand(index), type); }
  /// A result; `_` becomes a place that nobody reads.
  Place target(const Operand& operand, Type type, bool is_relaxed = false);
  Place target(std::size_t index, Type type) { return target(operand(index), type); }
  Place target_name(std::string_view name, Type type, bool is_relaxed = false);
  /// [base + offset]: fills in[which] and `offset`; yields the space of a named base.
  Space address(std::size_t index, int which);
  /// Places of a vector operand, or of one register, appended to Program::list; their number.
  std::size_t list(const Operand& operand, Type type, bool is_target, bool is_relaxed = false);
  void begin_list() {
    instruction.list = static_cast<std::uint32_t>(builder_.program().list.size());
  }

  [[noreturn]] void refuse(std::string_view why) const;
  [[noreturn]] void refuse_form() const;

  Builder& builder() { return builder_; }
  std::uint32_t line() const { return statement_.line; }
  std::size_t position() const { return builder_.program().code.size(); }
  /// Appends the instruction, with the statement's guard.
  void emit();
  /// emit, if the opcode has no word that nobody took.
  void finish();

  Instruction instruction;

 private:
  Place number_source(const Operand& operand, Type type);
  Place register_place(const Symbol& symbol, std::string_view name, Type type,
                       bool is_relaxed) const;

  const Statement& statement_;
  Builder& builder_;
  std::vector<bool> taken_;
};

}  // namespace sluice::cuda::ptx
