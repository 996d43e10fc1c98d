// Every way to compute an operation gives what the plug-in's own choice gives.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <map>
#include <set>
#include <thread>

#include "plugin/variants.h"
#include "testing/naive_conv.h"
#include "testing/op_testing.h"
#include "testing/test_support.h"

namespace sluice::cpu {
namespace {

using ::testing::Contains;
using ::testing::IsSupersetOf;
using testing::square;

using MakeOp = std::function<TestOp()>;

struct Case {
  const char* name;
  MakeOp make;
};

std::vector<float> randoms(std::int64_t count, int seed) {
  return testing::random_floats(count, seed);
}

/// Shape of a tensor whose channels are padded to blocks of 16.
std::int64_t blocked_count(const ConvShape& s, std::int64_t channels, Extent extent) {
  return s.batch * (channels + 15) / 16 * 16 * extent.h * extent.w;
}

TestOp conv(const ConvShape& s, bool has_residual = false) {
  const Extent out = s.output();
  TestOp op("Conv");
  op.blocked_input({s.batch, s.in_channels, s.input.h, s.input.w},
                   randoms(blocked_count(s, s.in_channels, s.input), 1));
  op.input({s.out_channels, s.in_channels / s.groups, s.kernel.h, s.kernel.w},
           randoms(s.out_channels * s.in_channels / s.groups * s.kernel.h * s.kernel.w, 2), true);
  op.input({s.out_channels}, randoms(s.out_channels, 3), true);
  op.attribute("group", s.groups).attribute("strides", Shape{s.stride.h, s.stride.w});
  op.attribute("pads", Shape{s.pad_begin.h, s.pad_begin.w, s.pad_end.h, s.pad_end.w});
  const Shape y = {s.batch, s.out_channels, out.h, out.w};
  op.blocked_output(y);
  if (!has_residual) return op;
  op.blocked_body_input(y, randoms(blocked_count(s, s.out_channels, out), 4));
  op.step("Add", {0, 1}).step("Relu", {2});
  return op;
}

TestOp byte_conv(const ConvShape& s) {
  const Extent out = s.output();
  std::vector<std::uint8_t> x(static_cast<std::size_t>(s.in_channels * s.input.h * s.input.w));
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<std::uint8_t>(i * 7 % 251);
  std::vector<std::int8_t> w(
      static_cast<std::size_t>(s.out_channels * s.in_channels * s.kernel.h * s.kernel.w));
  for (std::size_t i = 0; i < w.size(); ++i) w[i] = static_cast<std::int8_t>(i * 5 % 255 - 127);
  TestOp op("QuantizedConv", "sluice", 1);
  op.blocked_input({1, s.in_channels, s.input.h, s.input.w}, x);
  op.input({s.out_channels, s.in_channels, s.kernel.h, s.kernel.w}, w, true);
  op.input({s.out_channels}, std::vector<float>(static_cast<std::size_t>(s.out_channels), 1e-4F),
           true);
  op.input({s.out_channels}, randoms(s.out_channels, 3), true);
  op.attribute("x_zero_point", std::int64_t{3}).attribute("group", std::int64_t{1});
  op.attribute("strides", Shape{s.stride.h, s.stride.w});
  op.attribute("pads", Shape{s.pad_begin.h, s.pad_begin.w, s.pad_end.h, s.pad_end.w});
  op.blocked_output({1, s.out_channels, out.h, out.w});
  return op;
}

TestOp product(std::int64_t m, std::int64_t k, std::int64_t n, const char* weights) {
  TestOp op("MatMul");
  op.input({m, k}, randoms(m * k, 1)).input({k, n}, randoms(k * n, 2), weights != nullptr);
  if (weights != nullptr) op.attribute("sluice_weights", weights);
  op.output({m, n}).body_input({n}, randoms(n, 3)).step("Add", {0, 1});
  return op;
}

TestOp attention(std::int64_t queries, std::int64_t keys) {
  TestOp op("Attention", "sluice", 1);
  op.input({1, 3, queries, 16}, randoms(3 * queries * 16, 1));
  op.input({1, 3, keys, 16}, randoms(3 * keys * 16, 2));
  op.input({1, 3, keys, 16}, randoms(3 * keys * 16, 3));
  op.output({1, 3, queries, 16});
  return op;
}

ConvShape depthwise() {
  ConvShape s = square(48, 48, 31, 3, 1, 1);
  s.groups = 48;
  return s;
}

std::vector<Case> cases() {
  return {
      {"winograd", [] { return conv(square(64, 64, 44, 3, 1, 1), true); }},
      {"winograd of wide images", [] { return conv(square(16, 48, 61, 3, 1, 1)); }},
      {"winograd of many channels", [] { return conv(square(160, 160, 12, 3, 1, 1)); }},
      {"winograd of few pixels", [] { return conv(square(64, 96, 6, 3, 1, 1)); }},
      {"direct, strided", [] { return conv(square(72, 80, 57, 3, 2, 1), true); }},
      {"direct, many channels", [] { return conv(square(256, 64, 9, 5, 1, 2)); }},
      {"a point", [] { return conv(square(96, 64, 48, 1, 1, 0)); }},
      {"a point, many channels", [] { return conv(square(1024, 40, 5, 1, 1, 0)); }},
      {"depthwise", [] { return conv(depthwise(), true); }},
      {"bytes", [] { return byte_conv(square(48, 80, 41, 3, 1, 1)); }},
      {"bytes, strided", [] { return byte_conv(square(64, 128, 9, 3, 2, 1)); }},
      {"product", [] { return product(500, 800, 200, "f32"); }},
      {"product of few rows", [] { return product(12, 800, 200, "f32"); }},
      {"wide product", [] { return product(40, 100, 300, "f32"); }},
      {"product of halves", [] { return product(130, 600, 140, "bf16"); }},
      {"product of bytes", [] { return product(600, 800, 160, "int8"); }},
      {"product of two inputs", [] { return product(250, 600, 130, nullptr); }},
      {"attention", [] { return attention(130, 200); }},
      {"attention to many keys", [] { return attention(100, 900); }},
  };
}

/// With room for what longer sums round away.
void expect_close(const std::vector<float>& got, const std::vector<float>& want,
                  const std::string& what) {
  float largest = 0;
  float off = 0;
  for (std::size_t i = 0; i < want.size(); ++i) {
    largest = std::max(largest, std::abs(want[i]));
    off = std::max(off, std::abs(got[i] - want[i]));
    ASSERT_FALSE(std::isnan(got[i])) << what;
  }
  EXPECT_LE(off, 5e-5F * largest) << what;
}

std::vector<float> result_of(TestOp op, const Backend& backend, int workers,
                             const char* tactic = nullptr) {
  if (tactic != nullptr) op.attribute("sluice_variant", tactic);
  const Status status = op.run(backend, workers);
  EXPECT_TRUE(status.is_ok()) << status.text;
  return op.result();
}

TEST(CpuTactics, AllTacticsAgreeOnEveryInstructionSetAndTeam) {
  for (const Backend& backend : backends_to_test()) {
    for (const Case& c : cases()) {
      const std::vector<float> usual = result_of(c.make(), backend, 1);
      std::set<std::string> tried;
      for (const int workers : {2, 1, 3}) {
        TestOp asked = c.make();
        for (const std::string& tactic : backend.tactics(asked.op(), workers)) {
          tried.insert(tactic);
          expect_close(result_of(c.make(), backend, workers, tactic.c_str()), usual,
                       std::string(c.name) + ": " + tactic);
        }
      }
      EXPECT_FALSE(tried.empty()) << c.name;
    }
  }
}

std::set<std::string> offered(const Backend& backend) {
  std::set<std::string> names;
  for (const Case& c : cases()) {
    TestOp op = c.make();
    for (const std::string& name : backend.tactics(op.op(), 2)) {
      names.insert(name.substr(name.find('/') + 1));
    }
  }
  return names;
}

TEST(CpuTactics, CasesCoverEveryTactic) {
  EXPECT_THAT(offered(Backend()), IsSupersetOf({"winograd",
                                                "winograd2",
                                                "direct",
                                                "winograd/channels",
                                                "winograd/rows",
                                                "winograd/small-bands",
                                                "winograd/large-bands",
                                                "direct/channels",
                                                "direct/rows",
                                                "direct/long-passes",
                                                "direct/short-passes",
                                                "direct/small-bands",
                                                "direct/large-bands",
                                                "depthwise/narrow",
                                                "depthwise/plain",
                                                "columns",
                                                "rows",
                                                "low",
                                                "shallow",
                                                "shallow-high",
                                                "deep-low",
                                                "small-blocks",
                                                "large-blocks",
                                                "smallest-blocks",
                                                "rows-12",
                                                "rows-24",
                                                "rows-48",
                                                "rows-96"}));
}

TEST(CpuTactics, TacticsAreFewAndDoNotDivideWorkForOneThread) {
  const Backend backend;
  for (const Case& c : cases()) {
    TestOp op = c.make();
    EXPECT_LE(backend.tactics(op.op(), 2).size(), 6U) << c.name;
    for (const std::string& name : backend.tactics(op.op(), 1)) {
      EXPECT_FALSE(name.ends_with("/rows") || name.ends_with("/channels")) << name;
    }
  }
}

TEST(CpuTactics, DirectAttributeExcludesWinograd) {
  const Backend backend;
  const auto exact = [] {
    TestOp op = conv(square(64, 96, 6, 3, 1, 1));
    op.attribute("sluice_convolution", "direct");
    return op;
  };
  const std::string winograd = std::string(isa_name(backend.isa())) + "/winograd";
  TestOp free = conv(square(512, 512, 7, 3, 1, 1));
  EXPECT_THAT(backend.tactics(free.op(), 2), Contains(winograd));
  TestOp asked = exact();
  for (const std::string& name : backend.tactics(asked.op(), 2)) {
    EXPECT_EQ(name.find("winograd"), std::string::npos) << name;
  }
  // Nor if a package asks for both.
  const std::vector<float> usual = result_of(exact(), backend, 2);
  EXPECT_EQ(result_of(exact(), backend, 2, winograd.c_str()), usual);
}

TEST(CpuTactics, UnknownTacticNamesFallBackToTheDefault) {
  const auto make = [] { return conv(square(64, 64, 20, 3, 1, 1)); };
  for (const Backend& backend : backends_to_test()) {
    const std::string set = isa_name(backend.isa());
    const std::vector<float> usual = result_of(make(), backend, 2);
    const std::vector<float> direct = result_of(make(), backend, 2, (set + "/direct").c_str());
    EXPECT_NE(direct, usual) << "the two methods round differently";
    for (const std::string name : {"direct", "/direct", "sse9/direct", "avx51/direct", "",
                                   "rows-24", "columns", "depthwise/plain"}) {
      EXPECT_EQ(result_of(make(), backend, 2, name.c_str()), usual) << name;
      const std::string longer = std::string(set).append("/x").append(name);
      EXPECT_EQ(result_of(make(), backend, 2, longer.c_str()), usual) << name;
    }
    EXPECT_EQ(result_of(make(), backend, 2, (set + "/depthwise/plain").c_str()), usual);
  }
}

TEST(CpuTactics, EachTacticPacksWeightsInTheFormItReads) {
  const Backend backend;
  const std::string direct = std::string(isa_name(backend.isa())) + "/direct";
  TestOp op = conv(square(64, 64, 20, 3, 1, 1));
  sluice_packing usual = {};
  ASSERT_TRUE(backend.packing(op.op(), 1, &usual).is_ok());
  op.attribute("sluice_variant", direct.c_str());
  const std::vector<float> want = [&] {
    EXPECT_TRUE(op.run(backend, 2).is_ok());
    return op.result();
  }();
  sluice_packing packing = {};
  ASSERT_TRUE(backend.packing(op.op(), 1, &packing).is_ok());
  EXPECT_EQ(usual.size_bytes, 4 * packing.size_bytes);
  EXPECT_STRNE(usual.format, packing.format);
  std::vector<float> packed(static_cast<std::size_t>(packing.size_bytes) / sizeof(float));
  ASSERT_TRUE(backend.pack(op.op(), 1, packed.data()).is_ok());
  op.packed_input(1, packed.data(), packing.size_bytes);
  ASSERT_TRUE(op.run(backend, 2).is_ok());
  EXPECT_EQ(op.result(), want);
}

TEST(CpuTactics, SteadyModeAffectsTheCallingThreadOnly) {
  EXPECT_FALSE(runs_steadily());
  kVariants.run_steadily(nullptr, 1);
  EXPECT_TRUE(runs_steadily());
  std::thread([] { EXPECT_FALSE(runs_steadily()); }).join();
  kVariants.run_steadily(nullptr, 0);
  EXPECT_FALSE(runs_steadily());
}

TEST(CpuTactics, OperationsWithOneTacticOfferNoChoice) {
  TestOp relu("Relu");
  relu.input({4, 4}, randoms(16, 1)).output({4, 4});
  EXPECT_TRUE(Backend().tactics(relu.op(), 2).empty());
}

}  // namespace
}  // namespace sluice::cpu
