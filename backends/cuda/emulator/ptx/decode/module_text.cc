// Reads the directives of a module; the statements of a kernel's body are split here and decoded
// elsewhere. The text comes from a guest or a package and may be hostile: every count below is
// bounded before anything grows with it.

#include "emulator/ptx/decode/module_text.h"

#include <bit>
#include <cstring>

#include "emulator/ptx/text/refusal.h"

namespace sluice::cuda::ptx {
namespace {

constexpr std::size_t kMaxKernels = 4096, kMaxParameters = 1024;
constexpr std::size_t kMaxParameterBytes = 32764;  // since CUDA 12.1
constexpr std::size_t kMaxNesting = 8;             // of an initial value

class ModuleReader {
 public:
  explicit ModuleReader(std::string_view text) : lexer_(text) {}

  ModuleText read() {
    while (lexer_.peek().kind != Token::Kind::kEnd) read_directive();
    return std::move(module_);
  }

 private:
  void read_directive();
  void read_version();
  void read_target();
  void read_variable(bool is_constant, bool is_extern);
  void read_shared(bool is_extern);
  void read_initial(Variable* variable, Type type, std::size_t nesting);
  void append(Variable* variable, Type type);
  void read_entry(bool is_kernel);
  std::vector<ParameterText> read_parameters();
  void read_limits(EntryText* entry);
  void declare(std::uint32_t line, std::string_view name, const Symbol& symbol);

  Lexer lexer_;
  ModuleText module_;
};

void ModuleReader::read_directive() {
  if (skip_remark(lexer_)) return;
  bool is_extern = false;
  for (;;) {
    if (lexer_.take_if(".extern")) {
      is_extern = true;
    } else if (!lexer_.take_if(".visible") && !lexer_.take_if(".weak") &&
               !lexer_.take_if(".common")) {
      break;
    }
  }
  const std::uint32_t line = lexer_.peek().line;
  const std::string_view word = lexer_.take_word("a directive");
  if (word == ".version") return read_version();
  if (word == ".target") return read_target();
  if (word == ".address_size") {
    if (lexer_.take_integer("64") != 64) refuse_feature(line, "addresses of other than 64 bits");
    return;
  }
  if (word == ".entry" || word == ".func") return read_entry(word == ".entry");
  if (word == ".global" || word == ".const") return read_variable(word == ".const", is_extern);
  if (word == ".shared") return read_shared(is_extern);
  if (word == ".section") {
    lexer_.take_word("a section's name");
    return lexer_.skip_braces();
  }
  if (word.front() != '.')
    refuse_text(line, "expected a directive before \"" + std::string(word) + "\"");
  refuse_feature(line, std::string(word));
}

void ModuleReader::read_version() {
  const Token token = lexer_.take();
  const bool is_version = token.text.size() == 3 && token.text[1] == '.';
  if (!is_version) refuse_text(token.line, "expected a version such as 8.0");
  module_.version = (token.text[0] - '0') * 10 + (token.text[2] - '0');
}

void ModuleReader::read_target() {
  do {
    const Token token = lexer_.take();
    if (token.text.substr(0, 3) != "sm_") continue;
    module_.architecture = 0;
    // Up to three digits: the letter of sm_90a says which features are used, and decoding meets
    // those by name.
    for (const char c : token.text.substr(3, 3)) {
      if (c >= '0' && c <= '9') module_.architecture = module_.architecture * 10 + (c - '0');
    }
  } while (lexer_.take_if(","));
}

void ModuleReader::declare(std::uint32_t line, std::string_view name, const Symbol& symbol) {
  if (!module_.names.emplace(name, symbol).second) {
    refuse_text(line, "\"" + std::string(name) + "\" is declared twice");
  }
}

void ModuleReader::read_shared(bool is_extern) {
  const std::uint32_t line = lexer_.peek().line;
  const MemoryText memory = parse_memory(lexer_);
  lexer_.expect(";");
  Symbol symbol;
  if (is_extern && memory.is_open) {
    symbol.kind = Symbol::Kind::kDynamicShared;
    symbol.offset_bytes = memory.alignment_bytes;
  } else {
    symbol.kind = Symbol::Kind::kModuleShared;
    symbol.offset_bytes = module_.shared.size();
    module_.shared.push_back({memory.size_bytes, memory.alignment_bytes});
  }
  declare(line, memory.name, symbol);
}

void ModuleReader::read_variable(bool is_constant, bool is_extern) {
  const std::uint32_t line = lexer_.peek().line;
  const MemoryText memory = parse_memory(lexer_);
  if (is_extern) refuse_feature(line, "variables of other modules: " + std::string(memory.name));
  Variable variable{std::string(memory.name), is_constant, memory.size_bytes,
                    memory.alignment_bytes,   {},          0};
  if (lexer_.take_if("=")) read_initial(&variable, memory.type, 0);
  lexer_.expect(";");
  if (memory.is_open) variable.size_bytes = variable.initial.size();
  if (variable.initial.size() > variable.size_bytes) {
    refuse_text(line, "more initial bytes than " + variable.name + " has");
  }
  Symbol symbol;
  symbol.kind = Symbol::Kind::kVariable;
  symbol.offset_bytes = module_.variables.size();
  declare(line, memory.name, symbol);
  module_.variables.push_back(std::move(variable));
}

void ModuleReader::read_initial(Variable* variable, Type type, std::size_t nesting) {
  if (!lexer_.take_if("{")) return append(variable, type);
  if (nesting == kMaxNesting)
    refuse_size(lexer_.peek().line, "an initial value is nested too deeply");
  if (lexer_.take_if("}")) return;
  do read_initial(variable, type, nesting + 1);
  while (lexer_.take_if(","));
  lexer_.expect("}");
}

void ModuleReader::append(Variable* variable, Type type) {
  const bool is_negative = lexer_.take_if("-");
  if (lexer_.peek().kind == Token::Kind::kWord) {
    refuse_feature(lexer_.peek().line,
                   "addresses as initial values: " + std::string(lexer_.peek().text));
  }
  const Number number = parse_number(lexer_.take());
  std::uint64_t bits = number.bits;
  if (number.kind == Number::Kind::kFloat64 && type == Type::kF32) {
    bits = std::bit_cast<std::uint32_t>(static_cast<float>(std::bit_cast<double>(bits)));
  }
  if (is_negative) {
    // Two's complement for integers; the sign bit of the type for floats, so that -0 stays.
    bits = number.kind == Number::Kind::kInteger
               ? 0 - bits
               : bits ^ std::uint64_t{1} << (8 * size_of(type) - 1);
  }
  std::byte bytes[8];
  std::memcpy(bytes, &bits, sizeof(bytes));
  variable->initial.insert(variable->initial.end(), bytes, bytes + size_of(type));
}

std::vector<ParameterText> ModuleReader::read_parameters() {
  std::vector<ParameterText> parameters;
  if (!lexer_.take_if("(")) return parameters;
  while (!lexer_.take_if(")")) {
    if (!parameters.empty()) lexer_.expect(",");
    if (parameters.size() == kMaxParameters) refuse_size(lexer_.peek().line, "too many parameters");
    if (!lexer_.take_if(".param")) refuse_feature(lexer_.peek().line, "parameters in registers");
    const MemoryText memory = parse_memory(lexer_);
    parameters.push_back({memory.name, memory.size_bytes, memory.alignment_bytes});
  }
  std::size_t bytes = 0;
  for (const ParameterText& parameter : parameters) bytes += parameter.size_bytes;
  if (bytes > kMaxParameterBytes)
    refuse_size(lexer_.peek().line, "more than 32764 bytes of parameters");
  return parameters;
}

void ModuleReader::read_limits(EntryText* entry) {
  for (;;) {
    if (skip_remark(lexer_) || lexer_.take_if(".noreturn")) continue;
    const bool limits = lexer_.peek().is(".maxntid") || lexer_.peek().is(".reqntid");
    if (limits) {
      lexer_.take();
      std::uint64_t threads = 1;
      do
        threads *=
            std::uint64_t{static_cast<std::uint16_t>(lexer_.take_integer("a number of threads"))};
      while (lexer_.take_if(","));
      if (threads < entry->max_threads && threads > 0)
        entry->max_threads = static_cast<std::uint32_t>(threads);
    } else if (lexer_.take_if(".minnctapersm") || lexer_.take_if(".maxnctapersm") ||
               lexer_.take_if(".maxnreg")) {
      lexer_.take_integer("a number");
    } else {
      return;
    }
  }
}

void ModuleReader::read_entry(bool is_kernel) {
  EntryText entry;
  entry.line = lexer_.peek().line;
  if (!is_kernel) entry.results = read_parameters();
  entry.name = lexer_.take_word("a name");
  entry.parameters = read_parameters();
  read_limits(&entry);
  if (lexer_.peek().is("{")) {
    entry.has_body = true;
    entry.body = lexer_;
    lexer_.skip_braces();
  } else if (!lexer_.take_if(";")) {
    const std::string word(lexer_.peek().text);
    if (!word.empty() && word.front() == '.') refuse_feature(lexer_.peek().line, word);
    lexer_.expect("{");
  }
  if (module_.kernels.size() + module_.functions.size() == kMaxKernels)
    refuse_size(entry.line, "too many kernels");
  if (is_kernel) {
    if (entry.has_body) module_.kernels.push_back(std::move(entry));
    return;
  }
  EntryText& known = module_.functions[entry.name];
  if (!known.has_body) known = std::move(entry);
}

}  // namespace

ModuleText parse_module(std::string_view text) { return ModuleReader(text).read(); }

}  // namespace sluice::cuda::ptx
