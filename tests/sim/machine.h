// A simulated machine with the functions that most tests need. An error throws and fails the test.
#pragma once

#include <gtest/gtest.h>

#include <array>

#include "backend/command_list.h"
#include "backend/memory.h"
#include "support/sim.h"

namespace sluice::sim_tests {

using backend::CommandList;
using backend::DeviceMemory;
using backend::Group;
using backend::Kernel;
using backend::Stream;
using std::chrono::nanoseconds;

/// Elements of every tensor here.
inline constexpr std::int64_t kCount = 16;
using Floats = std::array<float, kCount>;

class Machine {
 public:
  explicit Machine(const std::string& description = "{}");

  backend::VirtualTime& time() { return *sim_.time; }
  const std::shared_ptr<const backend::Backend>& backend() const { return sim_.backend; }

  std::shared_ptr<const Group> group(std::vector<std::int32_t> cores, int device = 0) const;
  Stream stream(const std::shared_ptr<const Group>& group) const;
  DeviceMemory memory(std::int64_t size_bytes, int device = 0) const;

  /// y = Relu(x), of a node of that name.
  std::shared_ptr<const Kernel> relu(const std::string& node = "relu", int device = 0) const;
  /// A finished list of the kernels, each from `x` to `y`.
  CommandList list(const std::shared_ptr<const Group>& group,
                   const std::vector<std::shared_ptr<const Kernel>>& kernels, float* x,
                   float* y) const;
  /// A finished list of one copy.
  CommandList copy(const std::shared_ptr<const Group>& group, const void* source, void* target,
                   std::int64_t size_bytes) const;

 private:
  testing::Sim sim_;
};

void submit(Stream& stream, const CommandList& list);
/// Waits for the stream; what time it is then.
std::int64_t finish_time(Machine& machine, Stream& stream);

}  // namespace sluice::sim_tests
