// Uses any bytes as the ring of a hostile guest: a proxy on the emulator takes the calls and
// carries them out, then the guest ends. Afterwards the device has all of its memory.
//
// The first bytes say where the ring ends; the rest are its records.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <span>
#include <utility>

#include "emulator/emulated_driver.h"
#include "emulator/ptx_code.h"
#include "guest/proxy/guest.h"
#include "guest/wire/call_ring.h"
#include "shm/shared_memory.h"

namespace {

using namespace sluice::guest;  // NOLINT(google-build-using-namespace)
using sluice::cuda::CuResult;
using sluice::cuda::emulator::EmulatedDriver;

constexpr int kMaxCalls = 200;

std::unique_ptr<SharedDevice> make_device() {
  std::unique_ptr<EmulatedDriver> driver;
  sluice::cuda::emulator::Description description;
  description.devices.front().memory_bytes = std::int64_t{64} << 20;
  description.max_instructions = 1 << 16;  // an endless kernel of a guest ends soon
  if (!EmulatedDriver::start(std::move(description), sluice::cuda::emulator::load_ptx, &driver)
           .is_ok())
    std::abort();
  const sluice::cuda::DriverTable table = driver->table();
  auto device = SharedDevice::create(table, std::shared_ptr<EmulatedDriver>(std::move(driver)));
  if (!device.is_ok()) std::abort();
  return std::move(device).value();
}

void check_all_is_back(SharedDevice& device) {
  if (device.join() != CuResult::kSuccess) std::abort();
  std::size_t free = 0;
  std::size_t total = 0;
  if (device.driver().mem_get_info(&free, &total) != CuResult::kSuccess || free != total)
    std::abort();
}

void carry_out(SharedDevice& device, CallReceiver& calls) {
  Guest guest(device, {.memory_bytes = std::uint64_t{32} << 20}, {.may_list = true});
  if (guest.start() != CuResult::kSuccess) std::abort();
  Call call;
  for (int i = 0; i < kMaxCalls && calls.take(call) == CallReceiver::Take::kCall; ++i) {
    Answer answer;
    answer.room = calls.reply_room();
    (void)guest.handle(call, answer);
    if (answer.payload_bytes > answer.room.size()) std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static std::unique_ptr<SharedDevice> device = make_device();
  static const sluice::shm::SharedMemory kMemory =
      sluice::shm::SharedMemory::create(kSharedBytes).value();
  std::uint32_t tail = 0;
  if (size < sizeof(tail)) return 0;
  std::memcpy(&tail, data, sizeof(tail));
  const std::size_t bytes = std::min<std::size_t>(size - sizeof(tail), kCallBytes);
  const std::span<std::byte> memory = kMemory.memory();
  std::memset(memory.data(), 0, kControlBytes + bytes);
  CallReceiver calls(memory);
  std::memcpy(memory.data() + kControlBytes, data + sizeof(tail), bytes);
  reinterpret_cast<CallControl*>(memory.data())->tail.value = tail;
  if (device->join() != CuResult::kSuccess) std::abort();
  carry_out(*device, calls);
  if (!device->is_lost()) {
    check_all_is_back(*device);
    return 0;
  }
  // A fault ends a proxy's program; another emulated machine stands for the next one.
  device.reset();
  device = make_device();
  return 0;
}
