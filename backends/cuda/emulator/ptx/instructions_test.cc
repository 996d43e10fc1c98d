// One instruction at a time: what it computes, by hand-made texts.
#include <gtest/gtest.h>

#include "emulator/ptx/testing/programs.h"

namespace sluice::cuda::ptx::testing {
namespace {

/// The value that `text` leaves in %rd0, in lane 0.
std::uint64_t wide(const std::string& text) {
  const Outcome outcome = run_text(kernel_text(text + "\nst.global.u64 [%out], %rd0;"), threads(1));
  EXPECT_TRUE(outcome.status.is_ok()) << outcome.status.text;
  return outcome.words.empty() ? 0 : outcome.words[0] | std::uint64_t{outcome.words[1]} << 32;
}
/// The value in %r0.
std::uint32_t word(const std::string& text) {
  return static_cast<std::uint32_t>(wide(text + "\ncvt.u64.u32 %rd0, %r0;"));
}
/// The bits of %f0, of %h0, and whether %p0 holds.
std::uint32_t single(const std::string& text) { return word(text + "\nmov.b32 %r0, %f0;"); }
std::uint32_t half(const std::string& text) { return word(text + "\ncvt.u32.u16 %r0, %h0;"); }
bool holds(const std::string& text) { return word(text + "\nselp.u32 %r0, 1, 0, %p0;") == 1; }

TEST(Instructions, IntegersWrapAndDivideTowardsZero) {
  EXPECT_EQ(word("add.u32 %r0, 0xffffffff, 2;"), 1u);
  EXPECT_EQ(word("add.sat.s32 %r0, 0x7fffffff, 2;"), 0x7fffffffu);
  EXPECT_EQ(word("div.s32 %r0, -7, 2;"), 0xfffffffdu);
  EXPECT_EQ(word("rem.s32 %r0, -7, 2;"), 0xffffffffu);
  EXPECT_EQ(word("div.u32 %r0, 7, 0;"), 0xffffffffu);
  EXPECT_EQ(word("mov.u32 %r1, 0x80000000; div.s32 %r0, %r1, -1;"), 0x80000000u);
  EXPECT_EQ(word("mul.hi.u32 %r0, 0xffffffff, 0xffffffff;"), 0xfffffffeu);
  EXPECT_EQ(wide("mul.hi.s64 %rd0, -1, 1;"), ~std::uint64_t{0});
  EXPECT_EQ(wide("mad.wide.s32 %rd0, -3, 5, 1;"), static_cast<std::uint64_t>(-14));
  EXPECT_EQ(word("mov.u16 %h1, 0xffff; mul.wide.s16 %r0, %h1, %h1;"), 1u);
  EXPECT_EQ(word("sad.u32 %r0, 3, 10, 1;"), 8u);
  EXPECT_EQ(word("dp4a.s32.s32 %r0, 0x01ff0203, 0x01010101, 10;"), 15u);
  // a: 0x0002 and 0x0100, b: bytes 0x03, 0x04 low and 0xff, 0x01 high
  EXPECT_EQ(word("dp2a.lo.u32.u32 %r0, 0x01000002, 0x01ff0403, 5;"), 5u + 2 * 3 + 256 * 4);
  EXPECT_EQ(word("dp2a.hi.u32.u32 %r0, 0x01000002, 0x01ff0403, 5;"), 5u + 2 * 255 + 256);
  EXPECT_EQ(word("dp2a.hi.s32.s32 %r0, 0x01000002, 0x01ff0403, 5;"), 5u - 2 + 256);
  EXPECT_EQ(word("mul24.lo.u32 %r0, 0xff000003, 5;"), 15u);
}

TEST(Instructions, CarriesTravelBetweenInstructions) {
  EXPECT_EQ(word("add.cc.u32 %r1, -1, 1; addc.u32 %r0, 5, 0;"), 6u);
  EXPECT_EQ(word("add.cc.u32 %r1, 1, 1; addc.u32 %r0, 5, 0;"), 5u);
  EXPECT_EQ(word("sub.cc.u32 %r1, 0, 1; subc.cc.u32 %r0, 5, 0;"), 4u);
  EXPECT_EQ(word("mad.lo.cc.u32 %r1, -1, -1, -1; madc.hi.u32 %r0, -1, -1, 0;"), 0xffffffffu);
  EXPECT_EQ(wide("mov.u64 %rd1, -1; add.cc.u64 %rd2, %rd1, %rd1; addc.cc.s64 %rd3, %rd1, 0; "
                 "addc.u64 %rd0, 0, 0;"),
            1u);
}

TEST(Instructions, WordsMayStandWithoutSpaces) {
  EXPECT_EQ(word("{.reg.b32 x;mov.b32 x,9;mov.b32 %r0,x;}"), 9u);
}

TEST(Instructions, BitsShiftExtractAndPermute) {
  EXPECT_EQ(word("shl.b32 %r0, 1, 40;"), 0u);
  EXPECT_EQ(word("shr.s32 %r0, -8, 40;"), 0xffffffffu);
  EXPECT_EQ(word("shf.l.wrap.b32 %r0, 0x80000000, 1, 1;"), 3u);
  EXPECT_EQ(word("shf.r.clamp.b32 %r0, 5, 7, 32;"), 7u);
  EXPECT_EQ(word("bfe.s32 %r0, 0xf0, 4, 4;"), 0xffffffffu);
  EXPECT_EQ(word("bfe.u32 %r0, 0xf0, 4, 4;"), 15u);
  EXPECT_EQ(word("bfi.b32 %r0, 5, 0xffff, 4, 8;"), 0xf05fu);
  EXPECT_EQ(word("brev.b32 %r0, 1;"), 0x80000000u);
  EXPECT_EQ(word("clz.b32 %r0, 1;"), 31u);
  EXPECT_EQ(word("mov.u64 %rd1, -1; popc.b64 %r0, %rd1;"), 64u);
  EXPECT_EQ(word("bfind.u32 %r0, 0x100;"), 8u);
  EXPECT_EQ(word("prmt.b32 %r0, 0x33221180, 0x77665544, 0x8453;"), 0xff445533u | 0u);
  EXPECT_EQ(word("lop3.b32 %r0, 0xf0, 0xcc, 0xaa, 0x80;"), 0x80u);
  EXPECT_EQ(word("mov.b32 {%h1, %h2}, 0x12345678; mov.b32 %r0, {%h2, %h1};"), 0x56781234u);
}

TEST(Instructions, FloatsRoundAsAsked) {
  // 1 + 2^-24 lies half way between 1 and the next float.
  EXPECT_EQ(single("add.rn.f32 %f0, 0f3F800000, 0f33800000;"), 0x3f800000u);
  EXPECT_EQ(single("add.rp.f32 %f0, 0f3F800000, 0f33800000;"), 0x3f800001u);
  EXPECT_EQ(single("sub.rz.f32 %f0, 0f3F800000, 0f33000000;"), 0x3f7fffffu);
  EXPECT_EQ(single("mul.rm.f32 %f0, 0fBF800001, 0f3F800001;"), 0xbf800003u);
  EXPECT_EQ(single("div.rp.f32 %f0, 0f3F800000, 0f40400000;"), 0x3eaaaaabu);
  EXPECT_EQ(single("div.rz.f32 %f0, 0f3F800000, 0f40400000;"), 0x3eaaaaaau);
  EXPECT_EQ(single("sqrt.rp.f32 %f0, 0f40000000;"), 0x3fb504f4u);
  EXPECT_EQ(single("rcp.rm.f32 %f0, 0f40400000;"), 0x3eaaaaaau);
  EXPECT_EQ(single("fma.rm.f32 %f0, 0f3F800001, 0f3F800001, 0fBF800000;"), 0x34800000u);
  EXPECT_EQ(single("add.ftz.f32 %f0, 0f00000001, 0f00000001;"), 0u);
  EXPECT_EQ(single("add.sat.f32 %f0, 0f3F800000, 0f3F800000;"), 0x3f800000u);
  EXPECT_EQ(single("max.f32 %f0, 0f7FC00000, 0fBF800000;"), 0xbf800000u);
  EXPECT_EQ(single("min.f32 %f0, 0f80000000, 0f00000000;"), 0x80000000u);
  EXPECT_EQ(single("copysign.f32 %f0, 0f80000000, 0f40000000;"), 0xc0000000u);
  EXPECT_EQ(wide("add.rp.f64 %d0, 0d3FF0000000000000, 0d3C00000000000000; mov.b64 %rd0, %d0;"),
            0x3ff0000000000001u);
}

TEST(Instructions, ConversionsClampAndRound) {
  EXPECT_EQ(word("cvt.rni.s32.f32 %r0, 0f40200000;"), 2u);  // 2.5
  EXPECT_EQ(word("cvt.rpi.s32.f32 %r0, 0f40200000;"), 3u);
  EXPECT_EQ(word("cvt.rzi.s32.f32 %r0, 0fFF800000;"), 0x80000000u);
  EXPECT_EQ(word("cvt.rzi.u32.f32 %r0, 0fBF800000;"), 0u);
  EXPECT_EQ(word("cvt.rzi.u32.f32 %r0, 0f7FC00000;"), 0u);
  EXPECT_EQ(wide("cvt.rzi.u64.f32 %rd0, 0f5F800000;"), ~std::uint64_t{0});  // 2^64
  EXPECT_EQ(single("mov.u64 %rd1, 0x8000008000000001; cvt.rn.f32.u64 %f0, %rd1;"), 0x5f000001u);
  EXPECT_EQ(single("mov.u64 %rd1, 0x8000008000000000; cvt.rn.f32.u64 %f0, %rd1;"), 0x5f000000u);
  EXPECT_EQ(single("cvt.rp.f32.s32 %f0, 16777217;"), 0x4b800001u);
  EXPECT_EQ(single("cvt.rni.f32.f32 %f0, 0f40200000;"), 0x40000000u);
  EXPECT_EQ(single("cvt.sat.f32.f32 %f0, 0f7FC00000;"), 0u);
  EXPECT_EQ(single("mov.f64 %d1, 0d3FF0000010000001; cvt.rn.f32.f64 %f0, %d1;"), 0x3f800001u);
  EXPECT_EQ(word("cvt.s32.s8 %r0, 0xf0;"), 0xfffffff0u);
  EXPECT_EQ(word("cvt.sat.u8.s32 %r0, 300;"), 255u);
  EXPECT_EQ(wide("cvt.s64.s32 %rd0, -5;"), static_cast<std::uint64_t>(-5));
  EXPECT_EQ(half("cvt.rn.f16.f32 %h0, 0f477FF000;"), 0x7c00u);  // 65520 rounds to infinity
  EXPECT_EQ(half("cvt.rz.f16.f32 %h0, 0f477FF000;"), 0x7bffu);
  EXPECT_EQ(half("cvt.rn.f16.f32 %h0, 0f33000001;"), 1u);  // above half of the least subnormal
  EXPECT_EQ(half("cvt.rn.bf16.f32 %h0, 0f3F808000;"), 0x3f80u);
  EXPECT_EQ(half("cvt.rn.relu.f16.f32 %h0, 0fBF800000;"), 0u);
  EXPECT_EQ(word("cvt.rn.f16x2.f32 %r0, 0f3F800000, 0f40000000;"), 0x3c004000u);
  EXPECT_EQ(word("mov.b32 %f1, 0f3F801000; cvt.rna.tf32.f32 %r0, %f1;"), 0x3f802000u);
}

TEST(Instructions, HalvesRoundOnce) {
  EXPECT_EQ(half("mov.b16 %h1, 0x3c00; mov.b16 %h2, 0x1000; add.f16 %h0, %h1, %h2;"),
            0x3c00u);  // 1 + 2^-11
  EXPECT_EQ(half("mov.b16 %h1, 0x3c01; mov.b16 %h2, 0x3c01; mov.b16 %h3, 0x8001; fma.rn.f16 %h0, "
                 "%h1, %h2, %h3;"),
            0x3c02u);
  // 1.0009765625^2 - 2^-24 lies just below the middle of two halves.
  EXPECT_EQ(word("fma.rn.f16x2 %r0, 0x3c003c00, 0x40004200, 0x3c003c00;"), 0x42004400u);
  EXPECT_EQ(half("mov.b16 %h1, 0x3f80; mov.b16 %h2, 0x4000; mul.bf16 %h0, %h1, %h2;"), 0x4000u);
  EXPECT_EQ(word("max.NaN.f16x2 %r0, 0x7e003c00, 0x3c004000;"), 0x7fff4000u);
  EXPECT_EQ(word("neg.bf16x2 %r0, 0x3f80bf80;"), 0xbf803f80u);
  EXPECT_EQ(half("mov.b16 %h1, 0x4000; ex2.approx.f16 %h0, %h1;"), 0x4400u);
}

TEST(Instructions, ComparisonsKnowNan) {
  EXPECT_TRUE(holds("setp.lt.s32 %p0, -1, 0;"));
  EXPECT_FALSE(holds("setp.lo.u32 %p0, -1, 0;"));
  EXPECT_FALSE(holds("setp.ne.f32 %p0, 0f7FC00000, 0f00000000;"));
  EXPECT_TRUE(holds("setp.neu.f32 %p0, 0f7FC00000, 0f00000000;"));
  EXPECT_TRUE(holds("setp.ltu.f32 %p0, 0f7FC00000, 0f00000000;"));
  EXPECT_TRUE(holds("setp.nan.f32 %p0, 0f7FC00000, 0f00000000;"));
  EXPECT_TRUE(holds("setp.eq.s32 %p1, 0, 0; setp.gt.and.s32 %p2|%p0, 1, 2, %p1;"));
  EXPECT_FALSE(holds("setp.eq.s32 %p1, 0, 0; setp.lt.and.s32 %p0, 1, 2, !%p1;"));
  EXPECT_EQ(word("set.lt.u32.f32 %r0, 0f00000000, 0f3F800000;"), 0xffffffffu);
  EXPECT_EQ(word("set.eq.f16x2.f16x2 %r0, 0x3c004000, 0x3c003c00;"), 0x3c000000u);
  EXPECT_TRUE(holds("testp.infinite.f32 %p0, 0fFF800000;"));
  EXPECT_EQ(word("slct.u32.s32 %r0, 4, 5, -1;"), 5u);
}

TEST(Instructions, ScopesHideNames) {
  EXPECT_EQ(
      word("mov.u32 %r0, 1; { .reg .b32 %r<4>; mov.u32 %r0, 7; { .reg .b32 x; mov.u32 x, %r0; } }"),
      1u);
}

TEST(Instructions, LocalMemoryIsEachThreadsOwn) {
  const Outcome outcome = run_text(
      kernel_text(
          ".local .align 4 .b8 mine[16]; mov.b64 %rd1, mine; cvta.local.u64 %rd2, %rd1; and.b32 "
          "%r1, %lane, 3;\n"
          "mul.wide.u32 %rd3, %r1, 4; add.u64 %rd4, %rd1, %rd3; st.local.u32 [%rd4], %lane;\n"
          "add.u64 %rd5, %rd2, %rd3; ld.u32 %r2, [%rd5]; st.global.u32 [%to], %r2;"),
      threads(32));
  ASSERT_TRUE(outcome.status.is_ok()) << outcome.status.text;
  for (std::uint32_t i = 0; i < 32; ++i) EXPECT_EQ(outcome.words[i], i);
}

TEST(Instructions, VariablesHaveInitialBytes) {
  const std::string before =
      ".global .align 4 .u32 table[3] = {5, 6, 7};\n.const .align 4 .f32 one = 0f3F800000;";
  const Outcome outcome = run_text(
      kernel_text("ld.global.u32 %r1, [table+8]; ld.const.f32 %f1, [one]; mov.b32 %r2, %f1;\n"
                  "add.u32 %r1, %r1, %r2; st.global.u32 [%out], %r1;",
                  before),
      threads(1));
  ASSERT_TRUE(outcome.status.is_ok()) << outcome.status.text;
  EXPECT_EQ(outcome.words[0], 0x3f800007u);
}

TEST(Instructions, AtomicsSeeEachOther) {
  const Outcome outcome = run_text(
      kernel_text(
          "atom.global.add.u32 %r1, [%out], 1; st.global.u32 [%to+128], %r1; red.global.max.u32 "
          "[%out+4], %lane;\n"
          "atom.global.cas.b32 %r2, [%out+8], 0, 9; red.global.add.f32 [%out+12], 0f3F800000;\n"
          "red.global.add.noftz.f16x2 [%out+16], 0x3c000000;"),
      threads(32));
  ASSERT_TRUE(outcome.status.is_ok()) << outcome.status.text;
  EXPECT_EQ(outcome.words[0], 32u);
  EXPECT_EQ(outcome.words[1], 31u);
  EXPECT_EQ(outcome.words[2], 9u);
  EXPECT_EQ(outcome.words[3], 0x42000000u);
  EXPECT_EQ(outcome.words[4], 0x50000000u);
  EXPECT_EQ(outcome.words[32 + 31], 31u);
}

}  // namespace
}  // namespace sluice::cuda::ptx::testing
