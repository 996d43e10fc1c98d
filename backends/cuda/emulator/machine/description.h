// What an emulated machine has.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace sluice::cuda::emulator {

struct DeviceDescription {
  std::string name = "emulated GPU";
  int major = 7;  // compute capability
  int minor = 5;
  int multiprocessors = 16;
  int domain = 0;  // of the PCI address; the bus is the device's number plus 1
  std::int64_t memory_bytes = std::int64_t{4} << 30;
};

struct Description {
  std::vector<DeviceDescription> devices = {DeviceDescription{}};
  std::uint64_t seed = 1;                                   // of the order in which ready work runs
  std::uint64_t max_instructions = std::uint64_t{1} << 32;  // of warps, in a launch
  bool has_peer_access = true;                              // devices may reach each other's memory
  std::string count_file;  // gets what each launch did (CountFile); empty: none does
};

}  // namespace sluice::cuda::emulator
