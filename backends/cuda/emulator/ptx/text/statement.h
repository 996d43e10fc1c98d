// One instruction of PTX as it is written; names are not looked up yet.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace sluice::cuda::ptx {

/// Views point into the module's text.
struct Operand {
  enum class Kind : std::uint8_t { kName, kInteger, kFloat32, kFloat64, kVector, kAddress };

  Kind kind = Kind::kName;
  bool is_negated = false;     ///< !p
  std::string_view name;       ///< of kName, and of kAddress with a base
  std::string_view other;      ///< q of p|q
  std::uint64_t bits = 0;      ///< of a number
  std::int64_t offset = 0;     ///< of name+offset, or of kAddress
  std::vector<Operand> parts;  ///< of kVector, also (a, b) of calls
};

struct Statement {
  std::uint32_t line = 0;
  std::string_view guard;  ///< empty without
  bool is_guard_negated = false;
  std::string_view opcode;              ///< "add.s32"
  std::vector<std::string_view> words;  ///< "add", "s32"
  std::vector<Operand> operands;
};

}  // namespace sluice::cuda::ptx
