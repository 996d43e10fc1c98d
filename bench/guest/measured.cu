// A program whose calls beside_processes.py measures, run as a guest and as a process of its own.
//
//   measured calls ROUNDS MIB              a line per kind of call: name, median, 9th decile in us
//   measured start                         a line once the first kernel's result is there
//   measured hold MIB                      holds that much memory until its standard input ends
//   measured fault address|trap|assert     launches a kernel that ends its context
//   measured copies in|out BYTES COUNT [PRIORITY]    median, 99th percentile and most us of a copy
//   measured flood in|out BYTES [PRIORITY]           copies until its input ends; the bytes per us
//
// `copies` and `flood` say "ready" first and wait for a line. Host memory is pinned for copies, and
// PRIORITY that of their stream.
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cassert>
#include <chrono>
#include <cstring>
#include <functional>
#include <string>

#include "check.cuh"

__global__ void add(unsigned* to, unsigned value) { to[threadIdx.x] += value; }

__global__ void stop_by_trap() { asm volatile("trap;"); }

__global__ void stop_by_assert(int condition) { assert(condition); }

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kMib = std::size_t{1} << 20;

double microseconds_since(Clock::time_point start) {
  return std::chrono::duration<double, std::micro>(Clock::now() - start).count();
}

double quantile(std::vector<double>& values, double share) {
  std::sort(values.begin(), values.end());
  return values[static_cast<std::size_t>(static_cast<double>(values.size() - 1) * share)];
}

void* allocate(std::size_t bytes) {
  void* memory = nullptr;
  CHECK(cudaMalloc(&memory, bytes));
  return memory;
}

void* allocate_pinned(std::size_t bytes) {
  void* memory = nullptr;
  CHECK(cudaMallocHost(&memory, bytes));
  std::memset(memory, 1, bytes);
  return memory;
}

void launch(unsigned* memory, cudaStream_t stream) { add<<<1, 32, 0, stream>>>(memory, 1); }

/// Its time is that of `calls` calls, and of the wait behind them if `is_with_wait`.
struct Kind {
  const char* name;
  int calls;
  bool is_with_wait;
  std::function<void()> call;
  std::vector<double> times = {};
};

void measure(Kind& kind) {
  const auto start = Clock::now();
  for (int i = 0; i < kind.calls; ++i) kind.call();
  if (kind.is_with_wait) CHECK(cudaDeviceSynchronize());
  kind.times.push_back(microseconds_since(start) / kind.calls);
  CHECK(cudaDeviceSynchronize());
}

std::vector<Kind> kinds_of_calls(unsigned* memory, cudaStream_t stream, cudaEvent_t event) {
  return {
      {"launch, not waited for", 200, false, [=] { launch(memory, stream); }},
      {"launch, 1000 and a wait", 1000, true, [=] { launch(memory, stream); }},
      {"launch and a wait", 50, false,
       [=] {
         launch(memory, stream);
         CHECK(cudaStreamSynchronize(stream));
       }},
      {"fill of 4 bytes, not waited for", 200, false,
       [=] { CHECK(cudaMemsetAsync(memory, 1, 4, stream)); }},
      {"record of an event, not waited for", 200, false,
       [=] { CHECK(cudaEventRecord(event, stream)); }},
      {"memory info", 100, false,
       [] {
         std::size_t free = 0;
         std::size_t total = 0;
         CHECK(cudaMemGetInfo(&free, &total));
       }},
      {"query of an idle stream", 100, false, [=] { CHECK(cudaStreamQuery(stream)); }},
      {"allocation and free", 20, false, [] { CHECK(cudaFree(allocate(kMib))); }},
      {"allocation and free in a stream's order", 20, false,
       [=] {
         void* made = nullptr;
         CHECK(cudaMallocAsync(&made, kMib, stream));
         CHECK(cudaFreeAsync(made, stream));
       }},
      {"stream, made and destroyed", 20, false,
       [] {
         cudaStream_t made = nullptr;
         CHECK(cudaStreamCreate(&made));
         CHECK(cudaStreamDestroy(made));
       }},
  };
}

/// A graph of 20 launches, as models have them.
Kind graph_launch(unsigned* memory, cudaStream_t stream) {
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t exec = nullptr;
  CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  for (int i = 0; i < 20; ++i) launch(memory, stream);
  CHECK(cudaStreamEndCapture(stream, &graph));
  CHECK(cudaGraphInstantiate(&exec, graph, 0));
  return {"graph of 20 launches, and a wait", 20, false, [=] {
            CHECK(cudaGraphLaunch(exec, stream));
            CHECK(cudaStreamSynchronize(stream));
          }};
}

void add_copies(std::vector<Kind>& kinds, std::size_t mib) {
  static const std::string kLong = std::to_string(mib) + " MiB";
  static const std::vector<std::string> kNames = {"copy of 4 KiB in",
                                                  "copy of 4 KiB out",
                                                  "copy of " + kLong + " in",
                                                  "copy of " + kLong + " out",
                                                  "copy of " + kLong + " in, pageable",
                                                  "copy of " + kLong + " out, pageable"};
  static std::vector<char> pageable(mib * kMib, 1);
  void* const pinned = allocate_pinned(mib * kMib);
  void* const memory = allocate(mib * kMib);
  const auto copy = [memory](void* host, std::size_t bytes, bool is_in) {
    if (is_in) CHECK(cudaMemcpy(memory, host, bytes, cudaMemcpyHostToDevice));
    if (!is_in) CHECK(cudaMemcpy(host, memory, bytes, cudaMemcpyDeviceToHost));
  };
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    void* const host = i < 4 ? pinned : pageable.data();
    const std::size_t bytes = i < 2 ? 4096 : mib * kMib;
    const bool is_in = i % 2 == 0;
    kinds.push_back({kNames[i].c_str(), i < 2 ? 20 : 1, true, [=] { copy(host, bytes, is_in); }});
  }
}

int measure_calls(int rounds, std::size_t mib) {
  auto* const memory = static_cast<unsigned*>(allocate(kMib));
  cudaStream_t stream = nullptr;
  cudaEvent_t event = nullptr;
  CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  CHECK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
  std::vector<Kind> kinds = kinds_of_calls(memory, stream, event);
  kinds.push_back(graph_launch(memory, stream));
  add_copies(kinds, mib);
  for (int round = -1; round < rounds; ++round) {
    for (Kind& kind : kinds) measure(kind);
    if (round < 0) {
      for (Kind& kind : kinds) kind.times.clear();
    }
  }
  for (Kind& kind : kinds) {
    std::printf("%s\t%.3f\t%.3f\n", kind.name, quantile(kind.times, 0.5),
                quantile(kind.times, 0.9));
  }
  return 0;
}

int say_first_result() {
  auto* const memory = static_cast<unsigned*>(allocate(32 * sizeof(unsigned)));
  CHECK(cudaMemset(memory, 0, 32 * sizeof(unsigned)));
  add<<<1, 32>>>(memory, 42);
  unsigned result = 0;
  CHECK(cudaMemcpy(&result, memory, sizeof(result), cudaMemcpyDeviceToHost));
  std::printf("result %u\n", result);
  std::fflush(stdout);
  return result == 42 ? 0 : 1;
}

int meet_a_fault(const std::string& which) {
  if (which == "address") add<<<1, 32>>>(reinterpret_cast<unsigned*>(16), 42);
  if (which == "trap") stop_by_trap<<<1, 1>>>();
  if (which == "assert") stop_by_assert<<<1, 1>>>(0);
  CHECK(cudaDeviceSynchronize());
  return 0;
}

bool has_ended_input() {
  pollfd asked = {0, POLLIN, 0};
  char byte = 0;
  return poll(&asked, 1, 0) > 0 && read(0, &byte, 1) <= 0;
}

void wait_for_a_byte() {
  std::printf("ready\n");
  std::fflush(stdout);
  char byte = 0;
  if (read(0, &byte, 1) != 1) std::exit(1);
}

int hold(std::size_t mib) {
  auto* const memory = static_cast<unsigned*>(allocate(mib * kMib));
  CHECK(cudaMemset(memory, 0, mib * kMib));
  add<<<1, 32>>>(memory, 42);
  CHECK(cudaDeviceSynchronize());
  std::printf("ready\n");
  std::fflush(stdout);
  char byte = 0;
  while (read(0, &byte, 1) > 0) {
  }
  return 0;
}

/// Copies one way, in a stream of its own, and waits for each.
class Copying {
 public:
  Copying(const std::string& direction, std::size_t bytes, int priority)
      : bytes_(bytes),
        is_in_(direction == "in"),
        host_(allocate_pinned(bytes)),
        memory_(allocate(bytes)) {
    CHECK(cudaStreamCreateWithPriority(&stream_, cudaStreamNonBlocking, priority));
    for (int i = 0; i < 3; ++i) copy();
  }
  double copy() {
    const auto start = Clock::now();
    const auto kind = is_in_ ? cudaMemcpyHostToDevice : cudaMemcpyDeviceToHost;
    CHECK(
        cudaMemcpyAsync(is_in_ ? memory_ : host_, is_in_ ? host_ : memory_, bytes_, kind, stream_));
    CHECK(cudaStreamSynchronize(stream_));
    return microseconds_since(start);
  }

 private:
  std::size_t bytes_;
  bool is_in_;
  void* host_;
  void* memory_;
  cudaStream_t stream_ = nullptr;
};

int measure_copies(Copying copying, int count) {
  wait_for_a_byte();
  std::vector<double> times;
  for (int i = 0; i < count; ++i) times.push_back(copying.copy());
  std::printf("%.3f\t%.3f\t%.3f\n", quantile(times, 0.5), quantile(times, 0.99),
              quantile(times, 1));
  return 0;
}

int flood(Copying copying, std::size_t bytes) {
  wait_for_a_byte();
  const auto start = Clock::now();
  std::size_t copied = 0;
  while (!has_ended_input()) {
    copying.copy();
    copied += bytes;
  }
  std::printf("%.3f\n", static_cast<double>(copied) / microseconds_since(start));
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  const std::string mode = words.empty() ? "" : words[0];
  const auto number = [&](std::size_t i) { return std::stoull(words.at(i)); };
  const auto priority = [&](std::size_t i) { return words.size() > i ? std::stoi(words[i]) : 0; };
  if (mode == "calls") return measure_calls(static_cast<int>(number(1)), number(2));
  if (mode == "start") return say_first_result();
  if (mode == "fault") return meet_a_fault(words.at(1));
  if (mode == "hold") return hold(number(1));
  if (mode == "copies") {
    return measure_copies(Copying(words.at(1), number(2), priority(4)),
                          static_cast<int>(number(3)));
  }
  if (mode == "flood") return flood(Copying(words.at(1), number(2), priority(3)), number(2));
  return 2;
}
