// Guests of a proxy on the emulator, for tests. Calls go to a guest directly, without a ring.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "driver/fatbin.h"
#include "emulator/emulated_driver.h"
#include "emulator/ptx_code.h"
#include "guest/proxy/guest.h"

namespace sluice::guest {

using cuda::CuResult;

template <typename T>
void append(std::string& to, T value) {
  to.append(reinterpret_cast<const char*>(&value), sizeof(value));
}

/// A fat binary of one PTX text.
inline std::string make_fatbin(std::string text) {
  text.resize((text.size() + 8) / 8 * 8);
  std::string entry;
  append<std::uint16_t>(entry, 1);       // PTX
  append<std::uint16_t>(entry, 0x0101);  // version
  append<std::uint32_t>(entry, 64);      // bytes of this header
  append<std::uint64_t>(entry, text.size());
  append<std::uint64_t>(entry, 0);
  append<std::uint32_t>(entry, 0);
  append<std::uint32_t>(entry, 75);  // compute_75
  entry.resize(64);
  std::string fatbin;
  append(fatbin, cuda::kFatbinMagic);
  append<std::uint16_t>(fatbin, 1);
  append<std::uint16_t>(fatbin, cuda::kFatbinHeaderBytes);
  append<std::uint64_t>(fatbin, entry.size() + text.size());
  return fatbin + entry + text;
}

/// A kernel `store` that writes the word `value` to `to`, and a variable `base` of 4,096 bytes.
inline std::string store_code() {
  return make_fatbin(R"(.version 7.8
.target sm_75
.address_size 64
.global .align 4 .b8 base[4096];
.visible .entry store(.param .u64 to, .param .u32 value) {
  .reg .b32 %r<2>;
  .reg .b64 %rd<2>;
  ld.param.u64 %rd1, [to];
  ld.param.u32 %r1, [value];
  st.global.u32 [%rd1], %r1;
  ret;
}
)");
}

/// A guest whose calls a test makes.
class CallingGuest {
 public:
  explicit CallingGuest(SharedDevice& device, const GuestLimits& limits = {})
      : guest_(std::in_place, device, limits), room_(kMaxPayloadBytes) {
    EXPECT_EQ(guest_->start(), CuResult::kSuccess);
  }

  template <typename TypedBody>
  CuResult ask(CallKind kind, const TypedBody& body, std::string_view payload = {}) {
    const Call call = {.kind = kind,
                       .sequence = 1,
                       .body = to_body(body),
                       .payload = std::as_bytes(std::span(payload))};
    answer = {};
    answer.room = room_;
    return guest_->handle(call, answer);
  }
  /// The number that a call which has to succeed gives back.
  template <typename TypedBody>
  std::uint64_t make(CallKind kind, const TypedBody& body, std::string_view payload = {}) {
    EXPECT_EQ(ask(kind, body, payload), CuResult::kSuccess);
    return answer.words[0];
  }

  std::uint64_t make_stream(unsigned flags = 0) {
    return make(CallKind::kStreamCreate, HandleBody{.flags = flags});
  }
  std::uint64_t make_memory(std::uint64_t bytes) {
    return make(CallKind::kAllocate, MemoryBody{.bytes = bytes});
  }
  CuResult fill(std::uint64_t address, unsigned char value, std::uint64_t stream) {
    return ask(CallKind::kFill,
               MemoryBody{.target = address, .bytes = 4, .stream = stream, .value = value});
  }
  CuResult copy(std::uint64_t to, std::uint64_t from, std::uint64_t stream) {
    return ask(CallKind::kCopyWithin,
               MemoryBody{.target = to, .source = from, .bytes = 4, .stream = stream});
  }
  CuResult begin_capture(std::uint64_t stream) {
    return ask(CallKind::kCaptureBegin, HandleBody{.handle = stream, .flags = 2});  // relaxed
  }
  /// The first byte at an address, copied in the order of a stream.
  int read(std::uint64_t address, std::uint64_t stream) {
    EXPECT_EQ(ask(CallKind::kCopyOut, MemoryBody{.source = address, .bytes = 1, .stream = stream}),
              CuResult::kSuccess);
    return static_cast<int>(answer.room.front());
  }

  CuResult load(const std::string& code, bool has_variables, std::uint64_t variable_bytes = 0) {
    const CuResult result = ask(CallKind::kCodePiece, HandleBody{.other = code.size()}, code);
    if (result != CuResult::kSuccess) return result;
    return ask(CallKind::kCodeLoad,
               HandleBody{.other = variable_bytes, .flags = has_variables ? 1U : 0U});
  }
  /// `store` of its code, shared with other guests.
  KernelFacts find_store() {
    EXPECT_EQ(load(store_code(), /*has_variables=*/false), CuResult::kSuccess);
    EXPECT_EQ(ask(CallKind::kKernelFind, HandleBody{.handle = answer.words[0]}, "store"),
              CuResult::kSuccess);
    KernelFacts facts;
    std::memcpy(&facts, answer.room.data(), sizeof(facts));
    return facts;
  }
  CuResult launch(std::uint64_t kernel, std::uint64_t to, std::uint64_t stream,
                  std::uint32_t shared_bytes = 0) {
    std::string parameters;
    append(parameters, to);
    append<std::uint32_t>(parameters, 7);
    return ask(CallKind::kLaunch,
               LaunchBody{.kernel = kernel,
                          .stream = stream,
                          .grid = {1, 1, 1},
                          .block = {1, 1, 1},
                          .dynamic_shared_bytes = shared_bytes},
               parameters);
  }
  std::uint64_t free_bytes() { return make(CallKind::kMemoryInfo, HandleBody{}); }
  void leave() { guest_.reset(); }

  Answer answer;  ///< of the last call

 private:
  std::optional<Guest> guest_;
  std::vector<std::byte> room_;
};

class EmulatedGuests : public ::testing::Test {
 protected:
  /// A new device. Work that may run in several orders runs in that of `seed`.
  void start(std::uint64_t seed = 1, const SharedDeviceOptions& options = {}) {
    stop();
    cuda::emulator::Description description;
    description.seed = seed;
    std::unique_ptr<cuda::emulator::EmulatedDriver> driver;
    ASSERT_EQ(cuda::emulator::EmulatedDriver::start(std::move(description),
                                                    cuda::emulator::load_ptx, &driver)
                  .text,
              "");
    cuda::DriverTable table = driver->table();
    change(table);
    auto device = SharedDevice::create(
        table, std::shared_ptr<cuda::emulator::EmulatedDriver>(std::move(driver)), options);
    ASSERT_TRUE(device.is_ok()) << device.status().message();
    device_ = std::move(device).value();
    ASSERT_EQ(device_->join(), CuResult::kSuccess);
  }
  void stop() { device_.reset(); }
  ~EmulatedGuests() override { stop(); }
  /// What a test puts in the place of functions of the driver.
  virtual void change(cuda::DriverTable& /*table*/) {}

  std::unique_ptr<SharedDevice> device_;
};

}  // namespace sluice::guest
