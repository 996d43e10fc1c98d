// The words behind an opcode are modifiers, mostly in any order. A decoder takes the ones that it
// knows, and finish() refuses what is left: no modifier is passed over, because each may change
// what the instruction does.

#include "emulator/ptx/decode/decoder.h"

#include <bit>

#include "emulator/ptx/decode/special_registers.h"
#include "emulator/ptx/text/refusal.h"

namespace sluice::cuda::ptx {

Decoder::Decoder(const Statement& statement, Builder& builder)
    : statement_(statement), builder_(builder), taken_(statement.words.size()) {
  taken_[0] = true;
}

bool Decoder::take(std::string_view word) { return take_one_of({word}) == 0; }

int Decoder::take_one_of(std::initializer_list<std::string_view> words) {
  for (std::size_t i = 1; i < taken_.size(); ++i) {
    int number = 0;
    for (const std::string_view word : words) {
      if (!taken_[i] && statement_.words[i] == word) {
        taken_[i] = true;
        return number;
      }
      ++number;
    }
  }
  return -1;
}

Type Decoder::take_type() {
  for (std::size_t i = 1; i < taken_.size(); ++i) {
    const Type type = taken_[i] ? Type::kNone : parse_type(statement_.words[i]);
    if (type == Type::kNone) continue;
    taken_[i] = true;
    return type;
  }
  return Type::kNone;
}

Type Decoder::need_type() {
  const Type type = take_type();
  if (type == Type::kNone) refuse_form();
  return type;
}

Space Decoder::take_space() {
  if (take("global")) return Space::kGlobal;
  if (take("shared") || take("shared::cta")) return Space::kShared;
  if (take("local")) return Space::kLocal;
  if (take("param") || take("param::entry") || take("param::func")) return Space::kParameter;
  return take("const") ? Space::kConstant : Space::kGeneric;
}

const Operand& Decoder::operand(std::size_t index) const {
  if (index >= statement_.operands.size()) refuse("has too few operands");
  return statement_.operands[index];
}

void Decoder::need_operands(std::size_t min, std::size_t max) const {
  const std::size_t count = operand_count();
  if (count < min || count > max) refuse("has " + std::to_string(count) + " operands");
}

Place Decoder::register_place(const Symbol& symbol, std::string_view name, Type type,
                              bool is_relaxed) const {
  const bool fits = symbol.type == Type::kPred || type == Type::kPred ? symbol.type == type
                    : is_relaxed ? size_of(symbol.type) >= size_of(type)
                                 : size_of(symbol.type) == size_of(type);
  if (!fits) {
    refuse("takes ." + std::string(type_name(type)) + ", but " + std::string(name) +
           " is a register of ." + std::string(type_name(symbol.type)));
  }
  return symbol.place;
}

Place Decoder::number_source(const Operand& operand, Type type) {
  std::uint64_t bits = operand.bits;
  if (operand.kind == Operand::Kind::kFloat64 && type == Type::kF32) {
    bits = std::bit_cast<std::uint32_t>(static_cast<float>(std::bit_cast<double>(bits)));
  } else if (operand.kind == Operand::Kind::kFloat32 && type == Type::kF64) {
    const auto single = std::bit_cast<float>(static_cast<std::uint32_t>(bits));
    bits = std::bit_cast<std::uint64_t>(static_cast<double>(single));
  }
  // A predicate has a bit per lane of the warp.
  if (type == Type::kPred) bits = bits != 0 ? 0xffffffffu : 0;
  return builder_.number(bits, is_wide(type));
}

Place Decoder::source(const Operand& operand, Type type, bool is_relaxed) {
  if (!operand.other.empty() || operand.is_negated) refuse_form();
  if (operand.kind == Operand::Kind::kVector || operand.kind == Operand::Kind::kAddress)
    refuse_form();
  if (operand.kind != Operand::Kind::kName) return number_source(operand, type);
  if (operand.name == "WARP_SZ") return builder_.number(32, is_wide(type));
  if (const SpecialRegister* special = find_special(operand.name); special != nullptr) {
    return builder_.special(special->what, is_wide(type));
  }
  const Symbol* symbol = builder_.find(operand.name);
  if (symbol == nullptr)
    refuse("names \"" + std::string(operand.name) + "\", which is not declared");
  if (symbol->kind != Symbol::Kind::kRegister) {
    if (size_of(type) < 4) refuse("takes an address as ." + std::string(type_name(type)));
    return builder_.address(*symbol, operand.offset, is_wide(type));
  }
  if (operand.offset != 0) refuse("adds to a register outside of an address");
  return register_place(*symbol, operand.name, type, is_relaxed);
}

Place Decoder::target(const Operand& operand, Type type, bool is_relaxed) {
  if (operand.kind != Operand::Kind::kName || operand.is_negated || operand.offset != 0 ||
      !operand.other.empty()) {
    refuse_form();
  }
  return target_name(operand.name, type, is_relaxed);
}

Place Decoder::target_name(std::string_view name, Type type, bool is_relaxed) {
  if (name == "_") return builder_.sink(is_wide(type));
  const Symbol* symbol = builder_.find(name);
  if (symbol == nullptr || symbol->kind != Symbol::Kind::kRegister) {
    refuse("writes \"" + std::string(name) + "\", which is no register");
  }
  return register_place(*symbol, name, type, is_relaxed);
}

Space Decoder::address(std::size_t index, int which) {
  const Operand& operand = this->operand(index);
  if (operand.kind != Operand::Kind::kAddress) refuse("takes an address in brackets");
  instruction.offset = operand.offset;
  if (operand.name.empty()) {
    instruction.in[which] = builder_.number(0, true);
    return Space::kGeneric;
  }
  const Symbol* symbol = builder_.find(operand.name);
  if (symbol == nullptr)
    refuse("names \"" + std::string(operand.name) + "\", which is not declared");
  if (symbol->kind == Symbol::Kind::kRegister) {
    if (size_of(symbol->type) < 4) refuse("takes an address from a small register");
    instruction.in[which] = symbol->place;
    return Space::kGeneric;
  }
  instruction.in[which] = builder_.address(*symbol, 0, true);
  switch (symbol->kind) {
    case Symbol::Kind::kMemory: return symbol->space;
    case Symbol::Kind::kVariable: return Space::kGlobal;
    default: return Space::kShared;
  }
}

std::size_t Decoder::list(const Operand& operand, Type type, bool is_target, bool is_relaxed) {
  const auto add = [&](const Operand& part) {
    builder_.program().list.push_back(is_target ? target(part, type, is_relaxed)
                                                : source(part, type, is_relaxed));
  };
  if (operand.kind != Operand::Kind::kVector) {
    add(operand);
    return 1;
  }
  for (const Operand& part : operand.parts) add(part);
  return operand.parts.size();
}

void Decoder::refuse(std::string_view why) const {
  refuse_text(statement_.line, std::string(statement_.opcode) + " " + std::string(why));
}

void Decoder::refuse_form() const {
  refuse_feature(statement_.line, "such form of " + std::string(statement_.opcode));
}

void Decoder::emit() {
  Program& program = builder_.program();
  instruction.line = statement_.line;
  if (!statement_.guard.empty()) {
    const Symbol* symbol = builder_.find(statement_.guard);
    if (symbol == nullptr || symbol->type != Type::kPred) {
      refuse("has a guard that is no predicate: " + std::string(statement_.guard));
    }
    instruction.is_guarded = true;
    instruction.is_negated = statement_.is_guard_negated;
    instruction.guard = symbol->place;
  }
  // Names are for error messages alone. Equal neighbours share one; a search through all would make
  // decoding quadratic.
  if (program.opcodes.empty() || program.opcodes.back() != statement_.opcode) {
    program.opcodes.emplace_back(statement_.opcode);
  }
  instruction.opcode = static_cast<std::uint32_t>(program.opcodes.size() - 1);
  program.code.push_back(instruction);
}

void Decoder::finish() {
  for (std::size_t i = 0; i < taken_.size(); ++i) {
    if (!taken_[i]) {
      refuse_feature(statement_.line, "." + std::string(statement_.words[i]) + " of " +
                                          std::string(statement_.opcode));
    }
  }
  emit();
}

}  // namespace sluice::cuda::ptx
