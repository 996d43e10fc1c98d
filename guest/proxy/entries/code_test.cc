#include <gtest/gtest.h>

#include "guest/proxy/testing/emulated_guests.h"

namespace sluice::guest {
namespace {

constexpr std::uint64_t kMib = 1 << 20;
constexpr int kUsualSharedBytes = 48 << 10;

using GuestCode = EmulatedGuests;

CuResult allow(CallingGuest& guest, std::uint64_t kernel, int bytes) {
  return guest.ask(CallKind::kKernelSharedBytes, HandleBody{.handle = kernel, .value = bytes});
}

TEST_F(GuestCode, SharedMemoryOfAKernelIsEachGuestsOwn) {
  start();
  CallingGuest first(*device_);
  CallingGuest second(*device_);
  CallingGuest third(*device_);
  const KernelFacts of_first = first.find_store();
  const KernelFacts of_second = second.find_store();
  const std::uint64_t memory = first.make_memory(4);
  ASSERT_EQ(allow(first, of_first.kernel, 64 << 10), CuResult::kSuccess);
  ASSERT_EQ(allow(second, of_second.kernel, 56 << 10), CuResult::kSuccess);
  EXPECT_EQ(first.launch(of_first.kernel, memory, kDefaultStream, 64 << 10), CuResult::kSuccess);
  EXPECT_EQ(first.read(memory, kDefaultStream), 7);
  EXPECT_EQ(second.launch(of_second.kernel, memory, kDefaultStream, 64 << 10),
            CuResult::kInvalidValue);
  EXPECT_EQ(third.find_store().max_dynamic_shared_bytes, kUsualSharedBytes);
  for (const int bytes : {-1, 1 << 30}) {
    EXPECT_EQ(allow(first, of_first.kernel, bytes), CuResult::kInvalidValue);
  }
}

/// A driver whose loads of code allocate memory, as on a GPU.
class AllocatingLoads : public EmulatedGuests {
 protected:
  void change(cuda::DriverTable& table) override {
    emulator = table;
    table.library_load_data = [](auto... arguments) {
      const CuResult result = allocate();
      return result == CuResult::kSuccess ? emulator.library_load_data(arguments...) : result;
    };
    table.kernel_get_function = [](cuda::CuFunction* function, cuda::CuKernel kernel) {
      const CuResult result = allocate();
      return result == CuResult::kSuccess ? emulator.kernel_get_function(function, kernel) : result;
    };
  }

 private:
  static CuResult allocate() {
    cuda::CuDevicePointer address = 0;
    return emulator.mem_alloc(&address, 4096);
  }
  static inline cuda::DriverTable emulator;
};

TEST_F(AllocatingLoads, KernelIsFirstFoundAndLaunchedWithinACapture) {
  start();
  CallingGuest guest(*device_);
  const std::uint64_t memory = guest.make_memory(4);
  const std::uint64_t stream = guest.make_stream();
  const HandleBody thread_local_capture = {.handle = stream, .flags = 1};
  ASSERT_EQ(guest.ask(CallKind::kCaptureBegin, thread_local_capture), CuResult::kSuccess);
  ASSERT_EQ(guest.launch(guest.find_store().kernel, memory, stream), CuResult::kSuccess);
  const std::uint64_t graph = guest.make(CallKind::kCaptureEnd, HandleBody{.handle = stream});
  const std::uint64_t exec = guest.make(CallKind::kGraphInstantiate, HandleBody{.handle = graph});
  ASSERT_EQ(guest.ask(CallKind::kGraphLaunch, HandleBody{.handle = exec, .other = stream}),
            CuResult::kSuccess);
  EXPECT_EQ(guest.read(memory, stream), 7);
}

TEST_F(GuestCode, VariablesOfSharedCodeAreNobodys) {
  start();
  CallingGuest guest(*device_);
  CallingGuest neighbour(*device_);
  for (CallingGuest* each : {&guest, &neighbour}) {
    ASSERT_EQ(each->load(store_code(), /*has_variables=*/false), CuResult::kSuccess);
    const HandleBody library = {.handle = each->answer.words[0]};
    EXPECT_EQ(each->ask(CallKind::kVariableFind, library, "base"), CuResult::kNotPermitted);
  }
}

TEST_F(GuestCode, VariablesThatAGuestNamesCountBeforeTheyAreLoaded) {
  start();
  CallingGuest guest(*device_, {.memory_bytes = kMib});
  EXPECT_EQ(guest.load(store_code(), true, kMib + 1), CuResult::kOutOfMemory);
  EXPECT_EQ(guest.free_bytes(), kMib);
  ASSERT_EQ(guest.load(store_code(), true, 4096), CuResult::kSuccess);
  const HandleBody library = {.handle = guest.answer.words[0]};
  EXPECT_EQ(guest.free_bytes(), kMib - 4096);
  ASSERT_EQ(guest.ask(CallKind::kVariableFind, library, "base"), CuResult::kSuccess);
  ASSERT_EQ(guest.ask(CallKind::kVariableFind, library, "base"), CuResult::kSuccess);
  EXPECT_EQ(guest.free_bytes(), kMib - 4096) << "counted once";
  EXPECT_EQ(guest.ask(CallKind::kAllocate, MemoryBody{.bytes = kMib}), CuResult::kOutOfMemory);
}

TEST_F(GuestCode, VariableThatAGuestHidCountsWhenItIsFound) {
  start();
  CallingGuest guest(*device_, {.memory_bytes = 6000});
  for (const CuResult result : {CuResult::kSuccess, CuResult::kOutOfMemory}) {
    ASSERT_EQ(guest.load(store_code(), true), CuResult::kSuccess);
    const HandleBody library = {.handle = guest.answer.words[0]};
    EXPECT_EQ(guest.ask(CallKind::kVariableFind, library, "base"), result);
  }
  EXPECT_EQ(guest.free_bytes(), 6000U - 4096U);
}

TEST_F(GuestCode, CodeThatDoesNotLoadCostsNothing) {
  start();
  CallingGuest guest(*device_, {.memory_bytes = kMib});
  EXPECT_EQ(guest.load(make_fatbin("no PTX"), true, 4096), CuResult::kInvalidPtx);
  EXPECT_EQ(guest.load("no fat binary at all", true, 4096), CuResult::kInvalidImage);
  EXPECT_EQ(guest.free_bytes(), kMib);
  EXPECT_EQ(device_->code_budget()->held_bytes(), 0);
}

TEST_F(GuestCode, FirstPieceDropsWhatWasLeftOfAnotherCode) {
  start();
  CallingGuest guest(*device_);
  const std::string code = store_code();
  ASSERT_EQ(guest.ask(CallKind::kCodePiece, HandleBody{.other = code.size()}, code.substr(0, 99)),
            CuResult::kSuccess);
  EXPECT_EQ(guest.load(code, false), CuResult::kSuccess);
}

TEST_F(GuestCode, PiecesBeyondTheirCodeAreRefused) {
  start();
  CallingGuest guest(*device_);
  EXPECT_EQ(guest.ask(CallKind::kCodePiece, HandleBody{}, "no first"), CuResult::kInvalidValue);
  EXPECT_EQ(guest.ask(CallKind::kCodePiece, HandleBody{.other = 3}, "four"),
            CuResult::kInvalidValue);
  EXPECT_EQ(guest.ask(CallKind::kCodePiece, HandleBody{.other = kMaxCodeBytes + 1}, "one"),
            CuResult::kOutOfMemory);
}

TEST_F(GuestCode, CodeInHostMemoryIsBoundForAGuestAndForAllGuests) {
  start(/*seed=*/1, {.code_bytes = 3 * kMib});
  const GuestLimits limits = {.code_bytes = 2 * kMib};
  CallingGuest first(*device_, limits);
  CallingGuest second(*device_, limits);
  const auto begin = [](CallingGuest& guest, std::uint64_t bytes) {
    return guest.ask(CallKind::kCodePiece, HandleBody{.other = bytes}, "piece");
  };
  EXPECT_EQ(begin(first, 2 * kMib + 1), CuResult::kOutOfMemory);
  EXPECT_EQ(begin(first, 2 * kMib), CuResult::kSuccess);
  EXPECT_EQ(begin(second, 2 * kMib), CuResult::kOutOfMemory);
  EXPECT_EQ(begin(second, kMib), CuResult::kSuccess);
  first.leave();
  EXPECT_EQ(begin(second, 2 * kMib), CuResult::kSuccess);
}

TEST_F(GuestCode, EqualCodeIsKeptAndPaidForOnceUntilItsLastUserLeaves) {
  start();
  const auto bytes = static_cast<std::int64_t>(store_code().size());
  CallingGuest first(*device_);
  CallingGuest second(*device_);
  ASSERT_EQ(first.load(store_code(), false), CuResult::kSuccess);
  ASSERT_EQ(second.load(store_code(), false), CuResult::kSuccess);
  EXPECT_EQ(device_->code_budget()->held_bytes(), bytes);
  first.leave();
  EXPECT_EQ(device_->code_budget()->held_bytes(), bytes);
  second.leave();
  EXPECT_EQ(device_->code_budget()->held_bytes(), 0);
}

TEST_F(GuestCode, KernelsThatAGuestAsksForCountAsItsCode) {
  start();
  const auto bytes = static_cast<std::int64_t>(store_code().size());
  CallingGuest guest(*device_, {.code_bytes = bytes + 1024});
  ASSERT_EQ(guest.load(store_code(), false), CuResult::kSuccess);
  const HandleBody library = {.handle = guest.answer.words[0]};
  CuResult result = CuResult::kSuccess;
  for (int i = 0; i < 1024 && result == CuResult::kSuccess; ++i) {
    result = guest.ask(CallKind::kKernelFind, library, "store");
  }
  EXPECT_EQ(result, CuResult::kOutOfMemory);
}

TEST_F(GuestCode, LaunchesBeyondTheDeviceAreRefusedAndEndNothing) {
  start();
  CallingGuest guest(*device_);
  const KernelFacts store = guest.find_store();
  const std::uint64_t memory = guest.make_memory(4);
  std::string parameters;
  append(parameters, memory);
  append<std::uint32_t>(parameters, 7);
  const LaunchBody right = {.kernel = store.kernel, .grid = {1, 1, 1}, .block = {1, 1, 1}};
  std::vector<LaunchBody> wrong(7, right);
  wrong[0].grid = {0x80000000, 1, 1};
  wrong[1].grid = {1, 65536, 1};
  wrong[2].grid = {UINT32_MAX, UINT32_MAX, UINT32_MAX};
  wrong[3].block = {2000, 1, 1};
  wrong[4].block = {UINT32_MAX, UINT32_MAX, UINT32_MAX};
  wrong[5].block = {1, 0, 1};
  wrong[6].dynamic_shared_bytes = UINT32_MAX;
  for (const LaunchBody& body : wrong) {
    EXPECT_EQ(guest.ask(CallKind::kLaunch, body, parameters), CuResult::kInvalidValue);
  }
  EXPECT_FALSE(device_->is_lost());
  EXPECT_EQ(guest.ask(CallKind::kLaunch, right, parameters), CuResult::kSuccess);
  EXPECT_EQ(guest.read(memory, kDefaultStream), 7);
}

}  // namespace
}  // namespace sluice::guest
