// What stands at the outermost level of a PTX text; bodies are left to parse_body.
#pragma once

#include <string_view>
#include <vector>

#include "emulator/ptx/decode/builder.h"
#include "emulator/ptx/text/lexer.h"

namespace sluice::cuda::ptx {

/// A declared parameter, of a kernel or a function.
struct ParameterText {
  std::string_view name;
  std::size_t size_bytes = 0, alignment_bytes = 1;
};

/// A kernel or function; its body is compiled later, once for each kernel that needs it.
struct EntryText {
  std::string_view name;
  std::uint32_t line = 0;
  std::vector<ParameterText> results, parameters;
  std::uint32_t max_threads = 1024;
  bool has_body = false;
  Lexer body{""};  ///< at its "{"
};

struct ModuleText {
  int architecture = 0, version = 0;
  std::vector<EntryText> kernels;
  std::unordered_map<std::string_view, EntryText> functions;
  Names names;  ///< of variables and shared memory
  std::vector<ModuleShared> shared;
  std::vector<Variable> variables;
};

/// Throws Refusal.
ModuleText parse_module(std::string_view text);

/// `.align 8 .b8 name[16]` behind the word that names the space; without the initial value.
struct MemoryText {
  std::string_view name;
  Type type = Type::kNone;
  std::size_t size_bytes = 0, alignment_bytes = 1;
  bool is_open = false;  ///< name[]
};
MemoryText parse_memory(Lexer& lexer);

/// `.loc`, `.pragma` and `.file`, which mean nothing here. False for other words.
bool skip_remark(Lexer& lexer);

}  // namespace sluice::cuda::ptx
