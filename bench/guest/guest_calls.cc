// What a forwarded call takes, beside the same call into the emulator in this process and a round
// trip over a socket.
//
//     sluice guest run --backend cuda-emulated build/release/bench/guest_calls
//
// The kinds take turns in every round; the figures are medians over the rounds, with the 9th
// decile.
#include <fmt/format.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "emulator/emulated_driver.h"
#include "emulator/ptx_code.h"

extern "C" {  // names and arguments of CUDA 13
int cudaMalloc(void** address, std::size_t bytes);
int cudaMemcpy(void* to, const void* from, std::size_t bytes, int kind);
int cudaMemsetAsync(void* to, int value, std::size_t bytes, void* stream);
int cudaStreamSynchronize(void* stream);
int cudaMemGetInfo(std::size_t* free, std::size_t* total);
}

namespace {

using sluice::cuda::CuResult;
using sluice::cuda::DriverTable;

constexpr int kRounds = 40;
constexpr std::size_t kMib = std::size_t{1} << 20;
constexpr int kToDevice = 1;
constexpr int kToHost = 2;

struct Kind {
  std::string name;
  int calls = 0;
  std::function<void()> call;
  std::function<void()> settle;  ///< outside of the time
  std::vector<double> microseconds;
};

void measure(Kind& kind) {
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < kind.calls; ++i) kind.call();
  const std::chrono::duration<double, std::micro> time = std::chrono::steady_clock::now() - start;
  kind.microseconds.push_back(time.count() / kind.calls);
  kind.settle();
}

/// A thread that sends every byte back.
class Echo {
 public:
  Echo() {
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends_.data()) != 0) std::abort();
    thread_ = std::thread([this] {
      std::array<char, 64> bytes = {};
      while (read(ends_[1], bytes.data(), bytes.size()) > 0) {
        if (write(ends_[1], bytes.data(), bytes.size()) < 0) return;
      }
    });
  }
  ~Echo() {
    shutdown(ends_[0], SHUT_RDWR);
    thread_.join();
  }
  void round_trip() const {
    std::array<char, 64> bytes = {};
    if (write(ends_[0], bytes.data(), bytes.size()) < 0) std::abort();
    if (read(ends_[0], bytes.data(), bytes.size()) < 0) std::abort();
  }

 private:
  std::array<int, 2> ends_ = {-1, -1};
  std::thread thread_;
};

void print(Kind& kind) {
  std::ranges::sort(kind.microseconds);
  const std::size_t count = kind.microseconds.size();
  fmt::print("{:<44} {:>9.2f} us  (9th decile {:.2f})\n", kind.name, kind.microseconds[count / 2],
             kind.microseconds[count * 9 / 10]);
}

/// The same memory twice: of the emulator here, and of the proxy.
struct Devices {
  DriverTable cu;
  sluice::cuda::CuDevicePointer own = 0;
  void* forwarded = nullptr;
  std::vector<std::byte> bytes = std::vector<std::byte>(kMib);

  bool open(const DriverTable& table) {
    cu = table;
    sluice::cuda::CuContext context = nullptr;
    return cu.device_primary_ctx_retain(&context, 0) == CuResult::kSuccess &&
           cu.ctx_set_current(context) == CuResult::kSuccess &&
           cu.mem_alloc(&own, kMib) == CuResult::kSuccess && cudaMalloc(&forwarded, kMib) == 0;
  }
};

std::vector<Kind> kinds_of_calls(Devices& d, const Echo& echo) {
  static std::size_t free = 0;
  static std::size_t total = 0;
  const auto own = [&d] { d.cu.stream_synchronize(nullptr); };
  const auto forwarded = [] { cudaStreamSynchronize(nullptr); };
  return {
      {"fill of 4 bytes, into the emulator",
       500,
       [&d] { d.cu.memset_d8_async(d.own, 1, 4, nullptr); },
       own,
       {}},
      {"fill of 4 bytes, forwarded, not waited for",
       500,
       [&d] { cudaMemsetAsync(d.forwarded, 1, 4, nullptr); },
       forwarded,
       {}},
      {"memory info, into the emulator", 500, [&d] { d.cu.mem_get_info(&free, &total); }, own, {}},
      {"memory info, forwarded, with its answer",
       500,
       [] { cudaMemGetInfo(&free, &total); },
       forwarded,
       {}},
      {"round trip of 64 bytes over a socket", 500, [&echo] { echo.round_trip(); }, [] {}, {}},
  };
}

std::vector<Kind> kinds_of_copies(Devices& d) {
  const auto own = [&d] { d.cu.stream_synchronize(nullptr); };
  const auto forwarded = [] { cudaStreamSynchronize(nullptr); };
  return {
      {"copy of 1 MiB there, into the emulator",
       4,
       [&d, own] {
         d.cu.memcpy_htod_async(d.own, d.bytes.data(), kMib, nullptr);
         own();
       },
       own,
       {}},
      {"copy of 1 MiB there, forwarded",
       4,
       [&d, forwarded] {
         cudaMemcpy(d.forwarded, d.bytes.data(), kMib, kToDevice);
         forwarded();
       },
       forwarded,
       {}},
      {"copy of 1 MiB back, into the emulator",
       4,
       [&d] { d.cu.memcpy_dtoh_async(d.bytes.data(), d.own, kMib, nullptr); },
       own,
       {}},
      {"copy of 1 MiB back, forwarded",
       4,
       [&d] { cudaMemcpy(d.bytes.data(), d.forwarded, kMib, kToHost); },
       forwarded,
       {}},
  };
}

}  // namespace

int main() {
  std::unique_ptr<sluice::cuda::emulator::EmulatedDriver> driver;
  const bool is_started =
      sluice::cuda::emulator::EmulatedDriver::start({}, sluice::cuda::emulator::load_ptx, &driver)
          .is_ok();
  Devices devices;
  if (!is_started || !devices.open(driver->table())) {
    fmt::print(stderr,
               "no device: start this program with `sluice guest run --backend cuda-emulated`\n");
    return 1;
  }
  const Echo echo;
  std::vector<Kind> kinds = kinds_of_calls(devices, echo);
  for (Kind& kind : kinds_of_copies(devices)) kinds.push_back(std::move(kind));
  for (int round = 0; round < kRounds; ++round) {
    for (Kind& kind : kinds) measure(kind);
  }
  for (Kind& kind : kinds) print(kind);
  return 0;
}
