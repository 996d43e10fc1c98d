#include <iterator>

#include "probe/probe.h"

namespace sluice::cuda {
namespace {

struct FaultyKernel {
  const char* name;
  const char* text;
};

constexpr FaultyKernel kFaulty[] = {
    {"kernel that writes to nowhere",
     "extern \"C\" __global__ void sluice_kernel(int* p) { p[1ll << 40] = 1; }\n"},
    {"kernel that reads at an odd address",
     "extern \"C\" __global__ void sluice_kernel(int* p) { *p = *(int*)((char*)p + 1); }\n"},
    {"kernel that traps",
     "extern \"C\" __global__ void sluice_kernel(int* p) { asm(\"trap;\"); }\n"},
};

void probe_calls(Prober& prober, Backend& backend) {
  const DriverTable& cu = backend.driver().table;
  CuDevicePointer address = 0;
  prober.say("allocation of more than there is", cu.mem_alloc(&address, std::size_t{1} << 46));
  prober.say("allocation after it", cu.mem_alloc(&address, 64));
  const std::vector<char> bytes(4096);
  prober.say("copy beyond an allocation",
             cu.memcpy_htod_async(address + (std::uint64_t{1} << 40), bytes.data(), 64, nullptr));
  prober.say("free", cu.mem_free(address));
  prober.say("second free", cu.mem_free(address));
  CuLibrary library = nullptr;
  CuKernel kernel = nullptr;
  prober.say("text that is no PTX",
             cu.library_load_data(&library, ".version 7.5\n.target sm_75\nhello", nullptr, nullptr,
                                  0, nullptr, nullptr, 0));
  prober.say("kernel of such a text", cu.library_get_kernel(&kernel, library, "other"));
  prober.say("PTX without kernels",
             cu.library_load_data(&library, ".version 7.5\n.target sm_75\n.address_size 64\n",
                                  nullptr, nullptr, 0, nullptr, nullptr, 0));
  prober.say("kernel of another name", cu.library_get_kernel(&kernel, library, "other"));
  const auto loaded = load_kernel(backend, kFaulty[0].text);
  void* parameters[] = {&address};
  const auto launch = [&](unsigned blocks, unsigned threads, unsigned shared) {
    return cu.launch_kernel(loaded->function(), blocks, 1, 1, threads, 1, 1, shared, nullptr,
                            parameters, nullptr);
  };
  prober.say("launch of no blocks", launch(0, 32, 0));
  prober.say("launch of 2048 threads in a block", launch(1, 2048, 0));
  prober.say("launch with 1 MiB of shared memory", launch(1, 32, 1 << 20));
  prober.say("wait after wrong launches", cu.ctx_synchronize());
}

CuResult add(const DriverTable& cu, const LoadedKernel& kernel, CuDevicePointer address) {
  void* parameters[] = {&address};
  const CuResult result =
      cu.launch_kernel(kernel.function(), 1, 1, 1, 1, 1, 1, 0, nullptr, parameters, nullptr);
  return result == CuResult::kSuccess ? cu.stream_synchronize(nullptr) : result;
}

}  // namespace

void probe_errors(Prober& prober) {
  if (const auto backend = prober.start(Confine::kNothing)) probe_calls(prober, *backend);
}

void probe_fault(Prober& prober, int number) {
  constexpr int kNumKernels = static_cast<int>(std::size(kFaulty));
  const FaultyKernel& faulty = kFaulty[number % kNumKernels];
  const bool resets = number < kNumKernels;
  auto backend = prober.start(Confine::kNothing);
  if (backend == nullptr) return;
  const DriverTable cu = backend->driver().table;
  auto kernel = load_kernel(*backend, faulty.text);
  CuDevicePointer address = 0;
  CuContext context = nullptr;
  cu.mem_alloc(&address, 64);
  const std::string name = std::string(faulty.name) + (resets ? ", " : ", context given up, ");
  prober.say(name + "wait", add(cu, *kernel, address));
  prober.say(name + "allocation after it", cu.mem_alloc(&address, 64));
  if (resets) prober.say(name + "reset", cu.device_primary_ctx_reset(0));
  kernel.reset();
  if (!resets) prober.say(name + "release", cu.device_primary_ctx_release(0));
  prober.say(name + "opened again", cu.device_primary_ctx_retain(&context, 0));
  cu.ctx_set_current(context);
  prober.say(name + "allocation at last", cu.mem_alloc(&address, 64));
}

}  // namespace sluice::cuda
