// How the parser gives up: thrown within it, caught by Module::parse.
#pragma once

#include <string>

#include "emulator/ptx/code/launch.h"

namespace sluice::cuda::ptx {

struct Refusal {
  Status status;
};

/// `line 12: expected ";" before "add"`.
[[noreturn]] inline void refuse_text(std::uint32_t line, const std::string& why) {
  throw Refusal{plugin::invalid_argument("PTX line " + std::to_string(line) + ": " + why)};
}

/// The text may be right, but `what` is beyond the interpreter.
[[noreturn]] inline void refuse_feature(std::uint32_t line, const std::string& what) {
  throw Refusal{plugin::unimplemented("PTX line " + std::to_string(line) +
                                      ": the interpreter has no " + what)};
}

[[noreturn]] inline void refuse_size(std::uint32_t line, const std::string& why) {
  throw Refusal{{SLUICE_RESOURCE_EXHAUSTED, "PTX line " + std::to_string(line) + ": " + why}};
}

}  // namespace sluice::cuda::ptx
