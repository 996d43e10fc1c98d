// Lanes that diverge, barriers, shuffles, races and copies: what goes on between threads.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "emulator/ptx/testing/programs.h"

namespace sluice::cuda::ptx::testing {
namespace {

using ::testing::HasSubstr;

std::vector<std::uint32_t> words_of(const std::string& body, std::uint32_t count = 32,
                                    std::uint64_t seed = 0) {
  const Outcome outcome =
      run_text(kernel_text(body + "\nst.global.u32 [%to], %r0;"), threads(count, seed));
  EXPECT_TRUE(outcome.status.is_ok()) << outcome.status.text;
  return outcome.words;
}

TEST(Warps, LanesLoopAsOftenAsEachWants) {
  const auto words = words_of(
      "mov.u32 %r0, 0; mov.u32 %r1, 0;\nL: setp.ge.u32 %p1, %r1, %lane; @%p1 bra E; add.u32 %r0, "
      "%r0, %r1;\n"
      "add.u32 %r1, %r1, 1; bra L;\nE: activemask.b32 %r2; setp.ne.u32 %p2, %r2, -1; @%p2 trap;");
  for (std::uint32_t i = 0; i < 32; ++i) EXPECT_EQ(words[i], i * (i - 1) / 2);
}

TEST(Warps, TablesOfBranchesSendEachLaneItsWay) {
  const auto words = words_of(
      "and.b32 %r1, %lane, 1;\nT: .branchtargets A, B;\nbrx.idx %r1, T;\nA: mov.u32 %r0, 10; bra "
      "E;\n"
      "B: mov.u32 %r0, 20;\nE:");
  EXPECT_EQ(words[4], 10u);
  EXPECT_EQ(words[5], 20u);
}

TEST(Warps, FunctionsReturnToTheirCallers) {
  const std::string functions =
      ".func (.param .b32 r) twice(.param .b32 x) { .reg .b32 %r<3>; ld.param.u32 %r1, [x]; "
      "add.u32 %r2, %r1, %r1;\n"
      "st.param.u32 [r], %r2; ret; }\n"
      ".func (.param .b32 r) odd(.param .b32 x) { .reg .b32 %r<3>; .reg .pred %p<2>; ld.param.u32 "
      "%r1, [x];\n"
      "setp.lt.u32 %p1, %r1, 8; @%p1 bra SMALL;\nadd.u32 %r1, %r1, 1000;\n"
      "SMALL: { .param .b32 a; .param .b32 b; st.param.b32 [a], %r1; call.uni (b), twice, (a); "
      "ld.param.b32 %r2, [b]; }\n"
      "st.param.u32 [r], %r2; ret; }";
  const std::string body =
      "and.b32 %r1, %lane, 1; setp.eq.u32 %p1, %r1, 1; mov.u32 %r0, 5;\n"
      "{ .param .b32 a; .param .b32 b; st.param.b32 [a], %lane; @%p1 call (b), odd, (a); @%p1 "
      "ld.param.b32 %r0, [b]; }\n"
      "activemask.b32 %r2; setp.ne.u32 %p2, %r2, -1; @%p2 trap; st.global.u32 [%to], %r0;";
  const Outcome outcome = run_text(kernel_text(body, functions), threads(32));
  ASSERT_TRUE(outcome.status.is_ok()) << outcome.status.text;
  for (std::uint32_t i = 0; i < 32; ++i) {
    EXPECT_EQ(outcome.words[i], i % 2 == 0 ? 5 : i < 8 ? 2 * i : 2 * (i + 1000)) << i;
  }
}

TEST(Warps, ShufflesStayInTheirSegments) {
  EXPECT_EQ(words_of("shfl.sync.up.b32 %r0|%p1, %lane, 1, 0, -1;")[5], 4u);
  EXPECT_EQ(words_of("shfl.sync.up.b32 %r0|%p1, %lane, 1, 0, -1;")[0], 0u);
  EXPECT_EQ(words_of("shfl.sync.down.b32 %r0, %lane, 2, 31, -1;")[31], 31u);
  EXPECT_EQ(words_of("shfl.sync.bfly.b32 %r0, %lane, 16, 31, -1;")[3], 19u);
  // Segments of 8: the mask of c is 0x18.
  EXPECT_EQ(words_of("shfl.sync.idx.b32 %r0, %lane, 2, 0x181f, -1;")[13], 10u);
  EXPECT_EQ(words_of("shfl.sync.down.b32 %r1|%p1, %lane, 1, 31, -1; selp.u32 %r0, 1, 0, %p1;")[31],
            0u);
}

TEST(Warps, VotesMatchesAndReductionsCountMembers) {
  EXPECT_EQ(words_of("setp.lt.u32 %p1, %lane, 4; vote.sync.ballot.b32 %r0, %p1, -1;")[9], 15u);
  EXPECT_EQ(
      words_of(
          "setp.lt.u32 %p1, %lane, 4; vote.sync.any.pred %p2, !%p1, -1; selp.u32 %r0, 1, 0, %p2;")
          [0],
      1u);
  EXPECT_EQ(words_of("shr.u32 %r1, %lane, 4; match.any.sync.b32 %r0, %r1, -1;")[20], 0xffff0000u);
  EXPECT_EQ(words_of("match.all.sync.b32 %r0|%p1, 3, -1;")[20], 0xffffffffu);
  EXPECT_EQ(words_of("redux.sync.add.u32 %r0, %lane, -1;")[7], 496u);
  EXPECT_EQ(words_of("sub.s32 %r1, 0, %lane; redux.sync.min.s32 %r0, %r1, -1;")[7],
            static_cast<std::uint32_t>(-31));
}

TEST(Warps, ShuffleAwaitsLanesThatTookAnotherWay) {
  // The odd lanes come to the shuffle by code that lies behind it.
  const auto words = words_of(
      "and.b32 %r1, %lane, 1; setp.eq.u32 %p1, %r1, 1; mov.u32 %r2, %lane; @%p1 bra FAR;\n"
      "S: shfl.sync.bfly.b32 %r0, %r2, 1, 31, -1; bra E;\nFAR: add.u32 %r2, %r2, 100; bra S;\nE:");
  EXPECT_EQ(words[4], 105u);
  EXPECT_EQ(words[5], 4u);
}

TEST(Warps, ShuffleOfLanesThatNeverComeIsAnError) {
  const Outcome outcome = run_text(
      kernel_text("setp.lt.u32 %p1, %lane, 16; @%p1 bra A;\nB: bra B2;\nB2: bar.sync 1, 64;\n"
                  "A: shfl.sync.bfly.b32 %r0, %lane, 1, 31, -1;"),
      threads(32));
  EXPECT_EQ(outcome.status.code, SLUICE_FAILED_PRECONDITION);
  EXPECT_THAT(outcome.status.text, HasSubstr("shfl.sync.bfly.b32"));
}

constexpr const char* kExchange =
    ".shared .align 4 .b8 s[512]; mov.u32 %r1, s; shl.b32 %r2, %t, 2; add.u32 %r3, %r1, %r2;\n"
    "st.shared.u32 [%r3], %t;\n%%\nsub.u32 %r4, 127, %t; shl.b32 %r4, %r4, 2; add.u32 %r5, %r1, "
    "%r4;\n"
    "ld.shared.u32 %r0, [%r5]; st.global.u32 [%to], %r0;";

std::string exchange_with(const std::string& between) {
  std::string text = kExchange;
  return kernel_text(text.replace(text.find("%%"), 2, between));
}

TEST(Warps, BarriersOrderSharedMemory) {
  for (std::uint64_t seed = 0; seed < 5; ++seed) {
    const Outcome outcome = run_text(exchange_with("bar.sync 0;"), threads(128, seed));
    ASSERT_TRUE(outcome.status.is_ok()) << outcome.status.text;
    for (std::uint32_t i = 0; i < 128; ++i) EXPECT_EQ(outcome.words[i], 127 - i);
  }
}

TEST(Warps, MissingBarrierIsReportedWithBothLines) {
  const Outcome outcome = run_text(exchange_with(""), threads(128));
  EXPECT_EQ(outcome.status.code, SLUICE_FAILED_PRECONDITION);
  EXPECT_THAT(outcome.status.text, HasSubstr("race in shared memory"));
  EXPECT_THAT(outcome.status.text, HasSubstr("PTX line 21 (st.shared.u32)"));
  EXPECT_THAT(outcome.status.text, HasSubstr("after the access of line 24 by warp"));
  Launch careless = threads(128);
  careless.refuses_races = false;
  EXPECT_TRUE(run_text(exchange_with(""), careless).status.is_ok());
}

TEST(Warps, WritesOfOneValueByAllDoNotRace) {
  const Outcome outcome =
      run_text(kernel_text(".shared .align 4 .b8 s[4]; st.shared.u32 [s], 7;"), threads(128));
  EXPECT_TRUE(outcome.status.is_ok()) << outcome.status.text;
}

TEST(Warps, BarriersReduceOverThreads) {
  const std::string body = "setp.lt.u32 %p1, %t, 50; bar.red.popc.u32 %r0, 0, %p1;";
  EXPECT_EQ(words_of(body, 96)[95], 50u);
  EXPECT_EQ(
      words_of("setp.lt.u32 %p1, %t, 50; bar.red.or.pred %p2, 0, %p1; selp.u32 %r0, 1, 0, %p2;",
               96)[90],
      1u);
  EXPECT_EQ(
      words_of("setp.lt.u32 %p1, %t, 50; bar.red.and.pred %p2, 0, %p1; selp.u32 %r0, 1, 0, %p2;",
               96)[9],
      0u);
}

TEST(Warps, EndedThreadsAreNotAwaited) {
  const auto words =
      words_of("mov.u32 %r0, 5; setp.ge.u32 %p1, %t, 64; @%p1 exit; bar.sync 0;", 96);
  EXPECT_EQ(words[10], 5u);
  EXPECT_EQ(words[70], 0u);
}

TEST(Warps, BarrierThatNobodyElseReachesIsAnError) {
  const Outcome outcome = run_text(
      kernel_text("setp.lt.u32 %p1, %t, 32; @%p1 bar.sync 1, 64; bar.sync 2, 64;"), threads(64));
  EXPECT_EQ(outcome.status.code, SLUICE_FAILED_PRECONDITION);
  EXPECT_THAT(outcome.status.text, HasSubstr("wait for each other for ever"));
  EXPECT_THAT(outcome.status.text, HasSubstr("thread (0,0,0) of block (0,0,0) and 31 others of its "
                                             "warp wait at PTX line 20 (bar.sync)"));
}

TEST(Warps, WarpMayPollSharedMemory) {
  const auto words = words_of(
      ".shared .align 4 .b8 flag[4]; st.volatile.shared.u32 [flag], 0; bar.sync 0; setp.ge.u32 "
      "%p1, %t, 32; @%p1 bra SET;\n"
      "WAIT: ld.volatile.shared.u32 %r0, [flag]; setp.eq.u32 %p2, %r0, 0; @%p2 bra WAIT; bra E;\n"
      "SET: st.volatile.shared.u32 [flag], 3; mov.u32 %r0, 1;\nE:",
      64);
  EXPECT_EQ(words[0], 3u);
}

TEST(Warps, EndlessKernelFails) {
  Launch launch = threads(32);
  launch.max_instructions = 100000;
  const Outcome outcome = run_text(kernel_text("L: bra L;"), launch);
  EXPECT_EQ(outcome.status.code, SLUICE_DEADLINE_EXCEEDED);
  EXPECT_LE(outcome.counts.warp_instructions, 100001u);
}

/// Copies 16 bytes per lane to shared memory and reads them after `wait`.
std::string copy_text(const std::string& wait) {
  return kernel_text(
      ".shared .align 16 .b8 s[512]; mov.u32 %r1, s; shl.b32 %r2, %lane, 4; add.u32 %r3, %r1, "
      "%r2;\n"
      "mul.wide.u32 %rd1, %lane, 16; add.u64 %rd2, %out, %rd1; st.global.u32 [%rd2], %lane; "
      "st.shared.u32 [%r3], 77;\n"
      "cp.async.cg.shared.global [%r3], [%rd2], 16; cp.async.commit_group;\n" +
      wait + "\nld.shared.u32 %r0, [%r3]; st.global.u32 [%rd2], %r0;");
}

TEST(Warps, CopiesLandWhenAwaited) {
  for (std::uint64_t seed = 0; seed < 4; ++seed) {
    const Outcome outcome = run_text(copy_text("cp.async.wait_group 0;"), threads(32, seed));
    ASSERT_TRUE(outcome.status.is_ok()) << outcome.status.text;
    for (std::uint32_t i = 0; i < 32; ++i) EXPECT_EQ(outcome.words[i * 4], i);
  }
}

TEST(Warps, MissingWaitForACopyShows) {
  const Outcome outcome = run_text(copy_text("cp.async.wait_group 1;"), threads(32, 3));
  ASSERT_TRUE(outcome.status.is_ok()) << outcome.status.text;
  EXPECT_THAT(outcome.words, ::testing::Contains(77u));
}

TEST(Warps, BankConflictsAreCounted) {
  const auto conflicts = [](const char* stride) {
    const Outcome outcome = run_text(
        kernel_text(
            std::string(".shared .align 16 .b8 s[8192]; mov.u32 %r1, s; mad.lo.u32 %r2, %lane, ") +
            stride + ", %r1; ld.shared.u32 %r0, [%r2];"),
        threads(32));
    EXPECT_TRUE(outcome.status.is_ok()) << outcome.status.text;
    return outcome.counts.shared_bank_conflicts;
  };
  EXPECT_EQ(conflicts("4"), 0u);
  EXPECT_EQ(conflicts("8"), 1u);
  EXPECT_EQ(conflicts("128"), 31u);
  EXPECT_EQ(conflicts("132"), 0u);
  EXPECT_EQ(conflicts("0"), 0u);
}

TEST(Warps, BlocksRunOnceInAnyOrderOnTheirMultiprocessors) {
  const std::vector<std::uint32_t> multiprocessors = {7, 9};
  Launch launch = threads(1, 11);
  launch.grid = {30, 2, 1};
  launch.multiprocessors = multiprocessors;
  const Outcome outcome = run_text(
      kernel_text("mov.u32 %r1, %ctaid.y; mov.u32 %r2, %ctaid.x; mad.lo.u32 %r3, %r1, 30, %r2; "
                  "mul.wide.u32 %rd1, %r3, 4;\n"
                  "add.u64 %rd1, %rd1, %out; mov.u32 %r4, %smid; red.global.add.u32 [%rd1], %r4;"),
      launch);
  ASSERT_TRUE(outcome.status.is_ok()) << outcome.status.text;
  for (std::uint32_t i = 0; i < 60; ++i) EXPECT_EQ(outcome.words[i], i % 2 == 0 ? 7u : 9u);
}

}  // namespace
}  // namespace sluice::cuda::ptx::testing
