// Declarations of memory, and remarks.
#include "emulator/ptx/decode/module_text.h"
#include "emulator/ptx/text/refusal.h"

namespace sluice::cuda::ptx {
namespace {

// Device memory of one variable; a product of dimensions is checked against it.
constexpr std::size_t kMaxVariableBytes = std::size_t{64} << 20;
constexpr std::size_t kMaxAlignment = 1024;

std::size_t take_size(Lexer& lexer, std::size_t limit) {
  const std::uint32_t line = lexer.peek().line;
  const std::int64_t size = lexer.take_integer("a size");
  if (size < 0 || static_cast<std::uint64_t>(size) > limit) {
    refuse_size(line, std::to_string(size) + " is no size from 0 to " + std::to_string(limit));
  }
  return static_cast<std::size_t>(size);
}

/// [4][2] behind a name, in elements.
void take_dimensions(Lexer& lexer, MemoryText* memory) {
  while (lexer.take_if("[")) {
    if (lexer.take_if("]")) {
      memory->is_open = true;
      memory->size_bytes = 0;
      continue;
    }
    const std::uint32_t line = lexer.peek().line;
    const std::size_t count = take_size(lexer, kMaxVariableBytes);
    lexer.expect("]");
    if (count != 0 && memory->size_bytes > kMaxVariableBytes / count)
      refuse_size(line, "the memory is too large");
    memory->size_bytes *= count;
  }
}

/// `.align 8`, `.v4`, `.ptr .global`, the type: whatever begins with a dot before the name.
std::size_t take_qualifiers(Lexer& lexer, MemoryText* memory) {
  std::size_t vector = 1;
  std::size_t alignment = 0;
  while (lexer.peek().kind == Token::Kind::kWord && lexer.peek().text.front() == '.') {
    const Token word = lexer.take();
    if (word.is(".align")) {
      const std::size_t asked = take_size(lexer, kMaxAlignment);
      if (asked == 0 || (asked & (asked - 1)) != 0)
        refuse_text(word.line, "an alignment is a power of two");
      if (memory->type == Type::kNone || alignment == 0) alignment = asked;
    } else if (word.is(".v2") || word.is(".v4")) {
      vector = word.is(".v2") ? 2 : 4;
    } else if (word.is(".ptr")) {
      // The alignment of what a parameter points to says nothing about the parameter.
      alignment = alignment == 0 ? size_of(memory->type) : alignment;
    } else if (const Type type = parse_type(word.text.substr(1)); type != Type::kNone) {
      memory->type = type;
    } else if (!word.is(".global") && !word.is(".const") && !word.is(".shared") &&
               !word.is(".local")) {
      refuse_feature(word.line, std::string(word.text) + " in a declaration");
    }
  }
  memory->alignment_bytes = alignment;
  return vector;
}

}  // namespace

MemoryText parse_memory(Lexer& lexer) {
  MemoryText memory;
  const std::uint32_t line = lexer.peek().line;
  const std::size_t vector = take_qualifiers(lexer, &memory);
  if (size_of(memory.type) == 0) refuse_text(line, "expected a type with a size");
  memory.name = lexer.take_word("a name");
  memory.size_bytes = size_of(memory.type) * vector;
  if (memory.alignment_bytes == 0) memory.alignment_bytes = memory.size_bytes;
  take_dimensions(lexer, &memory);
  return memory;
}

bool skip_remark(Lexer& lexer) {
  if (lexer.take_if(".pragma")) {
    lexer.take();
    lexer.expect(";");
    return true;
  }
  if (lexer.take_if(".file")) {
    lexer.take_integer("a file's number");
    lexer.take();
    while (lexer.take_if(",")) lexer.take_integer("a number");
    return true;
  }
  if (!lexer.take_if(".loc")) return false;
  for (int i = 0; i < 3; ++i) lexer.take_integer("a place in a source");
  while (lexer.take_if(",")) {
    lexer.take_word("function_name or inlined_at");
    if (lexer.peek().kind == Token::Kind::kWord) lexer.take();
    lexer.take_if("+");
    while (lexer.peek().kind == Token::Kind::kNumber) lexer.take();
  }
  return true;
}

}  // namespace sluice::cuda::ptx
