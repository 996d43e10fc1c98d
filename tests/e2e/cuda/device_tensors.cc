// A program that has tensors in memory of a GPU, and gives them to a model by the C++ API.
//
//   device_tensors PACKAGE agrees | refuses | early
//
// PACKAGE runs on the backend `cuda` alone: y = Relu(x + z), s = x + z, all f32[4,16]. Opens
// libcuda.so.1, as the plug-in does; device_tensors.py puts the emulator in its place. `agrees` and
// `refuses` print what is wrong and exit 1. `early` starts a run before the bytes of x have come
// to the device, which sluice.h forbids, and prints whether it read the new ones.
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <string>
#include <vector>

#include "sluice/sluice.hpp"

namespace {

using Address = std::uint64_t;
using Numbers = std::vector<float>;

constexpr std::size_t kCount = 64;
constexpr std::int64_t kBytes = kCount * sizeof(float);
constexpr std::int64_t kDims[] = {4, 16};
constexpr std::int32_t kF32 = 1;

void require(bool holds, const std::string& what) {
  if (holds) return;
  std::printf("%s\n", what.c_str());
  std::exit(1);
}

void require(const std::optional<sluice::Error>& error) {
  if (error) require(false, error->message);
}

// ---- the driver, as a program beside Sluice uses it ----

struct Cuda {
  int (*init)(unsigned flags);
  int (*retain)(void** context, int device);
  int (*set_current)(void* context);
  int (*allocate)(Address* address, std::size_t bytes);
  int (*release)(Address address);
  int (*pin)(void** address, std::size_t bytes, unsigned flags);
  int (*to_device)(Address target, const void* source, std::size_t bytes, void* stream);
  int (*to_host)(void* target, Address source, std::size_t bytes, void* stream);
  int (*make_stream)(void** stream, unsigned flags, int priority);
  int (*wait)(void* stream);
};

Cuda cuda;
void* stream = nullptr;

void check(int result, const char* what) {
  require(result == 0, std::string(what) + ": CUDA answers " + std::to_string(result));
}

void use_device(int device) {
  void* context = nullptr;
  check(cuda.retain(&context, device), "opening a device");
  check(cuda.set_current(context), "using a device");
}

void open_driver() {
  void* const library = dlopen("libcuda.so.1", RTLD_NOW);
  require(library != nullptr, "no libcuda.so.1");
  using Find = int (*)(const char*, void**, int, std::uint64_t, int*);
  const auto find = reinterpret_cast<Find>(dlsym(library, "cuGetProcAddress_v2"));
  const auto bind = [&](const char* name, auto* function) {
    int found = 0;
    check(find(name, reinterpret_cast<void**>(function), 12050, 0, &found), name);
  };
  bind("cuInit", &cuda.init);
  bind("cuDevicePrimaryCtxRetain", &cuda.retain);
  bind("cuCtxSetCurrent", &cuda.set_current);
  bind("cuMemAlloc", &cuda.allocate);
  bind("cuMemFree", &cuda.release);
  bind("cuMemHostAlloc", &cuda.pin);
  bind("cuMemcpyHtoDAsync", &cuda.to_device);
  bind("cuMemcpyDtoHAsync", &cuda.to_host);
  bind("cuStreamCreateWithPriority", &cuda.make_stream);
  bind("cuStreamSynchronize", &cuda.wait);
  check(cuda.init(0), "starting");
  use_device(0);
  constexpr unsigned kNonBlocking = 1;
  check(cuda.make_stream(&stream, kNonBlocking, 0), "making a stream");
}

Address allocate() {
  Address address = 0;
  check(cuda.allocate(&address, kBytes), "allocating");
  return address;
}

Address upload(const Numbers& numbers) {
  const Address address = allocate();
  check(cuda.to_device(address, numbers.data(), kBytes, stream), "copying");
  check(cuda.wait(stream), "waiting");
  return address;
}

Numbers download(Address address) {
  Numbers numbers(kCount);
  check(cuda.to_host(numbers.data(), address, kBytes, stream), "copying");
  check(cuda.wait(stream), "waiting");
  return numbers;
}

// ---- the model ----

Numbers count_from(float first) {
  Numbers numbers(kCount);
  std::iota(numbers.begin(), numbers.end(), first);
  return numbers;
}

Numbers sum_of(const Numbers& x, const Numbers& z, bool is_cut) {
  Numbers sums(kCount);
  for (std::size_t i = 0; i < kCount; ++i) {
    sums[i] = x[i] + z[i];
    if (is_cut && sums[i] < 0) sums[i] = 0;
  }
  return sums;
}

sluice_array array_at(Address address) {
  return {reinterpret_cast<void*>(address), kBytes, kF32, 2, kDims};
}

std::optional<sluice::Error> set(sluice::Context& context, const char* name, Address address) {
  return context.set_device_input(name, array_at(address), "cuda");
}

std::optional<sluice::Error> bind(sluice::Context& context, const char* name, Address address,
                                  std::int64_t bytes = kBytes) {
  return context.bind_device_output(name, reinterpret_cast<void*>(address), bytes, "cuda");
}

void agree(sluice::Context& context) {
  const Numbers z = count_from(-200);
  const Address y = allocate();
  require(set(context, "z", upload(z)));
  require(bind(context, "y", y));
  // Enough runs for CUDA graphs, with x at a new place in each.
  for (int run = 0; run < 6; ++run) {
    const Numbers x = count_from(static_cast<float>(40 * run));
    require(set(context, "x", upload(x)));
    require(context.run());
    require(download(y) == sum_of(x, z, true), "y on the device is wrong");
    const auto s = context.output<float>("s");
    require(Numbers(s->values.begin(), s->values.end()) == sum_of(x, z, false),
            "s on the host is wrong");
  }
  // The host's memory again, in the same context.
  const Numbers x = count_from(150);
  require(context.set_input("x", x, {4, 16}));
  require(context.set_input("z", z, {4, 16}));
  require(bind(context, "y", 0, 0));
  require(context.run());
  const auto y_of_host = context.output<float>("y");
  require(Numbers(y_of_host->values.begin(), y_of_host->values.end()) == sum_of(x, z, true),
          "y on the host is wrong");
}

void expect(const std::optional<sluice::Error>& error, sluice::Code code, const std::string& text) {
  require(error.has_value(), "no error: " + text);
  require(error->code == code && error->message.find(text) != std::string::npos,
          "not \"" + text + "\": " + error->message);
}

void refuse(sluice::Context& context) {
  using enum sluice::Code;
  const Numbers zeros(kCount);
  const Address x = upload(zeros);
  const auto host = reinterpret_cast<Address>(aligned_alloc(64, kBytes));
  expect(set(context, "x", host), kInvalidArgument, "input \"x\"");
  expect(set(context, "x", host), kInvalidArgument, "are memory of no device, or were freed");
  expect(set(context, "x", x + 4), kInvalidArgument, "not aligned to 64 bytes");
  expect(set(context, "x", x + 64), kInvalidArgument, "pass the end of an allocation of 256");
  expect(bind(context, "y", x + 64), kInvalidArgument, "output \"y\"");
  expect(bind(context, "y", x, kBytes - 4), kResourceExhausted, "output \"y\" has 256 bytes");
  expect(context.set_device_input("x", array_at(x), "cuda", 1), kFailedPrecondition,
         "on device 1 of cuda, but device 0 of cuda runs a part of the model");
  expect(context.set_device_input("x", array_at(x), "cuda-emulated"), kFailedPrecondition,
         "device 0 of cuda-emulated");
  sluice_array wrong = array_at(x);
  constexpr std::int64_t kOtherDims[] = {16, 4};
  wrong.dims = kOtherDims;
  expect(context.set_device_input("x", wrong, "cuda"), kInvalidArgument, "f32[16,4]");
  wrong = array_at(x);
  wrong.element_type = 6;
  expect(context.set_device_input("x", wrong, "cuda"), kInvalidArgument, "i32[4,16]");
  use_device(1);
  const Address elsewhere = allocate();
  use_device(0);
  expect(set(context, "x", elsewhere), kInvalidArgument, "are memory of device 1, not of device 0");

  require(set(context, "x", x));
  require(set(context, "z", upload(zeros)));
  require(context.run());
  check(cuda.release(x), "freeing");
  expect(context.run(), kInvalidArgument, "input \"x\"");
  const Address other = upload(zeros);
  require(set(context, "x", other));
  require(bind(context, "y", other));
  expect(context.run(), kFailedPrecondition, "overlaps an input");
  require(bind(context, "y", allocate()));
  require(context.run());
}

void run_early(sluice::Context& context) {
  const Numbers zeros(kCount);
  const Address x = upload(zeros);
  require(set(context, "x", x));
  require(set(context, "z", upload(zeros)));
  void* pinned = nullptr;
  check(cuda.pin(&pinned, kBytes, 0), "pinning");
  for (std::size_t i = 0; i < kCount; ++i) static_cast<float*>(pinned)[i] = 1;
  check(cuda.to_device(x, pinned, kBytes, stream), "copying");
  require(context.run());
  const auto s = context.output<float>("s");
  std::printf("%s\n", s->values[0] == 1 && s->values[kCount - 1] == 1 ? "new" : "old");
}

}  // namespace

int main(int count, char** words) {
  require(count == 3, "usage: device_tensors PACKAGE agrees | refuses | early");
  open_driver();
  auto model = sluice::Model::open(words[1]);
  if (!model) require(false, model.error().message);
  auto context = model->create_context();
  if (!context) require(false, context.error().message);
  const std::string what = words[2];
  if (what == "agrees") agree(*context);
  if (what == "refuses") refuse(*context);
  if (what == "early") run_early(*context);
  return 0;
}
