// CUDA C++ that nvcc compiled for several architectures, against references in double.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <sstream>

#include "emulator/ptx/module.h"
#include "emulator/ptx/ops/half_numbers.h"
#include "emulator/ptx/testing/device.h"
#include "emulator/ptx/testing/values.h"

namespace sluice::cuda::ptx::testing {
namespace {

#ifdef SLUICE_CUDA_KERNELS
constexpr const char* kFolder = SLUICE_CUDA_KERNELS;
#else
constexpr const char* kFolder = nullptr;
#endif

struct Sizes {
  Dim3 grid, block;
  std::uint32_t shared_bytes = 0;
};

class ToolkitKernels : public ::testing::TestWithParam<int> {
 protected:
  void SetUp() override {
    if (kFolder == nullptr)
      GTEST_SKIP() << "no nvcc that compiles the kernels was found when this was built, so there "
                      "is no PTX to run";
  }

  void load(const std::string& file) {
    std::ifstream in(std::string(kFolder) + "/" + file + "." + std::to_string(GetParam()) + ".ptx");
    std::ostringstream text;
    text << in.rdbuf();
    const Status status = Module::parse(text.str(), &module_);
    ASSERT_TRUE(status.is_ok()) << status.text;
    EXPECT_EQ(module_.architecture(), GetParam());
    place_variables(module_, memory_);
  }

  void run_kernel(const char* name, const Sizes& sizes, const std::vector<std::byte>& arguments) {
    const Kernel* kernel = module_.find(name);
    ASSERT_NE(kernel, nullptr) << name;
    Launch launch;
    launch.grid = sizes.grid;
    launch.block = sizes.block;
    launch.dynamic_shared_bytes = sizes.shared_bytes;
    launch.parameters = arguments;
    launch.seed = 7;
    const Status status = run(*kernel, launch, &memory_, &counts_);
    ASSERT_TRUE(status.is_ok()) << status.text;
  }

  Module module_;
  TestMemory memory_;
  Counts counts_;
};

TEST_P(ToolkitKernels, VectorAddAddsAndMovesNoByteTwice) {
  load("plain");
  const int n = 1000;
  const auto a = floats(n, 1), b = floats(n, 2);
  const std::uint64_t out = memory_.allocate(n * 4);
  run_kernel("vector_add", {{4}, {256}}, parameters(memory_.upload(a), memory_.upload(b), out, n));
  const auto got = memory_.download<float>(out);
  for (std::size_t i = 0; i < n; ++i) EXPECT_EQ(got[i], a[i] + b[i]);
  EXPECT_EQ(counts_.global_load_bytes, 2u * n * 4);
  EXPECT_EQ(counts_.global_load_sectors, 2u * n * 4 / 32);
  EXPECT_EQ(counts_.global_store_bytes, 1u * n * 4);
}

TEST_P(ToolkitKernels, ReductionSumsAll) {
  load("plain");
  const auto in = floats(10000);
  double sum = 0;
  for (const float value : in) sum += value;
  const std::uint64_t out = memory_.allocate(4);
  run_kernel("reduce_sum", {{5}, {256}}, parameters(memory_.upload(in), out, 10000));
  EXPECT_NEAR(memory_.download<float>(out)[0], sum, 1e-2);
}

TEST_P(ToolkitKernels, TiledProductOfRaggedSizesIsRight) {
  load("plain");
  const int m = 100, n = 70, k = 45;
  const auto a = floats(static_cast<std::size_t>(m * k), 1),
             b = floats(static_cast<std::size_t>(k * n), 2);
  const std::uint64_t out = memory_.allocate(static_cast<std::size_t>(m * n) * 4);
  run_kernel("tiled_product", {{2, 2}, {16, 16}},
             parameters(memory_.upload(a), memory_.upload(b), out, m, n, k));
  const auto got = memory_.download<float>(out);
  for (int row = 0; row < m; ++row) {
    for (int col = 0; col < n; ++col) {
      double sum = 0;
      for (int i = 0; i < k; ++i)
        sum += double{a[static_cast<std::size_t>(row * k + i)]} *
               b[static_cast<std::size_t>(i * n + col)];
      ASSERT_NEAR(got[static_cast<std::size_t>(row * n + col)], sum, 1e-4) << row << " " << col;
    }
  }
}

TEST_P(ToolkitKernels, HistogramCountsInSharedMemory) {
  load("plain");
  const int n = 3000, bins = 50;
  std::vector<int> in(n), expected(bins);
  Random random(3);
  for (int& value : in)
    value = static_cast<int>(random.below(1000)),
    ++expected[static_cast<std::size_t>(value % bins)];
  const std::uint64_t out = memory_.allocate(bins * 4);
  run_kernel("histogram", {{3}, {128}, bins * 4}, parameters(memory_.upload(in), out, n, bins));
  EXPECT_EQ(memory_.download<int>(out), expected);
}

TEST_P(ToolkitKernels, ConvolutionPadsWithZeros) {
  load("plain");
  const int channels = 3, outputs = 2, height = 9, width = 13;
  const auto in = floats(static_cast<std::size_t>(channels * height * width), 1);
  const auto weights = floats(static_cast<std::size_t>(outputs * channels * 9), 2);
  const std::uint64_t out =
      memory_.allocate(static_cast<std::size_t>(outputs * height * width) * 4);
  run_kernel("convolution", {{2, 2, 2}, {8, 8}},
             parameters(memory_.upload(in), memory_.upload(weights), out, channels, height, width));
  const auto got = memory_.download<float>(out);
  for (int o = 0; o < outputs; ++o) {
    for (int y = 0; y < height; ++y) {
      for (int x = 0; x < width; ++x) {
        double sum = 0;
        for (int i = 0; i < channels * 9; ++i) {
          const int c = i / 9, sy = y + i % 9 / 3 - 1, sx = x + i % 3 - 1;
          if (sy < 0 || sy >= height || sx < 0 || sx >= width) continue;
          sum += double{in[static_cast<std::size_t>((c * height + sy) * width + sx)]} *
                 weights[static_cast<std::size_t>(o * channels * 9 + i)];
        }
        ASSERT_NEAR(got[static_cast<std::size_t>((o * height + y) * width + x)], sum, 1e-4);
      }
    }
  }
}

int odd_path(const std::vector<int>& in, std::size_t i) {
  int result = in[(i + static_cast<std::size_t>(in[i] & 7)) % in.size()];
  const auto bits = static_cast<unsigned>(result);
  unsigned reversed = 0;
  for (int j = 0; j < 32; ++j) reversed |= (bits >> j & 1) << (31 - j);
  switch (in[i] % 11) {
    case 0: return result + 3;
    case 1: return result * 5;
    case 2: return result ^ 0x55;
    case 3: return std::popcount(bits);
    case 4: return std::countl_zero(bits);
    case 5: return static_cast<int>(reversed);
    case 6: return result / 7;
    case 7: return result % 7;
    default: return -result;
  }
}

TEST_P(ToolkitKernels, SwitchAndIndexedArrayTakeEachPath) {
  load("plain");
  std::vector<int> in(100);
  Random random(5);
  for (int& value : in) value = static_cast<int>(random.below(100000));
  const std::uint64_t out = memory_.allocate(400);
  run_kernel("odd_paths", {{4}, {32}}, parameters(memory_.upload(in), out, 100));
  const auto got = memory_.download<int>(out);
  for (std::size_t i = 0; i < in.size(); ++i) EXPECT_EQ(got[i], odd_path(in, i)) << i;
}

TEST_P(ToolkitKernels, MathematicsAgreesWithTheHost) {
  load("plain");
  const auto in = floats(200, 4, 3);
  const std::uint64_t out = memory_.allocate(200 * 12 * 4);
  run_kernel("mathematics", {{2}, {128}}, parameters(memory_.upload(in), out, 200));
  const auto got = memory_.download<float>(out);
  for (std::size_t i = 0; i < in.size(); ++i) {
    const double x = in[i], magnitude = std::abs(x), by10 = in[i] * 10;
    const double expected[] = {std::exp(x),
                               std::log(magnitude + 0.5),
                               std::tanh(x),
                               std::erf(x),
                               std::sin(by10),
                               std::cos(by10),
                               std::sqrt(magnitude),
                               1 / std::sqrt(magnitude + 1e-3),
                               std::pow(magnitude, double{1.7f}),
                               x / (magnitude + double{0.3f}),
                               std::exp(x)};
    for (std::size_t j = 0; j < std::size(expected); ++j) {
      EXPECT_NEAR(got[i * 12 + j], expected[j], 2e-6 * (1 + std::abs(expected[j])))
          << "function " << j << " of " << x;
    }
    EXPECT_EQ(got[i * 12 + 11],
              std::rint(in[i] * 7) + std::floor(in[i] * 3) + std::fmod(in[i], 0.7f));
  }
}

TEST_P(ToolkitKernels, SoftmaxRowsSumToOne) {
  load("network");
  const std::size_t rows = 10, width = 77;
  const auto in = floats(rows * width, 1, 5);
  const std::uint64_t out = memory_.allocate(rows * width * 4);
  run_kernel("softmax", {{3}, {128}}, parameters(memory_.upload(in), out, 10, 77));
  const auto got = memory_.download<float>(out);
  for (std::size_t row = 0; row < rows; ++row) {
    double sum = 0;
    for (std::size_t i = 0; i < width; ++i) sum += std::exp(double{in[row * width + i]});
    for (std::size_t i = 0; i < width; ++i) {
      EXPECT_NEAR(got[row * width + i], std::exp(double{in[row * width + i]}) / sum, 1e-6);
    }
  }
}

template <class H>
std::vector<H> halves(const std::vector<float>& values) {
  std::vector<H> result(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) from_float(values[i], &result[i]);
  return result;
}

TEST_P(ToolkitKernels, GeluInFp16IsWithinItsPrecision) {
  load("network");
  const auto in = halves<Half>(floats(500));
  const std::uint64_t out = memory_.allocate(1000);
  run_kernel("gelu_fp16", {{2}, {128}}, parameters(memory_.upload(in), out, 250));
  const auto got = memory_.download<Half>(out);
  for (std::size_t i = 0; i < in.size(); ++i) {
    const double x = to_float(in[i]);
    EXPECT_NEAR(to_float(got[i]),
                0.5 * x * (1 + std::tanh(0.7978845608 * (x + 0.044715 * x * x * x))), 4e-3);
  }
}

TEST_P(ToolkitKernels, AxpyInBf16RoundsOnce) {
  load("network");
  const auto x = halves<Brain>(floats(100, 1)), y = halves<Brain>(floats(100, 2));
  const std::uint64_t out = memory_.upload(y);
  run_kernel("axpy_bf16", {{1}, {128}}, parameters(1.5f, memory_.upload(x), out, 100));
  const auto got = memory_.download<Brain>(out);
  for (std::size_t i = 0; i < x.size(); ++i) {
    Brain expected;
    from_float(std::fma(1.5f, to_float(x[i]), to_float(y[i])), &expected);
    EXPECT_EQ(got[i].bits, expected.bits);
  }
}

TEST_P(ToolkitKernels, LayerNormalisationCentresRows) {
  load("network");
  const std::size_t width = 300;
  const auto in = halves<Half>(floats(2 * width)), out_zeros = std::vector<Half>(2 * width);
  const auto scale = floats(width, 8), shift = floats(width, 9);
  const std::uint64_t out = memory_.upload(out_zeros);
  run_kernel(
      "layernorm_fp16", {{2}, {128}},
      parameters(memory_.upload(in), memory_.upload(scale), memory_.upload(shift), out, 300));
  const auto got = memory_.download<Half>(out);
  for (std::size_t row = 0; row < 2; ++row) {
    double mean = 0, variance = 0;
    for (std::size_t i = 0; i < width; ++i) mean += to_float(in[row * width + i]) / double{width};
    for (std::size_t i = 0; i < width; ++i)
      variance += std::pow(to_float(in[row * width + i]) - mean, 2) / double{width};
    for (std::size_t i = 0; i < width; ++i) {
      const double expected =
          (to_float(in[row * width + i]) - mean) / std::sqrt(variance + 1e-5) * scale[i] + shift[i];
      EXPECT_NEAR(to_float(got[row * width + i]), expected, 4e-3);
    }
  }
}

TEST_P(ToolkitKernels, AttentionAveragesValues) {
  load("network");
  const std::size_t length = 21, width = 64;
  const auto q = floats(length * width, 1), k = floats(length * width, 2),
             v = floats(length * width, 3);
  const std::uint64_t out = memory_.allocate(length * width * 4);
  run_kernel("attention", {{6}, {128}},
             parameters(memory_.upload(q), memory_.upload(k), memory_.upload(v), out, 21));
  const auto got = memory_.download<float>(out);
  for (std::size_t row = 0; row < length; ++row) {
    std::vector<double> weights(row + 1);
    double sum = 0;
    for (std::size_t j = 0; j <= row; ++j) {
      double score = 0;
      for (std::size_t i = 0; i < width; ++i)
        score += double{q[row * width + i]} * k[j * width + i];
      sum += weights[j] = std::exp(score / 8);
    }
    for (std::size_t i = 0; i < width; ++i) {
      double expected = 0;
      for (std::size_t j = 0; j <= row; ++j) expected += weights[j] / sum * v[j * width + i];
      EXPECT_NEAR(got[row * width + i], expected, 1e-5);
    }
  }
}

TEST_P(ToolkitKernels, MatrixUnitsMultiplyWhatCopiesBrought) {
  if (GetParam() < 80) GTEST_SKIP() << "cp.async and m16n8k16 came with compute_80";
  load("matrix");
  const std::size_t k = 64;
  const auto a = halves<Half>(floats(16 * k, 1)), b = halves<Half>(floats(8 * k, 2));
  const std::uint64_t out = memory_.allocate(16 * 8 * 4);
  run_kernel("mma_product", {{1}, {32}}, parameters(memory_.upload(a), memory_.upload(b), out, 64));
  const auto got = memory_.download<float>(out);
  for (std::size_t row = 0; row < 16; ++row) {
    for (std::size_t col = 0; col < 8; ++col) {
      double sum = 0;
      for (std::size_t i = 0; i < k; ++i)
        sum += double{to_float(a[row * k + i])} * to_float(b[col * k + i]);
      EXPECT_NEAR(got[row * 8 + col], sum, 1e-4);
    }
  }
  EXPECT_EQ(counts_.matrix_products, 4u);
}

template <class H>
void expect_fragment_product(const std::vector<H>& a, const std::vector<H>& b,
                             const std::vector<float>& c, const std::vector<float>& got) {
  for (std::size_t row = 0; row < 16; ++row) {
    for (std::size_t col = 0; col < 16; ++col) {
      double sum = c[row * 16 + col];
      for (std::size_t i = 0; i < 16; ++i)
        sum += double{to_float(a[row * 16 + i])} * to_float(b[col * 16 + i]);
      EXPECT_NEAR(got[row * 16 + col], sum, 1e-5);
    }
  }
}

TEST_P(ToolkitKernels, FragmentsOfWmmaMultiply) {
  if (GetParam() < 80) GTEST_SKIP() << "wmma of bf16 came with compute_80";
  load("matrix");
  const auto c = floats(256, 3);
  const auto a = halves<Half>(floats(256, 1)), b = halves<Half>(floats(256, 2));
  std::uint64_t out = memory_.upload(c);
  run_kernel("wmma_fp16", {{1}, {32}}, parameters(memory_.upload(a), memory_.upload(b), out));
  expect_fragment_product(a, b, c, memory_.download<float>(out));
  const auto a_bf16 = halves<Brain>(floats(256, 1)), b_bf16 = halves<Brain>(floats(256, 2));
  out = memory_.upload(c);
  run_kernel("wmma_bf16", {{1}, {32}},
             parameters(memory_.upload(a_bf16), memory_.upload(b_bf16), out));
  expect_fragment_product(a_bf16, b_bf16, c, memory_.download<float>(out));
}

INSTANTIATE_TEST_SUITE_P(Architectures, ToolkitKernels, ::testing::Values(75, 80, 90),
                         [](const auto& one) { return "compute_" + std::to_string(one.param); });

}  // namespace
}  // namespace sluice::cuda::ptx::testing
