// Reads any bytes as the file of a program that is to be a guest.
#include <cstddef>
#include <cstdint>
#include <span>

#include "guest/launcher/program_file.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  (void)sluice::guest::check_program(std::as_bytes(std::span(data, size)));
  return 0;
}
