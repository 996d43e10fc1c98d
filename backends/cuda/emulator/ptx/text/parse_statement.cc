#include "emulator/ptx/text/parse_statement.h"

#include <algorithm>
#include <iterator>

#include "emulator/ptx/text/refusal.h"

namespace sluice::cuda::ptx {
namespace {

// Families whose operands have forms of their own; the whole family is missing.
constexpr std::string_view kRefused[] = {"tex",
                                         "tld4",
                                         "txq",
                                         "suld",
                                         "sust",
                                         "sured",
                                         "suq",
                                         "wgmma",
                                         "mbarrier",
                                         "tcgen05",
                                         "mapa",
                                         "istypep",
                                         "getctarank",
                                         "tensormap",
                                         "multimem",
                                         "griddepcontrol",
                                         "clusterlaunchcontrol",
                                         "elect",
                                         "setmaxnreg",
                                         "createpolicy",
                                         "applypriority",
                                         "discard",
                                         "alloca",
                                         "stacksave",
                                         "stackrestore",
                                         "vadd",
                                         "vsub",
                                         "vmad"};

void set_number(const Number& number, bool is_negative, Operand* operand) {
  using Kind = Operand::Kind;
  operand->bits = number.bits;
  if (number.kind == Number::Kind::kInteger) {
    operand->kind = Kind::kInteger;
    if (is_negative) operand->bits = 0 - number.bits;
    return;
  }
  const bool is_single = number.kind == Number::Kind::kFloat32;
  operand->kind = is_single ? Kind::kFloat32 : Kind::kFloat64;
  if (is_negative) operand->bits ^= std::uint64_t{1} << (is_single ? 31 : 63);
}

/// "+4", "-8" or "+-8" behind a base; 0 without.
std::int64_t take_offset(Lexer& lexer) {
  if (lexer.take_if("+")) return lexer.take_integer("an offset");
  return lexer.peek().is("-") ? lexer.take_integer("an offset") : 0;
}

Operand parse_address(Lexer& lexer) {
  Operand operand;
  operand.kind = Operand::Kind::kAddress;
  if (lexer.peek().kind == Token::Kind::kWord) {
    operand.name = lexer.take().text;
    operand.offset = take_offset(lexer);
  } else {
    operand.offset = lexer.take_integer("an address");
  }
  if (lexer.peek().is(",")) refuse_feature(lexer.peek().line, "addresses with coordinates");
  lexer.expect("]");
  return operand;
}

Operand parse_simple(Lexer& lexer) {
  Operand operand;
  operand.is_negated = lexer.take_if("!");
  const bool is_negative = !operand.is_negated && lexer.take_if("-");
  if (lexer.peek().kind == Token::Kind::kNumber) {
    set_number(parse_number(lexer.take()), is_negative, &operand);
    return operand;
  }
  if (is_negative) refuse_text(lexer.peek().line, "expected a number behind \"-\"");
  operand.name = lexer.take_word("an operand");
  if (lexer.take_if("|")) operand.other = lexer.take_word("a second result");
  operand.offset = take_offset(lexer);
  return operand;
}

/// Parts up to `end`; the opening mark is taken.
Operand parse_vector(Lexer& lexer, std::string_view end) {
  Operand operand;
  operand.kind = Operand::Kind::kVector;
  while (!lexer.take_if(end)) {
    if (!operand.parts.empty()) lexer.expect(",");
    if (operand.parts.size() == kMaxOperands) refuse_size(lexer.peek().line, "too many operands");
    operand.parts.push_back(parse_simple(lexer));
  }
  return operand;
}

Operand parse_operand(Lexer& lexer) {
  if (lexer.take_if("[")) return parse_address(lexer);
  if (lexer.take_if("{")) return parse_vector(lexer, "}");
  if (lexer.take_if("(")) return parse_vector(lexer, ")");
  return parse_simple(lexer);
}

void split_opcode(std::string_view opcode, std::vector<std::string_view>* words) {
  words->clear();
  for (std::size_t begin = 0; begin <= opcode.size();) {
    const std::size_t end = std::min(opcode.find('.', begin), opcode.size());
    words->push_back(opcode.substr(begin, end - begin));
    begin = end + 1;
  }
}

}  // namespace

void parse_statement(Lexer& lexer, Statement* statement) {
  statement->line = lexer.peek().line;
  statement->guard = {};
  statement->operands.clear();
  if (lexer.take_if("@")) {
    statement->is_guard_negated = lexer.take_if("!");
    statement->guard = lexer.take_word("a predicate");
  }
  statement->opcode = lexer.take_word("an instruction");
  split_opcode(statement->opcode, &statement->words);
  const std::string_view family = statement->words.front();
  if (std::find(std::begin(kRefused), std::end(kRefused), family) != std::end(kRefused)) {
    refuse_feature(statement->line, std::string(statement->opcode));
  }
  while (!lexer.take_if(";")) {
    if (!statement->operands.empty()) lexer.expect(",");
    if (statement->operands.size() == kMaxOperands)
      refuse_size(statement->line, "too many operands");
    statement->operands.push_back(parse_operand(lexer));
  }
}

}  // namespace sluice::cuda::ptx
