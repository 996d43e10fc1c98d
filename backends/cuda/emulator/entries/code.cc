// Libraries, kernels and launches.

#include <algorithm>
#include <cstring>

#include "driver/content_key.h"
#include "emulator/entries/entries.h"
#include "emulator/fatbin/fatbin.h"
#include "emulator/machine/limits.h"
#include "emulator/machine/machine.h"

namespace sluice::cuda::emulator {
namespace {

constexpr std::uint64_t kMaxGridX = 0x7fffffff;
constexpr std::uint64_t kMaxGridYz = 0xffff;

/// All devices of a machine have one capability, and share libraries and kernels.
const Limits& common_limits(const Machine& machine) {
  return limits_of(machine.description.devices.front());
}

/// The PTX of a fat binary, for all devices. Requires: the header of `image` tells the truth about
/// its size, as for the driver.
Fault take_text(const Machine& machine, const char* image, std::string* text) {
  const DeviceDescription& device = machine.description.devices.front();
  const std::span<const char> bytes(image, fatbin_bytes(image));
  Status status = find_ptx(std::as_bytes(bytes), device.major * 10 + device.minor, text);
  if (status.is_ok()) return {};
  const bool is_for_others = status.code == SLUICE_NOT_FOUND;
  return {is_for_others ? CuResult::kNoBinaryForGpu : CuResult::kInvalidImage,
          std::move(status.text)};
}

bool is_fatbin(const char* image) {
  std::uint32_t magic = 0;
  if (strnlen(image, sizeof(magic)) < sizeof(magic)) return false;
  std::memcpy(&magic, image, sizeof(magic));
  return magic == kFatbinMagic;
}

CuResult library_load_data(CuLibrary* handle, const void* code, int* /*jit_options*/,
                           void** /*jit_values*/, unsigned /*num_jit_options*/, int* /*options*/,
                           void** /*values*/, unsigned /*num_options*/) {
  return call([&](Machine& machine, Scheduler::Lock&) {
    if (code == nullptr) return CuResult::kInvalidValue;
    const auto* image = static_cast<const char*>(code);
    if (std::strncmp(image, "\177ELF", 4) == 0) {
      return explain(CuResult::kNoBinaryForGpu,
                     "the emulator runs PTX text; the code is compiled for a GPU");
    }
    std::string text;
    if (is_fatbin(image)) {
      if (Fault fault = take_text(machine, image, &text); !fault.is_none()) {
        return explain(fault);
      }
      image = text.c_str();
    }
    auto library = std::make_shared<Library>();
    if (Fault fault = machine.load(image, machine.memory, &library->code); !fault.is_none()) {
      return explain(fault);
    }
    library->image = key_of(image);
    *handle = machine.libraries.add(std::move(library));
    return CuResult::kSuccess;
  });
}

/// Kernels of the library stay valid while work that launches them waits.
CuResult library_unload(CuLibrary handle) {
  return call([&](Machine& machine, Scheduler::Lock&) {
    return machine.libraries.remove(handle) != nullptr ? CuResult::kSuccess
                                                       : CuResult::kInvalidHandle;
  });
}

CuResult library_get_kernel(CuKernel* handle, CuLibrary library_handle, const char* name) {
  return call([&](Machine& machine, Scheduler::Lock&) {
    const auto library = machine.libraries.find(library_handle);
    if (library == nullptr) return CuResult::kInvalidHandle;
    if (const auto known = library->kernels.find(name); known != library->kernels.end()) {
      *handle = known->second;
      return CuResult::kSuccess;
    }
    auto kernel = std::make_shared<Kernel>();
    kernel->code = library->code;
    kernel->kernel = library->code->find(name);
    kernel->name = name;
    kernel->image = library->image;
    if (kernel->kernel == nullptr) {
      return explain(CuResult::kNotFound, "the library has no kernel \"" + kernel->name + "\"");
    }
    kernel->max_dynamic_shared_bytes =
        std::max(0, kUsualSharedBytes - static_cast<int>(kernel->kernel->static_shared_bytes()));
    *handle = machine.kernels.add(std::move(kernel));
    library->kernels.emplace(name, *handle);
    return CuResult::kSuccess;
  });
}

CuResult library_get_global(CuDevicePointer* address, std::size_t* bytes, CuLibrary handle,
                            const char* name) {
  return call([&](Machine& machine, Scheduler::Lock&) {
    const auto library = machine.libraries.find(handle);
    if (library == nullptr) return CuResult::kInvalidHandle;
    const auto variable = library->code->find_variable(name);
    if (!variable) {
      return explain(CuResult::kNotFound,
                     "the library has no variable \"" + std::string(name) + "\"");
    }
    *address = variable->address;
    if (bytes != nullptr) *bytes = variable->bytes;
    return CuResult::kSuccess;
  });
}

CuResult kernel_get_function(CuFunction* function, CuKernel handle) {
  return call_in_context([&](Machine& machine, Context&, Scheduler::Lock&) {
    const auto kernel = machine.kernels.find(handle);
    if (kernel == nullptr) return CuResult::kInvalidHandle;
    if (kernel->function == nullptr) kernel->function = machine.functions.add(kernel);
    *function = kernel->function;
    return CuResult::kSuccess;
  });
}

CuResult kernel_get_param_info(CuKernel handle, std::size_t index, std::size_t* offset,
                               std::size_t* bytes) {
  return call([&](Machine& machine, Scheduler::Lock&) {
    const auto kernel = machine.kernels.find(handle);
    if (kernel == nullptr) return CuResult::kInvalidHandle;
    const auto parameters = kernel->kernel->parameters();
    if (index >= parameters.size()) return CuResult::kInvalidValue;
    *offset = parameters[index].offset_bytes;
    if (bytes != nullptr) *bytes = parameters[index].size_bytes;
    return CuResult::kSuccess;
  });
}

CuResult func_get_attribute(int* value, CuFunctionAttribute attribute, CuFunction handle) {
  return call([&](Machine& machine, Scheduler::Lock&) {
    const auto kernel = machine.functions.find(handle);
    if (kernel == nullptr) return CuResult::kInvalidHandle;
    using enum CuFunctionAttribute;
    switch (attribute) {
      case kMaxThreadsPerBlock:
        *value = static_cast<int>(kernel->kernel->max_threads());
        return CuResult::kSuccess;
      case kStaticSharedBytes:
        *value = static_cast<int>(kernel->kernel->static_shared_bytes());
        return CuResult::kSuccess;
      case kMaxDynamicSharedBytes:
        *value = kernel->max_dynamic_shared_bytes;
        return CuResult::kSuccess;
      default: return explain(CuResult::kNotSupported, "PTX says nothing of this attribute");
    }
  });
}

CuResult func_set_attribute(CuFunction handle, CuFunctionAttribute attribute, int value) {
  return call([&](Machine& machine, Scheduler::Lock&) {
    const auto kernel = machine.functions.find(handle);
    if (kernel == nullptr) return CuResult::kInvalidHandle;
    if (attribute != CuFunctionAttribute::kMaxDynamicSharedBytes || value < 0) {
      return CuResult::kInvalidValue;
    }
    const Limits& limits = common_limits(machine);
    const int most =
        limits.max_block_shared_bytes() - static_cast<int>(kernel->kernel->static_shared_bytes());
    if (value > most) {
      return explain(CuResult::kInvalidValue,
                     "kernel " + kernel->name + ": " + std::to_string(value) +
                         " bytes of dynamic shared memory; a GPU of compute capability " +
                         std::string(limits.capability) + " allows " + std::to_string(most));
    }
    kernel->max_dynamic_shared_bytes = value;
    return CuResult::kSuccess;
  });
}

/// What a launch holds until it runs.
struct Prepared {
  ptx::Launch launch;  // refers to the vectors
  std::vector<std::byte> parameters;
  std::vector<std::uint32_t> multiprocessors;
};

/// What a kernel of one device reaches. Keeps the last place that it found, because most accesses
/// of a kernel go to few allocations.
class DeviceMemory : public LaunchMemory {
 public:
  DeviceMemory(Machine& machine, CuDevice device, std::set<CuDevice> peers)
      : machine_(machine), device_(device), peers_(std::move(peers)) {}

  std::byte* at(std::uint64_t address, std::size_t bytes, ptx::Access /*access*/) override {
    if (epoch_ != machine_.memory.epoch() || address < start_ || address - start_ >= room_ ||
        bytes > room_ - (address - start_)) {
      fault_ = look_up(address, bytes);
      if (!fault_.is_none()) return nullptr;
    }
    return place_.data + (address - start_);
  }
  std::string describe(std::uint64_t /*address*/, std::size_t /*bytes*/) const override {
    return fault_.text;
  }
  const Fault& last_fault() const override { return fault_; }

 private:
  Fault look_up(CuDevicePointer address, std::size_t bytes) {
    room_ = 0;
    epoch_ = machine_.memory.epoch();
    if (Fault fault = machine_.memory.resolve(address, bytes, &place_); !fault.is_none()) {
      return fault;
    }
    const Allocation* allocation = place_.allocation.get();
    if (allocation != nullptr && allocation->device != device_ && !may_reach(*allocation)) {
      return {CuResult::kIllegalAddress,
              address_text(address) + " is memory of device " + std::to_string(allocation->device) +
                  ", to which device " + std::to_string(device_) + " has no access"};
    }
    start_ = address;
    room_ = place_.room;
    return {};
  }

  bool may_reach(const Allocation& allocation) {
    if (allocation.pool == nullptr) return peers_.contains(allocation.device);
    const std::lock_guard lock(machine_.mutex);
    const auto pool = machine_.pools.find(allocation.pool);
    return pool != nullptr && std::ranges::count(pool->reached_from, device_) > 0;
  }

  Machine& machine_;
  const CuDevice device_;
  const std::set<CuDevice> peers_;
  AddressSpace::Place place_;
  CuDevicePointer start_ = 0;
  std::size_t room_ = 0;
  std::uint64_t epoch_ = 0;
  Fault fault_;
};

CuResult check_sizes(const Kernel& kernel, const ptx::Launch& launch) {
  const ptx::Dim3& grid = launch.grid;
  const ptx::Dim3& block = launch.block;
  if (grid.count() == 0 || block.count() == 0 || grid.x > kMaxGridX || grid.y > kMaxGridYz ||
      grid.z > kMaxGridYz || block.z > 64 || std::max(block.x, block.y) > ptx::kMaxBlockThreads) {
    return explain(CuResult::kInvalidValue, "kernel " + kernel.name + ": no such grid or block");
  }
  if (block.count() > kernel.kernel->max_threads()) {
    return explain(CuResult::kInvalidValue,
                   "kernel " + kernel.name + ": a block has " + std::to_string(block.count()) +
                       " threads; " + std::to_string(kernel.kernel->max_threads()) + " may be");
  }
  if (launch.dynamic_shared_bytes > static_cast<unsigned>(kernel.max_dynamic_shared_bytes)) {
    return explain(CuResult::kInvalidValue,
                   "kernel " + kernel.name + ": " + std::to_string(launch.dynamic_shared_bytes) +
                       " bytes of dynamic shared memory; cuFuncSetAttribute allows " +
                       std::to_string(kernel.max_dynamic_shared_bytes));
  }
  return CuResult::kSuccess;
}

/// Copies the values behind `values`, as cuLaunchKernel does before it returns.
CuResult pack_parameters(const Kernel& kernel, void** values, std::vector<std::byte>* packed) {
  const auto parameters = kernel.kernel->parameters();
  if (parameters.empty()) return CuResult::kSuccess;
  if (values == nullptr) return explain(CuResult::kInvalidValue, kernel.name + ": no parameters");
  packed->resize(parameters.back().offset_bytes + parameters.back().size_bytes);
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    std::memcpy(packed->data() + parameters[i].offset_bytes, values[i], parameters[i].size_bytes);
  }
  return CuResult::kSuccess;
}

Operation launch(Machine& machine, const std::shared_ptr<const Kernel>& kernel,
                 const Context& context, std::shared_ptr<Prepared> prepared) {
  prepared->launch.parameters = prepared->parameters;
  prepared->launch.max_instructions = machine.description.max_instructions;
  prepared->launch.multiprocessors = prepared->multiprocessors;
  prepared->launch.multiprocessor_count = static_cast<std::uint32_t>(
      machine.description.devices[static_cast<std::size_t>(context.device->ordinal)]
          .multiprocessors);
  const CuDevice device = context.device->ordinal;
  const std::set<CuDevice> peers = context.device->peers;
  // Each run has its own memory: a graph may launch the kernel again and again.
  return [&machine, kernel, prepared = std::move(prepared), device, peers]() -> Fault {
    DeviceMemory memory(machine, device, peers);
    ptx::Counts counts;
    Fault fault = kernel->kernel->run(prepared->launch, memory, counts);
    machine.scheduler.count_instructions(counts.warp_instructions);
    machine.counts.add({kernel->image, kernel->name}, prepared->launch, counts);
    if (!fault.is_none() && fault.text.find(kernel->name) == std::string::npos) {
      fault.text = "kernel " + kernel->name + ": " + fault.text;
    }
    return fault;
  };
}

/// The context's multiprocessors, from a random one on: which block runs where is not promised.
std::vector<std::uint32_t> draw_multiprocessors(const Context& context, std::uint64_t seed) {
  std::vector<std::uint32_t> all(context.multiprocessors.begin(), context.multiprocessors.end());
  std::rotate(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(seed % all.size()), all.end());
  return all;
}

CuResult launch_kernel(CuFunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                       unsigned block_x, unsigned block_y, unsigned block_z,
                       unsigned dynamic_shared_bytes, CuStream stream_handle, void** parameters,
                       void** extra) {
  return call_in_context([&](Machine& machine, Context& context, Scheduler::Lock&) {
    const auto kernel = machine.functions.find(function);
    const auto stream = find_stream(machine, context, stream_handle);
    if (kernel == nullptr || stream == nullptr) return CuResult::kInvalidHandle;
    if (extra != nullptr) return explain(CuResult::kNotSupported, "the emulator takes no `extra`");
    auto prepared = std::make_shared<Prepared>();
    prepared->launch.grid = {grid_x, grid_y, grid_z};
    prepared->launch.block = {block_x, block_y, block_z};
    prepared->launch.dynamic_shared_bytes = dynamic_shared_bytes;
    prepared->launch.seed = machine.scheduler.random() | 1U;  // 0 would be the order of index
    prepared->multiprocessors = draw_multiprocessors(*stream->context, prepared->launch.seed);
    CuResult result = check_sizes(*kernel, prepared->launch);
    if (result == CuResult::kSuccess) {
      result = pack_parameters(*kernel, parameters, &prepared->parameters);
    }
    if (result != CuResult::kSuccess) return result;
    const Operation run = launch(machine, kernel, *stream->context, std::move(prepared));
    return submit(machine, stream, {.run = run});
  });
}

/// As many as threads and shared memory allow; PTX says nothing of registers.
CuResult occupancy(int* blocks, CuFunction function, int block_size,
                   std::size_t dynamic_shared_bytes) {
  return call([&](Machine& machine, Scheduler::Lock&) {
    const auto kernel = machine.functions.find(function);
    if (kernel == nullptr) return CuResult::kInvalidHandle;
    if (block_size <= 0 || block_size > static_cast<int>(ptx::kMaxBlockThreads)) {
      return CuResult::kInvalidValue;
    }
    const Limits& limits = common_limits(machine);
    const std::size_t shared = kernel->kernel->static_shared_bytes() + dynamic_shared_bytes +
                               static_cast<std::size_t>(limits.reserved_shared_bytes());
    const int by_threads = limits.threads / block_size;
    const int by_shared =
        shared == 0 ? by_threads
                    : static_cast<int>(static_cast<std::size_t>(limits.shared_bytes) / shared);
    *blocks = std::min({by_threads, by_shared, limits.blocks});
    return CuResult::kSuccess;
  });
}

}  // namespace

void fill_code_entries(DriverTable& table) {
  table.library_load_data = library_load_data;
  table.library_unload = library_unload;
  table.library_get_kernel = library_get_kernel;
  table.library_get_global = library_get_global;
  table.kernel_get_function = kernel_get_function;
  table.kernel_get_param_info = kernel_get_param_info;
  table.func_get_attribute = func_get_attribute;
  table.func_set_attribute = func_set_attribute;
  table.launch_kernel = launch_kernel;
  table.occupancy_max_active_blocks_per_multiprocessor = occupancy;
}

}  // namespace sluice::cuda::emulator
