// The plug-in table, filled from the classes of this folder.

#include <cstring>
#include <memory>
#include <utility>

#include "plugin/backend.h"
#include "plugin/step_times.h"
#include "plugin/stop/stop_question.h"
#include "plugin/variants.h"
#include "sluice/extensions/input_alignment.h"
#include "sluice/plugin_table.hpp"

namespace sluice::cpu {
namespace {

using plugin::ok;

// Kernels load vectors from any address of an element (core/simd.h).
constexpr sluice_input_alignment kInputAlignment = {sizeof(sluice_input_alignment), 1};

constexpr sluice_list_memory kListMemory = {
    sizeof(sluice_list_memory), 0, [](const sluice_command_list* list) {
      return reinterpret_cast<const CommandList*>(list)->held_bytes();
    }};

sluice_code exchange(sluice_command_list* list, const std::int32_t* entries,
                     sluice_kernel* const* kernels, std::int32_t count, sluice_message* message) {
  return plugin::guard(message, [&] {
    const auto size = static_cast<std::size_t>(count);
    return reinterpret_cast<CommandList*>(list)->exchange(
        {entries, size}, {reinterpret_cast<const Kernel* const*>(kernels), size});
  });
}

constexpr sluice_list_exchange kListExchange = {sizeof(sluice_list_exchange), 0, exchange};

struct CpuPlugin : plugin::PluginDefaults {
  static constexpr const char* kName = "cpu";
  static constexpr const char* kVersion = "0.1";
  using Backend = cpu::Backend;
  using Group = cpu::Group;
  using Stream = cpu::Stream;
  using Kernel = cpu::Kernel;
  using CommandList = cpu::CommandList;

  static Status create(std::span<const sluice_option> options, Backend** backend) {
    auto made = std::make_unique<Backend>();
    for (const sluice_option& option : options) {
      Status status = made->set_option(option.name, option.value);
      if (!status.is_ok()) return status;
    }
    *backend = made.release();
    return ok();
  }

  static Status describe(Backend& backend, std::int32_t device, sluice_device_info& info) {
    if (Status status = plugin::detail::check_device(device); !status.is_ok()) return status;
    info.flags = SLUICE_DEVICE_HOST_MEMORY;
    plugin::detail::copy_text("cpu", info.kind);
    plugin::detail::copy_text(backend.device_name(), info.name);
    info.num_cores = static_cast<std::int32_t>(backend.cpus().size());
    return ok();
  }

  static const void* find_extension(Backend& /*backend*/, const char* name) {
    if (std::strcmp(name, SLUICE_INPUT_ALIGNMENT) == 0) return &kInputAlignment;
    if (std::strcmp(name, SLUICE_LIST_MEMORY) == 0) return &kListMemory;
    if (std::strcmp(name, SLUICE_LIST_EXCHANGE) == 0) return &kListExchange;
    if (std::strcmp(name, SLUICE_STEP_TIMES) == 0) return &kStepTimes;
    if (std::strcmp(name, SLUICE_STOP) == 0) return &kStop;
    return std::strcmp(name, SLUICE_VARIANTS) == 0 ? &kVariants : nullptr;
  }

  // ---- operations ----

  static const char* packing_key(Backend& backend) { return isa_name(backend.isa()); }
  static Status query(Backend& backend, const sluice_op& op, sluice_op_support& support) {
    return backend.query(op, &support);
  }
  static Status query_packing(Backend& backend, const sluice_op& op, std::int32_t input,
                              sluice_packing& packing) {
    return backend.packing(op, input, &packing);
  }
  static Status pack(Backend& backend, const sluice_op& op, std::int32_t input, void* packed) {
    return backend.pack(op, input, packed);
  }

  static Status make_kernel(Backend& backend, std::int32_t device, const sluice_op& op,
                            Kernel** kernel, sluice_kernel_info& info) {
    if (Status status = plugin::detail::check_device(device); !status.is_ok()) return status;
    std::unique_ptr<Kernel> made;
    Status status = backend.make_kernel(op, &made);
    if (!status.is_ok()) return plugin::at_node(op, std::move(status));
    info.in_place_inputs = made->in_place_inputs();
    *kernel = made.release();
    return ok();
  }

  // ---- groups, streams, lists ----

  static Status make_group(Backend& backend, std::int32_t device,
                           std::span<const std::int32_t> cores, Group** group) {
    if (Status status = plugin::detail::check_device(device); !status.is_ok()) return status;
    const std::vector<int>& all = backend.cpus();
    std::vector<int> cpus;
    for (const std::int32_t core : cores) {
      if (core < 0 || static_cast<std::size_t>(core) >= all.size()) {
        return {SLUICE_OUT_OF_RANGE,
                "no core " + std::to_string(core) + "; there are " + std::to_string(all.size())};
      }
      cpus.push_back(all[static_cast<std::size_t>(core)]);
    }
    if (cpus.empty()) return plugin::invalid_argument("a group needs at least one core");
    *group = new Group{ThreadPool(std::move(cpus))};
    return ok();
  }

  static Status make_stream(Group& /*group*/, Stream** stream) {
    *stream = new Stream;
    return ok();
  }
  static Status wait(Stream& stream, std::int64_t /*timeout_ns*/) {
    return std::exchange(stream.first_error, ok());
  }
  static Status submit(Stream& stream, CommandList& list, std::span<void* const> bindings) {
    Status ran = plugin::catch_all([&] { return list.run(bindings); });
    // Misuse is reported at once. A failure of the computation is the stream's, as it would be on a
    // device that runs lists asynchronously.
    if (ran.code == SLUICE_FAILED_PRECONDITION || ran.code == SLUICE_INVALID_ARGUMENT) return ran;
    if (stream.first_error.is_ok()) stream.first_error = std::move(ran);
    return ok();
  }

  static Status make_list(Group& group, CommandList** list) {
    *list = new CommandList(group.pool);
    return ok();
  }
  static Status add_kernel(CommandList& list, const Kernel& kernel,
                           std::span<const sluice_argument> inputs,
                           std::span<const sluice_argument> outputs) {
    return list.add_kernel(kernel, inputs, outputs);
  }
  static Status add_copy(CommandList& list, const sluice_argument& source,
                         const sluice_argument& target, std::int64_t size_bytes) {
    return list.add_copy(source, target, size_bytes);
  }
  static Status finish(CommandList& list) { return list.finish(); }
};

}  // namespace
}  // namespace sluice::cpu

SLUICE_PLUGIN(sluice::cpu::CpuPlugin)
