// A CUDA program without a CUDA toolkit: it declares what it calls of the runtime, and registers a
// fat binary that it makes itself, as nvcc would.
//   by_hand MODE
//   by_hand reply|stay NUMBER    as a function
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "tests/e2e/guest/runtime_calls.h"

namespace {

constexpr int kToDevice = 1;
constexpr int kToHost = 2;

/// Thread i adds `n` to the word i at `to`.
constexpr char kText[] = R"(.version 7.8
.target sm_75
.address_size 64
.visible .entry add(.param .u64 to, .param .u32 n) {
  .reg .b32 %r<6>;
  .reg .b64 %rd<4>;
  ld.param.u64 %rd1, [to];
  ld.param.u32 %r1, [n];
  mov.u32 %r2, %tid.x;
  mul.wide.u32 %rd2, %r2, 4;
  add.s64 %rd3, %rd1, %rd2;
  ld.global.u32 %r3, [%rd3];
  add.s32 %r4, %r3, %r1;
  st.global.u32 [%rd3], %r4;
  ret;
}
)";

constexpr std::size_t kVariableBytes = 8 << 20;

/// A kernel that does nothing, beside a variable.
constexpr char kVariableText[] = R"(.version 7.8
.target sm_75
.address_size 64
.global .align 4 .b8 big[8388608];
.visible .entry rest() {
  ret;
}
)";

/// Kernels that end the context.
constexpr char kHostileText[] = R"(.version 7.8
.target sm_75
.address_size 64
.visible .entry endless() {
L:
  bra L;
}
.visible .entry trapped() {
  trap;
}
.visible .entry reads(.param .u64 from) {
  .reg .b32 %r<2>;
  .reg .b64 %rd<2>;
  ld.param.u64 %rd1, [from];
  ld.global.u32 %r1, [%rd1];
  st.global.u32 [%rd1], %r1;
  ret;
}
)";

struct Wrapper {
  int magic = 0x466243b1;
  int version = 1;
  const void* data = nullptr;
  const void* prelinked = nullptr;
};

template <typename T>
void append(std::string& to, T value) {
  to.append(reinterpret_cast<const char*>(&value), sizeof(value));
}

std::string make_fatbin(std::string text) {
  text.push_back('\0');
  text.resize((text.size() + 7) / 8 * 8);
  std::string entry;
  append<std::uint16_t>(entry, 1);       // PTX
  append<std::uint16_t>(entry, 0x0101);  // version
  append<std::uint32_t>(entry, 64);      // bytes of this header
  append<std::uint64_t>(entry, text.size());
  append<std::uint64_t>(entry, 0);
  append<std::uint16_t>(entry, 8);  // of PTX 7.8
  append<std::uint16_t>(entry, 7);
  append<std::uint32_t>(entry, 75);  // compute_75
  append<std::uint64_t>(entry, 0);
  append<std::uint64_t>(entry, 0x11);  // for Linux, addresses of 64 bits
  entry.resize(64);
  std::string fatbin;
  append<std::uint32_t>(fatbin, 0xBA55ED50);
  append<std::uint16_t>(fatbin, 1);
  append<std::uint16_t>(fatbin, 16);
  append<std::uint64_t>(fatbin, entry.size() + text.size());
  return fatbin + entry + text;
}

const char kHostAdd = 0;      // its address stands for the kernel
const char kHostMissing = 0;  // of a kernel that the code does not have
const char kHostRest = 0;
const char kHostDamaged = 0;  // of code that is none
const char kHostEndless = 0;
const char kHostTrapped = 0;
const char kHostReads = 0;
char host_big = 0;  // its address stands for the variable

void register_function(void** binary, const char* host, const char* name) {
  __cudaRegisterFunction(binary, host, nullptr, name, -1, nullptr, nullptr, nullptr, nullptr,
                         nullptr);
}

void register_code() {
  static const std::string kAdd = make_fatbin(kText);
  static const Wrapper kAddWrapper = {.data = kAdd.data()};
  void** const add = __cudaRegisterFatBinary(&kAddWrapper);
  register_function(add, &kHostAdd, "add");
  register_function(add, &kHostMissing, "missing");

  static const std::string kVariable = make_fatbin(kVariableText);
  static const Wrapper kVariableWrapper = {.data = kVariable.data()};
  void** const variable = __cudaRegisterFatBinary(&kVariableWrapper);
  register_function(variable, &kHostRest, "rest");
  __cudaRegisterVar(variable, &host_big, nullptr, "big", 0, kVariableBytes, 0, 0);

  static const std::string kHostile = make_fatbin(kHostileText);
  static const Wrapper kHostileWrapper = {.data = kHostile.data()};
  void** const hostile = __cudaRegisterFatBinary(&kHostileWrapper);
  register_function(hostile, &kHostEndless, "endless");
  register_function(hostile, &kHostTrapped, "trapped");
  register_function(hostile, &kHostReads, "reads");

  static constexpr char kNoCode[] = "these words are no fat binary";
  static const std::array<const void*, 2> kPrelinked = {kNoCode, nullptr};
  static const Wrapper kDamagedWrapper = {
      .version = 2, .data = kAdd.data(), .prelinked = kPrelinked.data()};
  register_function(__cudaRegisterFatBinary(&kDamagedWrapper), &kHostDamaged, "add");
}

int launch_add(void* to, unsigned n, unsigned threads, void* stream = nullptr) {
  std::array<void*, 2> arguments = {&to, &n};
  return cudaLaunchKernel(&kHostAdd, {1, 1, 1}, {threads, 1, 1}, arguments.data(), 0, stream);
}

int launch_without_arguments(const void* host) {
  return cudaLaunchKernel(host, {1, 1, 1}, {1, 1, 1}, nullptr, 0, nullptr);
}

/// Prints a case whose error is not the one expected.
bool is_error(const char* what, int got, const char* want) {
  if (std::string(cudaGetErrorName(got)) == want) return true;
  std::printf("%s: %s, not %s\n", what, cudaGetErrorName(got), want);
  return false;
}

void* allocate(std::size_t bytes) {
  void* memory = nullptr;
  return cudaMalloc(&memory, bytes) == 0 ? memory : nullptr;
}

/// `rounds` times the same: bytes there, a kernel, bytes back.
bool compute(int rounds) {
  constexpr unsigned kCount = 64;
  std::vector<unsigned> values(kCount);
  void* const memory = allocate(kCount * 4);
  for (unsigned i = 0; i < kCount; ++i) values[i] = i;
  if (memory == nullptr || cudaMemcpy(memory, values.data(), kCount * 4, kToDevice) != 0)
    return false;
  for (int i = 0; i < rounds; ++i) launch_add(memory, 3, kCount);
  if (cudaMemcpy(values.data(), memory, kCount * 4, kToHost) != 0) return false;
  for (unsigned i = 0; i < kCount; ++i) {
    if (values[i] != i + 3 * static_cast<unsigned>(rounds)) return false;
  }
  return cudaFree(memory) == 0;
}

bool adds() { return compute(5); }

/// Copies longer than a piece, there and back.
bool copies() {
  std::vector<unsigned> values(3'000'001);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<unsigned>(i * 7);
  std::vector<unsigned> back(values.size());
  void* const memory = allocate(values.size() * 4);
  return cudaMemcpy(memory, values.data(), values.size() * 4, kToDevice) == 0 &&
         cudaMemcpy(back.data(), memory, values.size() * 4, kToHost) == 0 && back == values;
}

/// Memory that a guest gets for the first time holds zeros, whoever had it before.
bool finds_zeros() {
  std::vector<unsigned> values(1 << 16, 1);
  void* const memory = allocate(values.size() * 4);
  if (cudaMemcpy(values.data(), memory, values.size() * 4, kToHost) != 0) return false;
  for (const unsigned value : values) {
    if (value != 0) return false;
  }
  return cudaMemset(memory, 0xa5, values.size() * 4) == 0 && cudaFree(memory) == 0;
}

/// Handles, addresses and sizes that are not the guest's.
bool meets_errors() {
  void* const memory = allocate(64);
  std::array<std::byte, 128> bytes = {};
  auto* const stranger = reinterpret_cast<void*>(0x70f000000000);  // NOLINT
  auto* const handle = reinterpret_cast<void*>(0x12345);           // NOLINT
  bool is_right = is_error("a copy past the end", cudaMemcpy(memory, bytes.data(), 65, kToDevice),
                           "cudaErrorInvalidValue");
  is_right &= is_error("a copy of foreign memory", cudaMemcpy(bytes.data(), stranger, 4, kToHost),
                       "cudaErrorInvalidValue");
  is_right &=
      is_error("a fill of foreign memory", cudaMemset(stranger, 0, 4), "cudaErrorInvalidValue");
  is_right &= is_error("a free of foreign memory", cudaFree(stranger), "cudaErrorInvalidValue");
  is_right &= is_error("a wait for a wrong stream", cudaStreamSynchronize(handle),
                       "cudaErrorInvalidResourceHandle");
  is_right &= is_error("a wrong direction", cudaMemcpy(memory, bytes.data(), 4, 9),
                       "cudaErrorInvalidMemcpyDirection");
  cudaGetLastError();
  int told = cudaEventRecord(handle, nullptr);  // now or later
  if (told == 0) told = cudaDeviceSynchronize();
  is_right &= is_error("a wrong event", told, "cudaErrorInvalidResourceHandle");
  cudaGetLastError();
  is_right &= is_error("a kernel that is missing", launch_without_arguments(&kHostMissing),
                       "cudaErrorSymbolNotFound");
  is_right &= is_error("a kernel of code that is none", launch_without_arguments(&kHostDamaged),
                       "cudaErrorInvalidKernelImage");
  is_right &=
      is_error("no kernel", launch_without_arguments(&bytes), "cudaErrorInvalidDeviceFunction");
  is_right &= is_error("a block without threads", launch_add(memory, 1, 0),
                       "cudaErrorInvalidConfiguration");
  is_right &= is_error("a block of 2000 threads", launch_add(memory, 1, 2000),
                       "cudaErrorInvalidConfiguration");
  is_right &= is_error("the last error", cudaGetLastError(), "cudaErrorInvalidConfiguration");
  is_right &= is_error("the last error, taken", cudaGetLastError(), "cudaSuccess");
  return is_right && compute(2);  // it goes on
}

/// An earlier error neither loses what a call makes nor keeps code from the device.
bool goes_on_behind_an_error() {
  constexpr unsigned kCount = 4;
  std::array<unsigned, kCount> values = {};
  auto* const handle = reinterpret_cast<void*>(0x12345);  // NOLINT
  int told = cudaEventRecord(handle, nullptr);            // now or later
  void* memory = nullptr;
  bool is_right = is_error("an allocation", cudaMalloc(&memory, sizeof(values)), "cudaSuccess");
  if (told == 0) told = cudaDeviceSynchronize();
  is_right &= is_error("a wrong event", told, "cudaErrorInvalidResourceHandle");
  is_right &= is_error("a fill", cudaMemset(memory, 0, sizeof(values)), "cudaSuccess");
  cudaEventRecord(handle, nullptr);
  for (int i = 0; i < 2; ++i) launch_add(memory, 1, kCount);
  cudaDeviceSynchronize();
  is_right &=
      is_error("a copy", cudaMemcpy(values.data(), memory, sizeof(values), kToHost), "cudaSuccess");
  for (const unsigned value : values) {
    if (value == 2) continue;
    std::printf("a word: %u, not 2\n", value);
    is_right = false;
  }
  return is_right;
}

/// Memory of variables is within the quota.
bool counts_variables() {
  std::size_t free = 0;
  std::size_t total = 0;
  std::size_t free_behind = 0;
  cudaMemGetInfo(&free, &total);
  const int error = launch_without_arguments(&kHostRest);
  cudaMemGetInfo(&free_behind, &total);
  if (total < kVariableBytes) {
    return is_error("code beyond the quota", error, "cudaErrorMemoryAllocation") &&
           free == free_behind;
  }
  return is_error("code with a variable", error, "cudaSuccess") &&
         free - free_behind == kVariableBytes;
}

/// Whether a kernel that was launched has ended the context with the error `name`.
bool has_lost_the_device(const char* name) {
  void* memory = nullptr;
  return is_error("a wait behind it", cudaDeviceSynchronize(), name) &&
         is_error("a call behind it", cudaMalloc(&memory, 4), name);
}

/// The kernel writes where nothing is.
bool meets_a_fault() {
  launch_add(reinterpret_cast<void*>(16), 1, 4);  // NOLINT
  return has_lost_the_device("cudaErrorIllegalAddress");
}

bool meets_a_wrong_read() {
  void* from = static_cast<char*>(allocate(64)) + (std::size_t{1} << 40);
  std::array<void*, 1> arguments = {&from};
  cudaLaunchKernel(&kHostReads, {1, 1, 1}, {1, 1, 1}, arguments.data(), 0, nullptr);
  return has_lost_the_device("cudaErrorIllegalAddress");
}

bool meets_a_trap() {
  launch_without_arguments(&kHostTrapped);
  return has_lost_the_device("cudaErrorLaunchFailure");
}

bool meets_the_limit_of_instructions() {
  launch_without_arguments(&kHostEndless);
  return has_lost_the_device("cudaErrorLaunchTimeout");
}

/// More than a device takes; it goes on.
bool launches_too_much() {
  constexpr int kMaxDynamicSharedBytes = 8;
  constexpr int kGib = 1 << 30;
  void* memory = allocate(64);
  unsigned n = 1;
  std::array<void*, 2> arguments = {&memory, &n};
  bool is_right = true;
  for (const Dim3 grid : {Dim3{0x80000000, 1, 1}, Dim3{1, 65536, 1}, Dim3{1, 1, 65536}}) {
    is_right &= is_error("a large grid",
                         cudaLaunchKernel(&kHostAdd, grid, {1, 1, 1}, arguments.data(), 0, nullptr),
                         "cudaErrorInvalidConfiguration");
  }
  const int shared =
      cudaLaunchKernel(&kHostAdd, {1, 1, 1}, {1, 1, 1}, arguments.data(), kGib, nullptr);
  is_right &= is_error("much shared memory", shared, "cudaErrorInvalidValue");
  is_right &=
      is_error("an attribute", cudaFuncSetAttribute(&kHostAdd, kMaxDynamicSharedBytes, kGib),
               "cudaErrorInvalidValue");
  cudaGetLastError();
  return is_right && compute(2);
}

/// Two streams, each of whose launches waits for the last one of the other.
bool chains_streams() {
  constexpr unsigned kLinks = 500;
  std::array<void*, 2> streams = {};
  std::array<void*, 2> events = {};
  for (int i : {0, 1}) {
    if (cudaStreamCreate(&streams[i]) != 0 || cudaEventCreate(&events[i]) != 0) return false;
  }
  unsigned word = 0;
  void* const memory = allocate(sizeof(word));
  if (cudaMemset(memory, 0, sizeof(word)) != 0) return false;
  for (unsigned i = 0; i < kLinks; ++i) {
    const unsigned at = i % 2;
    launch_add(memory, 1, 1, streams[at]);
    cudaEventRecord(events[at], streams[at]);
    cudaStreamWaitEvent(streams[at], events[at], 0);  // its own
    cudaStreamWaitEvent(streams[1 - at], events[at], 0);
  }
  return cudaMemcpy(&word, memory, sizeof(word), kToHost) == 0 && word == kLinks;
}

bool fails_in_a_fork() {
  void* const memory = allocate(64);
  const pid_t child = fork();
  if (child == 0) {
    void* other = nullptr;
    _exit(is_error("a child's call", cudaMalloc(&other, 4), "cudaErrorInitializationError") ? 0
                                                                                            : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return status == 0 && cudaFree(memory) == 0 && compute(1);
}

/// Prints how many MiB the device gives, and whether its figures fit.
bool fills_memory() {
  constexpr std::size_t kMib = 1 << 20;
  std::size_t free = 0;
  std::size_t total = 0;
  cudaMemGetInfo(&free, &total);
  std::vector<void*> all;
  while (void* const memory = allocate(kMib)) all.push_back(memory);
  const bool is_right = is_error("the next one", cudaGetLastError(), "cudaErrorMemoryAllocation");
  std::printf("%zu MiB of %zu\n", all.size(), total / kMib);
  for (void* const memory : all) cudaFree(memory);
  std::size_t free_again = 0;
  cudaMemGetInfo(&free_again, &total);
  return is_right && free == free_again && free / kMib == all.size();
}

/// Holds memory, streams, a capture and work that has not run, until it is killed.
bool holds() {
  void* stream = nullptr;
  void* captured = nullptr;
  void* const memory = allocate(8 << 20);
  cudaStreamCreate(&stream);
  cudaStreamCreate(&captured);
  cudaStreamBeginCapture(captured, 0);
  launch_add(memory, 1, 64, stream);
  launch_add(memory, 1, 64, captured);
  std::printf("held\n");
  std::fflush(stdout);
  while (true) pause();
}

/// Calls without pause until it is killed.
bool floods() {
  void* const memory = allocate(1 << 20);
  std::vector<std::byte> bytes(1 << 20);
  std::printf("held\n");
  std::fflush(stdout);
  while (true) {
    cudaMemcpyAsync(memory, bytes.data(), bytes.size(), kToDevice, nullptr);
    launch_add(memory, 1, 32);
  }
}

/// Prints the bytes that are free.
bool prints_free_bytes() {
  std::size_t free = 0;
  std::size_t total = 0;
  if (cudaMemGetInfo(&free, &total) != 0) return false;
  std::printf("free %zu of %zu\n", free, total);
  return true;
}

/// Calls until one fails; whether that is `name`, and so is the next.
bool works_until(const char* name) {
  void* memory = allocate(64);
  std::printf("held\n");
  std::fflush(stdout);
  int error = 0;
  while (error == 0) error = cudaDeviceSynchronize();
  return is_error("a wait", error, name) && is_error("a call", cudaMalloc(&memory, 4), name);
}

bool outlives_its_proxy() { return works_until("cudaErrorDevicesUnavailable"); }

/// Its memory of the calls is still mapped.
bool closes_its_files() {
  if (allocate(8 << 20) == nullptr) return false;
  close_range(3, ~0U, 0);
  return works_until("cudaErrorDevicesUnavailable");
}

/// Becomes another program, which is another guest.
bool becomes_another() {
  if (allocate(8 << 20) == nullptr) return false;
  execl("/proc/self/exe", "by_hand", "adds", nullptr);
  return false;
}

/// Offers words of its memory to other guests, until it is killed.
bool gives_memory() {
  constexpr unsigned kCount = 64;
  std::array<unsigned, kCount> values = {};
  values.fill(40);
  void* const memory = allocate(sizeof(values));
  IpcHandle handle = {};
  if (cudaMemcpy(memory, values.data(), sizeof(values), kToDevice) != 0 ||
      cudaIpcGetMemHandle(&handle, memory) != 0) {
    return false;
  }
  std::printf("held\n%.64s\n", handle.bytes);
  std::fflush(stdout);
  while (true) pause();
}

/// Adds to the words that another guest offers by a handle, a line of the input. Its second line
/// comes when that guest has ended.
bool takes_memory() {
  constexpr unsigned kCount = 64;
  std::array<unsigned, kCount> values = {};
  std::array<char, 80> line = {};
  IpcHandle handle = {};
  if (std::fgets(line.data(), line.size(), stdin) == nullptr) return false;
  std::memcpy(handle.bytes, line.data(), std::strcspn(line.data(), "\n"));
  void* memory = nullptr;
  IpcHandle wrong = handle;
  wrong.bytes[0] = '!';
  bool is_right = is_error("a wrong handle", cudaIpcOpenMemHandle(&memory, wrong, 1),
                           "cudaErrorInvalidResourceHandle") &&
                  is_error("the handle", cudaIpcOpenMemHandle(&memory, handle, 1), "cudaSuccess");
  if (!is_right || launch_add(memory, 2, kCount) != 0 || cudaDeviceSynchronize() != 0) return false;
  std::printf("added\n");
  std::fflush(stdout);
  if (std::fgets(line.data(), line.size(), stdin) == nullptr) return false;
  is_right = cudaMemcpy(values.data(), memory, sizeof(values), kToHost) == 0;
  for (const unsigned value : values) is_right &= value == 42;
  is_right &= is_error("a free", cudaFree(memory), "cudaErrorInvalidValue");
  is_right &= is_error("a close", cudaIpcCloseMemHandle(memory), "cudaSuccess");
  return is_right && is_error("a copy behind it", cudaMemcpy(memory, values.data(), 4, kToDevice),
                              "cudaErrorInvalidValue");
}

bool meets_the_fault_of_a_neighbour() { return works_until("cudaErrorIllegalAddress"); }

bool meets_the_limit_of_a_neighbour() { return works_until("cudaErrorLaunchTimeout"); }

bool finds_no_device() {
  int count = -1;
  return is_error("the count", cudaGetDeviceCount(&count), "cudaErrorNoDevice") && count == 0;
}

std::string read_input(std::size_t most) {
  std::string text(most, '\0');
  text.resize(std::fread(text.data(), 1, most, stdin));
  return text;
}

/// Adds `n`, on the device, to the words of `text`, at most 64.
bool add_to(std::string& text, unsigned n) {
  const auto count = static_cast<unsigned>(text.size() / 4);
  if (count == 0 || count > 64) return false;
  void* const memory = allocate(text.size());
  return memory != nullptr && cudaMemcpy(memory, text.data(), text.size(), kToDevice) == 0 &&
         launch_add(memory, n, count) == 0 &&
         cudaMemcpy(text.data(), memory, text.size(), kToHost) == 0 && cudaFree(memory) == 0;
}

/// Its input is a request, its output the reply.
bool replies(unsigned n) {
  std::string text = read_input(1 << 20);
  return add_to(text, n) && std::fwrite(text.data(), 1, text.size(), stdout) == text.size();
}

/// Requests and replies stand behind their lengths. Each adds one more than the one before.
bool stays(unsigned n) {
  std::uint64_t length = 0;
  while (std::fread(&length, 1, sizeof(length), stdin) == sizeof(length)) {
    std::string text = read_input(length);
    if (text.size() != length || !add_to(text, n++)) return false;
    std::fwrite(&length, 1, sizeof(length), stdout);
    std::fwrite(text.data(), 1, text.size(), stdout);
    std::fflush(stdout);
  }
  return true;
}

/// Prints nothing else: the output is the function's.
bool serve(const std::string& mode, unsigned n) {
  register_code();
  return mode == "stay" ? stays(n) : mode == "reply" && replies(n);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 3) return serve(argv[1], static_cast<unsigned>(std::atoi(argv[2]))) ? 0 : 1;
  const std::map<std::string, std::function<bool()>> modes = {
      {"adds", adds},
      {"copies", copies},
      {"zeros", finds_zeros},
      {"errors", meets_errors},
      {"late", goes_on_behind_an_error},
      {"variables", counts_variables},
      {"fault", meets_a_fault},
      {"read", meets_a_wrong_read},
      {"trap", meets_a_trap},
      {"endless", meets_the_limit_of_instructions},
      {"much", launches_too_much},
      {"chain", chains_streams},
      {"fork", fails_in_a_fork},
      {"fill", fills_memory},
      {"hold", holds},
      {"flood", floods},
      {"free", prints_free_bytes},
      {"neighbour", meets_the_fault_of_a_neighbour},
      {"neighbour-of-endless", meets_the_limit_of_a_neighbour},
      {"outlive", outlives_its_proxy},
      {"no-device", finds_no_device},
      {"close", closes_its_files},
      {"exec", becomes_another},
      {"give", gives_memory},
      {"take", takes_memory},
  };
  const auto mode = modes.find(argc == 2 ? argv[1] : "");
  if (mode == modes.end()) return 2;
  register_code();
  const bool is_right = mode->second();
  std::printf(is_right ? "right\n" : "wrong\n");
  return is_right ? 0 : 1;
}
