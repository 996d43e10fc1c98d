// Compiled code of an operation's kernel, as packages keep it.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "base/bytes.h"

namespace sluice::ir {

/// Fields as in sluice/extensions/kernel_code.h.
struct KernelCode {
  struct Image {
    std::string target;  ///< "compute_75", "sm_80"
    Bytes data;
  };

  std::string key;
  std::string function;
  Bytes source;
  std::array<std::uint32_t, 3> grid = {};
  std::array<std::uint32_t, 3> block = {};
  std::vector<std::int32_t> arguments;
  std::vector<Image> images;
};

}  // namespace sluice::ir
