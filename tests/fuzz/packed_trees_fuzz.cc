// The packed trees of a small forest with some of their bytes changed: each three bytes of the
// input are a place and what it becomes. A kernel refuses them, or walks inside their lists.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "testing/tree_testing.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace sluice::cpu;
  static const Backend backend;
  const bool has_rows = size > 0 && (data[0] & 1) != 0;
  const TestForest forest(3, 2, 5, has_rows ? 2 : 1, 1);
  TestOp op = forest.op(std::vector<double>(45, 0.25), 9);
  auto bytes = packed_trees_of(op.op());
  const auto length = static_cast<std::size_t>(packed_trees_bytes(op.op()));
  for (std::size_t i = 1; i + 3 <= size; i += 3) {
    const std::size_t place = (data[i] * std::size_t{256} + data[i + 1]) % length;
    reinterpret_cast<std::uint8_t*>(bytes.data())[place] = data[i + 2];
  }
  op.packed_input(kTreesInput, bytes.data(), static_cast<std::int64_t>(length));
  const auto status = op.run(backend, 1);
  if (!status.is_ok() && status.code != SLUICE_INVALID_ARGUMENT) std::abort();
  return 0;
}
