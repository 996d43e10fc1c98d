#include "kernels/bytes/bytes.h"

#include <gtest/gtest.h>

#include <array>
#include <vector>

#include "testing/test_isas.h"

namespace sluice::cpu {
namespace {

TEST(Bytes, TablesAreLookedUpForEveryCountAndInPlace) {
  std::array<std::uint8_t, 256> table = {};
  for (std::size_t i = 0; i < table.size(); ++i) {
    table[i] = static_cast<std::uint8_t>(i * 37 + 11);
  }
  for (const Isa isa : isas_to_test()) {
    for (std::size_t count = 0; count <= 300; ++count) {
      std::vector<std::uint8_t> bytes(count + 1);
      for (std::size_t i = 0; i <= count; ++i) bytes[i] = static_cast<std::uint8_t>(i * 5);
      const std::vector<std::uint8_t> from = bytes;
      SLUICE_CPU_PICK(isa, map_bytes)
      (table.data(), bytes.data(), static_cast<std::int64_t>(count), bytes.data());
      for (std::size_t i = 0; i < count; ++i) ASSERT_EQ(bytes[i], table[from[i]]) << isa_name(isa);
      EXPECT_EQ(bytes[count], from[count]) << "behind the end";
    }
  }
}

}  // namespace
}  // namespace sluice::cpu
