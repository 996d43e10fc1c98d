// Texts that are refused, launches that are refused, and accesses outside of memory.
#include "emulator/ptx/module.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "emulator/ptx/testing/programs.h"

namespace sluice::cuda::ptx::testing {
namespace {

using ::testing::HasSubstr;

Status parse_text(const std::string& text) {
  Module module;
  return Module::parse(text, &module);
}

TEST(Module, KernelsSayWhatALaunchNeeds) {
  Module module;
  const Status status = Module::parse(
      ".version 7.8\n.target sm_75\n.address_size 64\n.extern .shared .align 16 .b8 more[];\n"
      ".visible .entry a(.param .u32 n, .param .u64 .ptr .global .align 16 p, .param .align 4 .b8 "
      "s[12])\n"
      ".maxntid 128, 2, 1\n{ .shared .align 8 .b8 buffer[100]; .local .align 4 .b8 own[20]; .reg "
      ".b32 %r<3>;\n"
      " mov.u32 %r1, more; mov.u32 %r2, buffer; ret; }\n",
      &module);
  ASSERT_TRUE(status.is_ok()) << status.text;
  EXPECT_EQ(module.architecture(), 75);
  EXPECT_EQ(module.version(), 78);
  const Kernel* kernel = module.find("a");
  ASSERT_NE(kernel, nullptr);
  EXPECT_EQ(module.find("b"), nullptr);
  ASSERT_EQ(kernel->parameters.size(), 3u);
  EXPECT_EQ(kernel->parameters[1].offset_bytes, 8u);
  EXPECT_EQ(kernel->parameters[2].offset_bytes, 16u);
  EXPECT_EQ(kernel->parameter_bytes, 28u);
  EXPECT_EQ(kernel->static_shared_bytes, 112u);
  EXPECT_EQ(kernel->local_bytes, 20u);
  EXPECT_EQ(kernel->max_threads, 256u);
  EXPECT_TRUE(kernel->uses_dynamic_shared);
}

TEST(Module, WhatTheInterpreterLacksIsRefusedByNameAndLine) {
  const std::pair<const char*, const char*> cases[] = {
      {"wgmma.fence.sync.aligned;", "wgmma.fence.sync.aligned"},
      {"tex.2d.v4.f32.f32 {%f0,%f1,%f2,%f3}, [t, {%f4,%f5}];", "tex.2d.v4.f32.f32"},
      {"mbarrier.init.shared.b64 [%rd1], 1;", "mbarrier.init.shared.b64"},
      {"cp.async.bulk.commit_group;", ".bulk of cp.async.bulk.commit_group"},
      {"barrier.cluster.arrive;", "such form of barrier.cluster.arrive"},
      {"cvt.rn.f16x2.e4m3x2 %r0, %h1;", "such form of cvt.rn.f16x2.e4m3x2"},
      {"frobnicate.u32 %r0;", "frobnicate.u32"},
      {"call vprintf, (%rd1);", "function vprintf"},
  };
  for (const auto& [line, name] : cases) {
    const Status status = parse_text(kernel_text(line, ".extern .func vprintf(.param .b64 a);"));
    EXPECT_EQ(status.code, SLUICE_UNIMPLEMENTED) << line << ": " << status.text;
    EXPECT_THAT(status.text, HasSubstr(std::string("PTX line 20: the interpreter has no ")))
        << line;
    EXPECT_THAT(status.text, HasSubstr(name));
  }
}

TEST(Module, WrongTextsAreRefusedWithTheirLine) {
  const std::pair<const char*, const char*> cases[] = {
      {"add.u32 %r0, %r1;", "has 2 operands"},
      {"add.u32 %r0, %rd1, %r2;", "%rd1 is a register of .b64"},
      {"add.u32 %r0, %r99, %r2;", "\"%r99\", which is not declared"},
      {"bra NOWHERE;", "no label \"NOWHERE\""},
      {"mov.u32 %r0, 12a;", "\"12a\" is no number"},
      {"ld.param.u64 %rd1, [out+8];", "beyond the kernel's parameters"},
      {".reg .b32 %r<3>;", "\"%r\" is declared twice"},
      {"@%r1 ret;", "a guard that is no predicate"},
      {"ld.global.v2.u32 {%r0}, [%rd0];", "1 registers for 2"},
      {"add.u32 %r0 %r1, %r2;", "expected \",\" before \"%r1\""},
  };
  for (const auto& [line, why] : cases) {
    const Status status = parse_text(kernel_text(line));
    EXPECT_EQ(status.code, SLUICE_INVALID_ARGUMENT) << line << ": " << status.text;
    EXPECT_THAT(status.text, HasSubstr("PTX line 2")) << line;
    EXPECT_THAT(status.text, HasSubstr(why));
  }
}

TEST(Module, SizesAreBounded) {
  EXPECT_EQ(parse_text(std::string(kMaxTextBytes + 1, ' ')).code, SLUICE_RESOURCE_EXHAUSTED);
  EXPECT_EQ(parse_text(kernel_text(".shared .b8 s[232449];")).code, SLUICE_RESOURCE_EXHAUSTED);
  EXPECT_EQ(parse_text(kernel_text(".local .b8 s[524289];")).code, SLUICE_RESOURCE_EXHAUSTED);
  EXPECT_EQ(parse_text(kernel_text(".reg .b64 %x<1000000>;")).code, SLUICE_RESOURCE_EXHAUSTED);
  EXPECT_EQ(parse_text(kernel_text(std::string(100, '{') + std::string(100, '}'))).code,
            SLUICE_RESOURCE_EXHAUSTED);
  EXPECT_EQ(parse_text(".global .b64 x[99999][99999];").code, SLUICE_RESOURCE_EXHAUSTED);
}

TEST(Module, LaunchesBeyondADeviceAreRefused) {
  const std::string text = kernel_text("");
  Launch launch = threads(1025);
  EXPECT_EQ(run_text(text, launch).status.code, SLUICE_INVALID_ARGUMENT);
  launch = threads(0);
  EXPECT_EQ(run_text(text, launch).status.code, SLUICE_INVALID_ARGUMENT);
  launch = threads(1);
  launch.grid.y = 65536;
  EXPECT_EQ(run_text(text, launch).status.code, SLUICE_INVALID_ARGUMENT);
  launch = threads(1);
  launch.dynamic_shared_bytes = kMaxSharedBytes + 1;
  EXPECT_EQ(run_text(text, launch).status.code, SLUICE_INVALID_ARGUMENT);
}

TEST(Module, AccessOutsideOfMemoryNamesKernelLineThreadAndAddress) {
  const Outcome outcome = run_text(kernel_text("st.global.u32 [%to], 1;"), threads(32), 20);
  EXPECT_EQ(outcome.status.code, SLUICE_OUT_OF_RANGE);
  EXPECT_EQ(outcome.status.text,
            "kernel k, PTX line 20 (st.global.u32), thread (20,0,0) of block (0,0,0): device "
            "address 0x100000050, "
            "4 bytes: no allocation holds it");
}

TEST(Module, SharedLocalAndMisalignedAccessesAreChecked) {
  const auto code_of = [](const char* body) {
    return run_text(kernel_text(body), threads(2)).status.code;
  };
  EXPECT_EQ(code_of(".shared .align 4 .b8 s[8]; ld.shared.u32 %r0, [s+8];"), SLUICE_OUT_OF_RANGE);
  EXPECT_EQ(code_of(".local .align 4 .b8 s[8]; ld.local.u32 %r0, [s+8];"), SLUICE_OUT_OF_RANGE);
  EXPECT_EQ(code_of("ld.global.u32 %r0, [%out+2];"), SLUICE_FAILED_PRECONDITION);
  EXPECT_EQ(code_of("mov.u64 %rd1, 0x0100000000000000; ld.u32 %r0, [%rd1+16];"),
            SLUICE_OUT_OF_RANGE);
  EXPECT_EQ(code_of("ld.global.u32 %r0, [0];"), SLUICE_OUT_OF_RANGE);
  EXPECT_EQ(code_of("trap;"), SLUICE_ABORTED);
}

TEST(Module, FunctionsOfCirclesAreRefused) {
  const std::string functions = ".func a; .func b { call a; ret; } .func a { call b; ret; }";
  EXPECT_THAT(parse_text(kernel_text("call a;", functions)).text, HasSubstr("recursive functions"));
}

}  // namespace
}  // namespace sluice::cuda::ptx::testing
