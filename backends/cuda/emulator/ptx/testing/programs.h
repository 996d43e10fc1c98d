// Small PTX texts that tests write, and their results.
#pragma once

#include <string>

#include "emulator/ptx/testing/device.h"

namespace sluice::cuda::ptx::testing {

/// A module with one kernel, `k`, whose only parameter is `out`, a pointer that %out holds. Its
/// lane number is in %lane, its thread in %t. Line 1 of `body` is line 20 of the text.
inline std::string kernel_text(const std::string& body, const std::string& before = "") {
  return before +
         "\n.version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 out)\n{\n"
         ".reg .pred %p<16>;\n.reg .b16 %h<16>;\n.reg .b32 %r<32>;\n.reg .f32 %f<16>;\n.reg .b64 "
         "%rd<16>;\n"
         ".reg .f64 %d<16>;\n.reg .b64 %out, %to;\n.reg .b32 %lane, %t;\nld.param.u64 %out, "
         "[out];\n"
         "mov.u32 %lane, %laneid;\nmov.u32 %t, %tid.x;\nmul.wide.u32 %to, %t, 4;\nadd.u64 %to, "
         "%to, %out;\n" +
         body + "\nret;\n}\n";
}

/// A run of kernel_text over `threads` threads, and the 32-bit words that `out` points to.
struct Outcome {
  Status status;
  std::vector<std::uint32_t> words;
  Counts counts;
};

/// `words` are what `out` points to when the kernel starts.
inline Outcome run_on(const std::string& text, Launch launch,
                      const std::vector<std::uint32_t>& words) {
  Outcome outcome;
  Module module;
  outcome.status = Module::parse(text, &module);
  if (!outcome.status.is_ok()) return outcome;
  TestMemory memory;
  place_variables(module, memory);
  const std::uint64_t out = memory.upload(words);
  const std::vector<std::byte> arguments = parameters(out);
  launch.parameters = arguments;
  outcome.status = run(*module.find("k"), launch, &memory, &outcome.counts);
  outcome.words = memory.download<std::uint32_t>(out);
  return outcome;
}
inline Outcome run_text(const std::string& text, const Launch& launch, std::size_t words = 1024) {
  return run_on(text, launch, std::vector<std::uint32_t>(words));
}

inline Launch threads(std::uint32_t count, std::uint64_t seed = 0) {
  Launch launch;
  launch.block.x = count;
  launch.seed = seed;
  return launch;
}

}  // namespace sluice::cuda::ptx::testing
