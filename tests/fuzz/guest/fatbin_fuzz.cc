// Reads any bytes as a fat binary of a program.
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "emulator/fatbin/fatbin.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string ptx;
  (void)sluice::cuda::emulator::find_ptx(std::as_bytes(std::span(data, size)), /*capability=*/80,
                                         &ptx);
  return 0;
}
