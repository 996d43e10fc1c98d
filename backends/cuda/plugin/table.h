// The plug-in table over a backend, for whichever driver `Source` opens.
#pragma once

#include "plugin/backend.h"
#include "plugin/extensions.h"
#include "plugin/generate/generate.h"
#include "plugin/kernel_codes.h"
#include "plugin/steps/step_times.h"

namespace sluice::cuda {

/// `Opener` has kName, and `open`, which reads options and opens a driver:
///   static Status open(std::span<const sluice_option> options, Driver* driver, std::string*
///   nvrtc);
template <typename Opener>
struct CudaPlugin : plugin::PluginDefaults {
  static constexpr const char* kName = Opener::kName;
  static constexpr const char* kVersion = "0.1";
  using Backend = cuda::Backend;
  using Group = cuda::Group;
  using Stream = cuda::Stream;
  using Kernel = cuda::Kernel;
  using CommandList = cuda::CommandList;

  static Status create(std::span<const sluice_option> options, Backend** backend) {
    Driver driver;
    std::string nvrtc;
    if (Status status = Opener::open(options, &driver, &nvrtc); !status.is_ok()) return status;
    std::unique_ptr<Backend> made;
    Status status = Backend::create(std::move(driver), std::move(nvrtc), &made);
    *backend = made.release();
    return status;
  }

  static std::int32_t num_devices(Backend& backend) { return backend.num_devices(); }
  static Status describe(Backend& backend, std::int32_t device, sluice_device_info& info) {
    return backend.describe(device, info);
  }

  static const void* find_extension(Backend& backend, const char* name) {
    if (std::string_view(name) == SLUICE_EVENTS) return &kEvents;
    if (std::string_view(name) == SLUICE_FOREIGN_MEMORY) return &kForeignMemory;
    if (std::string_view(name) == SLUICE_STEP_TIMES) return &kStepTimes;
    if (std::string_view(name) == SLUICE_VARIANTS) return &kVariants;
    if (std::string_view(name) != SLUICE_KERNEL_CODE) return nullptr;
    return backend.driver().is_emulated ? &kEmulatedKernelCodes : &kKernelCodes;
  }

  static Status query(Backend& backend, const sluice_op& op, sluice_op_support& support) {
    support.native_halves = 1;
    return backend.query(op);
  }
  static Status make_kernel(Backend& backend, std::int32_t device, const sluice_op& op,
                            Kernel** kernel, sluice_kernel_info& info) {
    std::unique_ptr<Kernel> made;
    Status status = backend.make_kernel(device, op, nullptr, &made);
    if (status.is_ok()) info.in_place_inputs = in_place_inputs(op);
    *kernel = made.release();
    return status;
  }

  static Status allocate(Backend& backend, std::int32_t device, std::int64_t size_bytes,
                         void** address) {
    return backend.allocate(device, size_bytes, address);
  }
  static void release(Backend& backend, std::int32_t device, void* address) {
    backend.release(device, address);
  }

  /// Cores are multiprocessors.
  static Status make_group(Backend& backend, std::int32_t device,
                           std::span<const std::int32_t> cores, Group** group) {
    std::unique_ptr<Group> made;
    Status status = backend.make_group(device, cores, &made);
    *group = made.release();
    return status;
  }
  static Status make_stream(Group& group, Stream** stream) {
    std::unique_ptr<Stream> made;
    Status status = group.backend->make_stream(group, &made);
    *stream = made.release();
    return status;
  }
  static Status submit(Stream& stream, CommandList& list, std::span<void* const> bindings) {
    return stream.group->backend->submit(stream, list, bindings);
  }
  static Status wait(Stream& stream, std::int64_t timeout_ns) {
    return stream.group->backend->wait(stream, timeout_ns);
  }

  static Status make_list(Group& group, CommandList** list) {
    *list = new CommandList;
    (*list)->group = &group;
    return plugin::ok();
  }
  static Status add_kernel(CommandList& list, const Kernel& kernel,
                           std::span<const sluice_argument> inputs,
                           std::span<const sluice_argument> outputs) {
    if (kernel.library != nullptr) list.needs.add(kernel.library->needs());
    return plugin::detail::record_kernel(list, kernel, inputs, outputs);
  }
  static Status add_copy(CommandList& list, const sluice_argument& source,
                         const sluice_argument& target, std::int64_t size_bytes) {
    return plugin::detail::record_copy(list, source, target, size_bytes);
  }
  static Status finish(CommandList& list) { return plugin::detail::finish_list(list); }

  static void destroy(Backend* backend) { delete backend; }
  static void destroy(Kernel* kernel) { delete kernel; }
  static void destroy(Group* group) { delete group; }
  static void destroy(CommandList* list) { delete list; }
  static void destroy(Stream* stream) {
    stream->group->backend->destroy_stream(*stream);
    delete stream;
  }
};

}  // namespace sluice::cuda
