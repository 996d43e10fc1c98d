// mma.sync of every shape, with fragments laid out element by element as the PTX manual lists them,
// and wmma.
#include <gtest/gtest.h>

#include "emulator/ptx/memory/random.h"
#include "emulator/ptx/ops/half_numbers.h"
#include "emulator/ptx/testing/programs.h"

namespace sluice::cuda::ptx::testing {
namespace {

/// Places of element i of a lane: g is lane / 4, t is lane mod 4.
struct Fragments {
  const char* name;
  int m, k, bits;
  int (*a_row)(int g, int i);
  int (*a_column)(int t, int i);
  int (*b_row)(int t, int i);
};

const Fragments kFragments[] = {
    {"m16n8k16", 16, 16, 16, [](int g, int i) { return i < 2 || (i >= 4 && i < 6) ? g : g + 8; },
     [](int t, int i) { return t * 2 + i % 2 + (i < 4 ? 0 : 8); },
     [](int t, int i) { return t * 2 + i % 2 + (i < 2 ? 0 : 8); }},
    {"m16n8k8", 16, 8, 16, [](int g, int i) { return i < 2 ? g : g + 8; },
     [](int t, int i) { return t * 2 + i % 2; }, [](int t, int i) { return t * 2 + i; }},
    {"m16n8k4", 16, 4, 32, [](int g, int i) { return i == 0 ? g : g + 8; },
     [](int t, int) { return t; }, [](int t, int) { return t; }},
    {"m16n8k8", 16, 8, 32, [](int g, int i) { return i % 2 == 0 ? g : g + 8; },
     [](int t, int i) { return i < 2 ? t : t + 4; },
     [](int t, int i) { return i == 0 ? t : t + 4; }},
    {"m16n8k16", 16, 16, 8, [](int g, int i) { return i < 4 ? g : g + 8; },
     [](int t, int i) { return t * 4 + i % 4; }, [](int t, int i) { return t * 4 + i; }},
    {"m16n8k32", 16, 32, 8, [](int g, int i) { return i < 4 || (i >= 8 && i < 12) ? g : g + 8; },
     [](int t, int i) { return t * 4 + i % 4 + (i < 8 ? 0 : 16); },
     [](int t, int i) { return t * 4 + i % 4 + (i < 4 ? 0 : 16); }},
    {"m8n8k16", 8, 16, 8, [](int g, int) { return g; }, [](int t, int i) { return t * 4 + i; },
     [](int t, int i) { return t * 4 + i; }},
};

/// Small whole numbers, which every type holds exactly.
std::uint32_t bits_of(const std::string& type, int value) {
  Half half;
  Brain brain;
  from_float(static_cast<float>(value), &half);
  from_float(static_cast<float>(value), &brain);
  if (type == "f16") return half.bits;
  if (type == "bf16") return brain.bits;
  if (type == "tf32") return std::bit_cast<std::uint32_t>(static_cast<float>(value));
  return static_cast<std::uint8_t>(value);
}

std::string registers(int first, int count) {
  std::string text = "{";
  for (int i = 0; i < count; ++i) text += (i == 0 ? "%r" : ", %r") + std::to_string(first + i);
  return text + "}";
}

/// Each lane has 16 words: 4 of A, 4 of B, 4 of C; the last 4 become D.
std::string product_text(const Fragments& f, const std::string& types, int d_count) {
  const int per = 32 / f.bits, a = f.m * f.k / 32 / per, b = 8 * f.k / 32 / per;
  std::string text = "mul.wide.u32 %rd1, %lane, 64; add.u64 %rd2, %out, %rd1;\n";
  for (int i = 0; i < 12; ++i) {
    text += "ld.global.b32 %r" + std::to_string(i) + ", [%rd2+" + std::to_string(i * 4) + "];\n";
  }
  const bool is_float = types.substr(0, 4) == ".f32";
  for (int i = 0; i < 4; ++i)
    text += "mov.b32 %f" + std::to_string(i) + ", %r" + std::to_string(8 + i) + ";\n";
  std::string c = registers(8, d_count);
  for (std::size_t at = 0; is_float && (at = c.find("%r", at)) != std::string::npos; ++at) {
    const std::size_t end = c.find_first_of(",}", at);
    c.replace(at, end - at, "%f" + std::to_string(std::stoi(c.substr(at + 2)) - 8));
  }
  text += std::string("mma.sync.aligned.") + f.name + ".row.col" + types + " " + c + ", " +
          registers(0, a) + ", " + registers(4, b) + ", " + c + ";\n";
  for (int i = 0; i < d_count; ++i) {
    text += std::string("st.global.b32 [%rd2+") + std::to_string(48 + i * 4) + "], " +
            (is_float ? "%f" : "%r") + std::to_string(is_float ? i : 8 + i) + ";\n";
  }
  return kernel_text(text);
}

void expect_product(const Fragments& f, const std::string& type, const std::string& sum) {
  Random random(static_cast<std::uint64_t>(f.k));
  std::vector<int> a(static_cast<std::size_t>(f.m * f.k)), b(static_cast<std::size_t>(f.k * 8));
  const int low = type == "u8" ? 0 : -3;
  for (int& value : a) value = static_cast<int>(random.below(7)) + low;
  for (int& value : b) value = static_cast<int>(random.below(7)) + low;
  const int per = 32 / f.bits;
  std::vector<std::uint32_t> words(32 * 16);
  for (int lane = 0; lane < 32; ++lane) {
    const int g = lane / 4, t = lane % 4;
    const auto at = static_cast<std::size_t>(lane) * 16;
    for (int i = 0; i < f.m * f.k / 32; ++i) {
      const int value = a[static_cast<std::size_t>(f.a_row(g, i) * f.k + f.a_column(t, i))];
      words[at + static_cast<std::size_t>(i / per)] |= bits_of(type, value)
                                                       << f.bits * (i % per) % 32;
    }
    for (int i = 0; i < 8 * f.k / 32; ++i) {
      const int value = b[static_cast<std::size_t>(f.b_row(t, i) * 8 + g)];
      words[at + 4 + static_cast<std::size_t>(i / per)] |= bits_of(type, value)
                                                           << f.bits * (i % per) % 32;
    }
  }
  const int elements = f.m / 4;
  const std::string types = "." + sum + "." + type + "." + type + "." + sum;
  const Outcome outcome =
      run_on(product_text(f, types, sum == "f16" ? elements / 2 : elements), threads(32), words);
  ASSERT_TRUE(outcome.status.is_ok()) << outcome.status.text;
  for (int lane = 0; lane < 32; ++lane) {
    for (int i = 0; i < elements; ++i) {
      const int row = lane / 4 + (i < 2 ? 0 : 8), column = lane % 4 * 2 + i % 2;
      int expected = 0;
      for (int k = 0; k < f.k; ++k) {
        expected += a[static_cast<std::size_t>(row * f.k + k)] *
                    b[static_cast<std::size_t>(k * 8 + column)];
      }
      const std::size_t at = static_cast<std::size_t>(lane) * 16 + 12;
      if (sum == "f16") {
        const std::uint32_t bits =
            outcome.words[at + static_cast<std::size_t>(i / 2)] >> 16 * (i % 2);
        ASSERT_EQ(to_float(Half{static_cast<std::uint16_t>(bits)}), expected);
      } else {
        const std::uint32_t bits = outcome.words[at + static_cast<std::size_t>(i)];
        ASSERT_EQ(sum == "s32" ? static_cast<float>(static_cast<std::int32_t>(bits))
                               : std::bit_cast<float>(bits),
                  expected)
            << f.name << types << " lane " << lane << " element " << i;
      }
    }
  }
}

TEST(Matrix, ProductsOfEveryShapeAreRight) {
  for (const Fragments& f : kFragments) {
    if (f.bits == 16) {
      expect_product(f, "f16", "f32");
      expect_product(f, "f16", "f16");
      expect_product(f, "bf16", "f32");
    } else if (f.bits == 32) {
      expect_product(f, "tf32", "f32");
    } else {
      expect_product(f, "s8", "s32");
      expect_product(f, "u8", "s32");
    }
  }
}

TEST(Matrix, ProductOfDoublesIsRight) {
  // A is 8 x 4 with row i all i, B is 4 x 8 with column j all j.
  const Outcome outcome = run_text(
      kernel_text(
          "shr.u32 %r1, %lane, 2; cvt.rn.f64.u32 %d1, %r1; mov.f64 %d2, 0d0000000000000000;\n"
          "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%d3, %d4}, {%d1}, {%d1}, {%d2, %d2};\n"
          "cvt.rn.f32.f64 %f1, %d3; cvt.rn.f32.f64 %f2, %d4; mul.wide.u32 %rd1, %lane, 8; add.u64 "
          "%rd1, %rd1, %out;\n"
          "st.global.v2.f32 [%rd1], {%f1, %f2};"),
      threads(32));
  ASSERT_TRUE(outcome.status.is_ok()) << outcome.status.text;
  for (std::size_t i = 0; i < 64; ++i) {
    EXPECT_EQ(std::bit_cast<float>(outcome.words[i]), static_cast<float>(4 * (i / 8) * (i % 8)));
  }
}

TEST(Matrix, TransposedLoadSwapsRowsAndColumns) {
  const Outcome outcome = run_text(
      kernel_text(
          ".shared .align 16 .b8 s[128]; mov.u32 %r1, s; shl.b32 %r2, %lane, 2; add.u32 %r3, %r1, "
          "%r2;\n"
          "shl.b32 %r4, %lane, 1; add.u32 %r5, %r4, 1; shl.b32 %r5, %r5, 16; or.b32 %r4, %r4, "
          "%r5;\n"
          "st.shared.b32 [%r3], %r4; bar.warp.sync -1; and.b32 %r6, %lane, 7; shl.b32 %r6, %r6, "
          "4;\n"
          "add.u32 %r6, %r6, %r1; ldmatrix.sync.aligned.m8n8.x1.trans.shared.b16 {%r7}, [%r6];\n"
          "st.global.b32 [%to], %r7;"),
      threads(32));
  ASSERT_TRUE(outcome.status.is_ok()) << outcome.status.text;
  for (std::uint32_t lane = 0; lane < 32; ++lane) {
    const std::uint32_t row = lane / 4, column = lane % 4 * 2;
    EXPECT_EQ(outcome.words[lane], (column * 8 + row) | ((column + 1) * 8 + row) << 16);
  }
}

TEST(Matrix, PartOfAWarpIsRefused) {
  const Outcome outcome =
      run_text(kernel_text("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%f0,%f1,%f2,%f3}, "
                           "{%r0,%r1}, {%r2}, {%f0,%f1,%f2,%f3};"),
               threads(16));
  EXPECT_EQ(outcome.status.code, SLUICE_FAILED_PRECONDITION);
}

}  // namespace
}  // namespace sluice::cuda::ptx::testing
