// What the C++ programs share: claims that they print. The program ends with exit code 1 when a
// claim does not hold. `_Exit`, because threads of the runtime may still work.
#pragma once

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "../../examples/seven.h"
#include "sluice/runtime.hpp"

/// Prints the claim, and ends the program if it does not hold.
inline void show(bool holds, const std::string& claim) {
  std::printf("%s %s\n", holds ? "holds:" : "DOES NOT HOLD:", claim.c_str());
  std::fflush(stdout);
  if (!holds) std::_Exit(1);
}

/// The value, or the end of the program with the error's message.
template <typename T>
T must(sluice::Expected<T> result) {
  if (result) return std::move(*result);
  std::fprintf(stderr, "error %d: %s\n", static_cast<int>(result.error().code),
               result.error().message.c_str());
  std::_Exit(1);
}
inline void must(const std::optional<sluice::Error>& error) {
  if (!error) return;
  std::fprintf(stderr, "error %d: %s\n", static_cast<int>(error->code), error->message.c_str());
  std::_Exit(1);
}

/// The engine of this process, or the daemon at the second argument.
inline sluice::Runtime open_runtime(int argc, char** argv) {
  return must(argc > 2 ? sluice::Runtime::connect(argv[2]) : sluice::Runtime::create());
}

inline std::vector<sluice::InputTensor> seven() {
  return {sluice::tensor<float>("image", kSeven, {1, 1, 8, 8})};
}

inline bool is_seven(std::span<const float> probabilities) {
  return std::max_element(probabilities.begin(), probabilities.end()) - probabilities.begin() == 7;
}
inline bool is_seven(const sluice::Reply& reply) {
  return is_seven(must(reply.output<float>("probabilities")).values);
}
