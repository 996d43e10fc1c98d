// An emulated machine: its devices, and every object that the driver's interface knows.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "emulator/machine/code.h"
#include "emulator/machine/count_file.h"
#include "emulator/machine/description.h"
#include "emulator/machine/pool.h"
#include "emulator/machine/registry.h"
#include "emulator/machine/scheduler.h"

namespace sluice::cuda::emulator {

/// A kernel of a loaded library, as an object of the driver. All who ask for it share it.
struct Kernel {
  std::shared_ptr<const DeviceCode> code;
  const DeviceKernel* kernel = nullptr;
  std::string name;
  std::string image;                 // key_of its text
  int max_dynamic_shared_bytes = 0;  // that a launch may ask for
  CuFunction function = nullptr;     // null until it is asked for
};

struct Library {
  std::shared_ptr<const DeviceCode> code;
  std::string image;                        // key_of its text
  std::map<std::string, CuKernel> kernels;  // that were asked for
};

/// Multiprocessors that cuDevResourceGenerateDesc describes.
struct ResourceDescriptor {
  CuDevice device = 0;
  std::vector<int> multiprocessors;
  std::set<int> splits;  // that they come from
};

/// A graph that can be launched. Its launches run one after the other.
struct GraphExec {
  std::shared_ptr<const Graph> graph;
  std::shared_ptr<Completion> last;
};

/// What CuResource::driver_data refers to.
struct Resource {
  CuDevice device = 0;
  std::vector<int> multiprocessors;
  int split = 0;  // 0: the whole device
};

/// A process has one machine at a time, as it has one driver. `mutex` guards all but `memory`,
/// which has its own lock and takes no other. Operations run without `mutex`.
struct Machine {
  Machine(Description what, LoadCode load_code);

  const Description description;
  const LoadCode load;
  CountFile counts;  // has a lock of its own
  std::mutex mutex;
  AddressSpace memory;
  Scheduler scheduler;
  std::vector<std::unique_ptr<Device>> devices;

  std::vector<std::shared_ptr<Context>>
      all_contexts;  // those that ended too: streams point at them
  Registry<CuContext, Context> contexts;
  Registry<CuGreenContext, Context> green_contexts;
  Registry<CuStream, Stream> streams;
  Registry<CuEvent, Event> events;
  Registry<CuMemoryPool, MemoryPool> pools;
  Registry<CuLibrary, Library> libraries;
  Registry<CuKernel, Kernel> kernels;
  Registry<CuFunction, Kernel> functions;
  Registry<CuGraph, Graph> graphs;
  Registry<CuGraphExec, GraphExec> graph_execs;
  Registry<CuResourceDescriptor, ResourceDescriptor> descriptors;
  std::map<int, Resource> resources;  // by the number in CuResource::driver_data
  std::map<void*, std::unique_ptr<std::byte[]>> host_allocations;
  std::vector<std::shared_ptr<Capture>> captures;  // in progress

  Device* find_device(CuDevice ordinal);
  /// A context with its default stream.
  std::shared_ptr<Context> make_context(Device& device, std::vector<int> multiprocessors);
};

/// Makes `machine` the one that calls reach; null takes it away. False if there is one already.
bool set_machine(std::shared_ptr<Machine> machine);
std::shared_ptr<Machine> find_machine();

/// What a thread of the host knows between calls. Has no destructor: destructors of a program's
/// statics may call the driver, and they run behind those of a thread's variables.
struct ThreadState {
  CuContext current = nullptr;
  bool is_in_host_function = false;
  std::array<char, 2048> explanation = {};  // of the last failed call; ends with a NUL
};
static_assert(std::is_trivially_destructible_v<ThreadState>);
ThreadState& thread_state();

/// Keeps the beginning of `text` for DriverTable::explain and returns `result`.
CuResult explain(CuResult result, std::string_view text);
inline CuResult explain(const Fault& fault) { return explain(fault.result, fault.text); }

/// Runs `body`, which takes the machine and its lock, as an entry of the driver table.
template <typename Body>
CuResult call(const Body& body) {
  ThreadState& thread = thread_state();
  thread.explanation.front() = '\0';
  const std::shared_ptr<Machine> machine = find_machine();
  if (machine == nullptr) return CuResult::kNotInitialized;
  if (thread.is_in_host_function) {
    return explain(CuResult::kNotPermitted, "a host function of a stream calls the driver");
  }
  Scheduler::Lock lock(machine->mutex);
  try {
    return body(*machine, lock);
  } catch (const std::bad_alloc&) {
    return explain(CuResult::kOutOfMemory, "the host of the emulator has no memory left");
  }
}

/// As `call`, in the thread's current context. Returns the device's error if it has one.
template <typename Body>
CuResult call_in_context(const Body& body) {
  return call([&](Machine& machine, Scheduler::Lock& lock) {
    const auto context = machine.contexts.find(thread_state().current);
    if (context == nullptr) return CuResult::kInvalidContext;
    if (!context->device->error.is_none()) return explain(context->device->error);
    return body(machine, *context, lock);
  });
}

/// A stream by handle; the default stream of `context` for null. Null for an unknown handle.
std::shared_ptr<Stream> find_stream(const Machine& machine, const Context& context,
                                    CuStream handle);

/// Adds an operation to a stream, or to the graph that captures it.
CuResult submit(Machine& machine, const std::shared_ptr<Stream>& stream, Work work);

/// Whether a device has `bytes` left; and what to say if not.
bool fits(const Machine& machine, const Device& device, std::size_t bytes);
CuResult out_of_memory(const Machine& machine, const Device& device, std::size_t bytes);

/// Lets work run until `is_done`; then returns the device's error, and gives back pool memory.
template <typename IsDone>
CuResult wait_until(Machine& machine, Device& device, Scheduler::Lock& lock,
                    const IsDone& is_done) {
  if (!machine.scheduler.run_until(lock, is_done)) {
    return explain(CuResult::kUnknown, "the work waits for something that will never happen");
  }
  for (const auto& [handle, pool] : machine.pools.all()) {
    const auto& owner = machine.devices[static_cast<std::size_t>(pool->device())];
    if (owner.get() == &device) device.used_bytes -= pool->synchronise();
  }
  return device.error.is_none() ? CuResult::kSuccess : explain(device.error);
}

}  // namespace sluice::cuda::emulator
