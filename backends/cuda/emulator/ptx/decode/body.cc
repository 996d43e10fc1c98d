#include "emulator/ptx/decode/body.h"

#include <algorithm>
#include <set>

#include "emulator/ptx/decode/decoder.h"
#include "emulator/ptx/text/parse_statement.h"
#include "emulator/ptx/text/refusal.h"

namespace sluice::cuda::ptx {
namespace {

// Instructions of one kernel, with the functions that it calls.
constexpr std::size_t kMaxInstructions = std::size_t{1} << 20;

class BodyReader {
 public:
  BodyReader(const Lexer& lexer, Builder& builder, FindDecode find_decode)
      : lexer_(lexer), builder_(builder), find_decode_(find_decode) {}

  /// Reads {...}.
  void read() {
    lexer_.expect("{");
    for (std::size_t depth = 1; depth > 0;) {
      if (lexer_.take_if("{")) {
        builder_.open_scope();
        ++depth;
      } else if (lexer_.take_if("}")) {
        if (--depth > 0) builder_.close_scope();
      } else {
        read_line();
      }
    }
  }

 private:
  void read_line();
  void read_directive();
  void read_registers();
  void read_label();
  void read_instruction();
  bool is_label() const;

  Lexer lexer_;
  Builder& builder_;
  FindDecode find_decode_;
  Statement statement_;
};

bool BodyReader::is_label() const {
  Lexer look = lexer_;
  look.take();
  return look.peek().is(":");
}

void BodyReader::read_line() {
  if (lexer_.take_if(";") || skip_remark(lexer_)) return;
  const Token& token = lexer_.peek();
  if (token.kind == Token::Kind::kWord && token.text.front() == '.') return read_directive();
  if (token.kind == Token::Kind::kWord && is_label()) return read_label();
  read_instruction();
}

void BodyReader::read_registers() {
  const std::uint32_t line = lexer_.peek().line;
  const std::string_view word = lexer_.take_word("a type");
  const Type type = parse_type(word.substr(1));
  if (type == Type::kNone) refuse_feature(line, "registers of " + std::string(word));
  do {
    const std::string_view name = lexer_.take_word("a register");
    std::int64_t count = 0;
    if (lexer_.take_if("<")) {
      count = lexer_.take_integer("a number of registers");
      lexer_.expect(">");
      constexpr std::int64_t kMaxCount = 1 << 20;
      if (count < 1 || count > kMaxCount) refuse_size(line, std::to_string(count) + " registers");
    }
    builder_.declare_registers(line, name, type, static_cast<std::uint32_t>(count));
  } while (lexer_.take_if(","));
  lexer_.expect(";");
}

void BodyReader::read_directive() {
  const std::uint32_t line = lexer_.peek().line;
  const std::string_view word = lexer_.take().text;
  if (word == ".reg") return read_registers();
  // Parameters of calls lie in the thread's own memory.
  const bool is_local = word == ".local" || word == ".param";
  if (!is_local && word != ".shared") refuse_feature(line, std::string(word));
  const MemoryText memory = parse_memory(lexer_);
  lexer_.expect(";");
  Symbol symbol = builder_.allocate(line, is_local ? Space::kLocal : Space::kShared,
                                    memory.size_bytes, memory.alignment_bytes);
  builder_.declare(line, memory.name, symbol);
}

void BodyReader::read_label() {
  const Token name = lexer_.take();
  lexer_.expect(":");
  if (!lexer_.take_if(".branchtargets")) return builder_.label(name.line, name.text);
  std::vector<std::string_view> labels;
  do labels.push_back(lexer_.take_word("a label"));
  while (lexer_.take_if(","));
  lexer_.expect(";");
  builder_.declare_targets(name.text, std::move(labels));
}

void BodyReader::read_instruction() {
  parse_statement(lexer_, &statement_);
  const auto decode = find_decode_(statement_.words.front());
  if (decode == nullptr) refuse_feature(statement_.line, std::string(statement_.opcode));
  if (builder_.program().code.size() >= kMaxInstructions)
    refuse_size(statement_.line, "too many instructions");
  Decoder decoder(statement_, builder_);
  decode(decoder);
}

/// Lanes that run off the end of a body leave it.
void append_return(Builder& builder, std::uint32_t line) {
  Program& program = builder.program();
  Instruction end;
  end.flow = Flow::kReturn;
  end.line = line;
  program.opcodes.emplace_back("ret");
  end.opcode = static_cast<std::uint32_t>(program.opcodes.size() - 1);
  program.code.push_back(end);
}

std::size_t aligned(std::size_t offset, std::size_t alignment) {
  return (offset + alignment - 1) / alignment * alignment;
}

void declare_parameters(const EntryText& entry, Builder& builder, Kernel* kernel) {
  for (const ParameterText& parameter : entry.parameters) {
    Symbol symbol;
    symbol.kind = Symbol::Kind::kMemory;
    symbol.space = Space::kParameter;
    symbol.offset_bytes = aligned(kernel->parameter_bytes, parameter.alignment_bytes);
    builder.declare(entry.line, parameter.name, symbol);
    kernel->parameters.push_back({std::string(parameter.name), symbol.offset_bytes,
                                  parameter.size_bytes, parameter.alignment_bytes});
    kernel->parameter_bytes = symbol.offset_bytes + parameter.size_bytes;
  }
  builder.parameter_bytes = kernel->parameter_bytes;
}

/// The functions that a kernel calls: each is compiled once, behind the kernel.
class Functions {
 public:
  Functions(const ModuleText& module, Builder& builder, FindDecode find_decode)
      : module_(module), builder_(builder), find_decode_(find_decode) {
    builder.find_callee = [this](std::string_view name) { return find(name); };
  }

  /// Compiles what calls name, and what that calls, and sends the calls there.
  void compile_all() {
    for (std::size_t i = 0; i < builder_.calls().size(); ++i) {
      const Builder::Call call = builder_.calls()[i];
      const auto [entry, is_new] = entries_.try_emplace(call.name, position());
      if (is_new) compile(call.name);
      builder_.program().code[call.at].target = entries_[call.name];
    }
    // Registers and parameters have one place each: a second activation would overwrite the first.
    for (const auto& [name, entry] : entries_) refuse_recursion(name);
  }

 private:
  std::uint32_t position() const {
    return static_cast<std::uint32_t>(builder_.program().code.size());
  }
  const Callee* find(std::string_view name);
  void compile(std::string_view name);
  void refuse_recursion(std::string_view name);

  const ModuleText& module_;
  Builder& builder_;
  FindDecode find_decode_;
  std::unordered_map<std::string_view, Callee> known_;
  std::unordered_map<std::string_view, std::uint32_t> entries_;
  std::unordered_map<std::string_view, std::set<std::string_view>> callees_;
  enum class State : std::uint8_t { kUnseen, kEntered, kDone };
  std::unordered_map<std::string_view, State> states_;  ///< of the walk over callees_
};

const Callee* Functions::find(std::string_view name) {
  const auto text = module_.functions.find(name);
  if (text == module_.functions.end()) return nullptr;
  const auto [found, is_new] = known_.try_emplace(name);
  Callee& callee = found->second;
  if (!is_new) return &callee;
  callee.has_body = text->second.has_body;
  const auto allocate = [&](const std::vector<ParameterText>& texts, std::vector<Symbol>* symbols,
                            std::vector<std::size_t>* bytes) {
    for (const ParameterText& parameter : texts) {
      symbols->push_back(builder_.allocate(text->second.line, Space::kLocal, parameter.size_bytes,
                                           parameter.alignment_bytes));
      bytes->push_back(parameter.size_bytes);
    }
  };
  allocate(text->second.parameters, &callee.parameters, &callee.parameter_bytes);
  allocate(text->second.results, &callee.results, &callee.result_bytes);
  return &callee;
}

void Functions::compile(std::string_view name) {
  const EntryText& text = module_.functions.at(name);
  const Callee callee = *find(name);
  const std::size_t first_call = builder_.calls().size();
  builder_.is_function = true;
  builder_.open_scope();
  for (std::size_t i = 0; i < text.parameters.size(); ++i) {
    builder_.declare(text.line, text.parameters[i].name, callee.parameters[i]);
  }
  for (std::size_t i = 0; i < text.results.size(); ++i) {
    builder_.declare(text.line, text.results[i].name, callee.results[i]);
  }
  BodyReader(text.body, builder_, find_decode_).read();
  append_return(builder_, text.line);
  builder_.close_scope();
  std::set<std::string_view>& callees = callees_[name];
  for (std::size_t i = first_call; i < builder_.calls().size(); ++i)
    callees.insert(builder_.calls()[i].name);
}

void Functions::refuse_recursion(std::string_view name) {
  State& state = states_[name];
  if (state == State::kDone) return;
  if (state == State::kEntered) {
    refuse_feature(module_.functions.at(name).line, "recursive functions: " + std::string(name));
  }
  state = State::kEntered;
  for (const std::string_view callee : callees_[name]) refuse_recursion(callee);
  states_[name] = State::kDone;
}

}  // namespace

Kernel compile_kernel(const ModuleText& module, const EntryText& entry, FindDecode find_decode) {
  Builder builder(&module.names, &module.shared);
  Functions functions(module, builder, find_decode);
  Kernel kernel;
  kernel.name = entry.name;
  kernel.max_threads = entry.max_threads;
  builder.open_scope();
  declare_parameters(entry, builder, &kernel);
  BodyReader(entry.body, builder, find_decode).read();
  append_return(builder, entry.line);
  builder.close_scope();
  functions.compile_all();
  builder.finish();
  auto program = std::make_shared<Program>(std::move(builder.program()));
  kernel.static_shared_bytes = program->static_shared_bytes;
  kernel.local_bytes = program->local_bytes;
  kernel.registers = builder.register_count();
  kernel.uses_dynamic_shared = builder.uses_dynamic_shared();
  kernel.program = std::move(program);
  return kernel;
}

}  // namespace sluice::cuda::ptx
