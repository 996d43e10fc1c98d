#include "plugin/backend.h"

#include <algorithm>
#include <array>
#include <cstdio>

#include "driver/content_key.h"
#include "plugin/confine/masked_kernel.h"
#include "plugin/generate/generate.h"
#include "plugin/steps/step_times.h"
#include "plugin/stream_wait.h"

namespace sluice::cuda {
Kernel::~Kernel() {
  if (report_number != 0) backend->report_numbers().remove(report_number);
}

Status Backend::create(Driver driver, std::string nvrtc, std::unique_ptr<Backend>* backend) {
  std::unique_ptr<Backend> made(new Backend(std::move(driver), std::move(nvrtc)));
  if (Status status = made->retain_all(); !status.is_ok()) return status;
  *backend = std::move(made);
  return plugin::ok();
}

Status Backend::retain_all() {
  int count = 0;
  Status status = check_call(driver_, driver_.table.device_get_count(&count), "counting devices");
  if (!status.is_ok()) return status;
  if (count == 0) return {SLUICE_UNAVAILABLE, "the CUDA driver has no device"};
  for (CuDevice device = 0; device < count; ++device) {
    CuContext context = nullptr;
    status = check_call(driver_, driver_.table.device_primary_ctx_retain(&context, device),
                        "opening device " + std::to_string(device));
    if (!status.is_ok()) return status;
    contexts_.push_back(context);
    partitions_.push_back(std::make_unique<Partitions>(driver_.table, device));
  }
  return plugin::ok();
}

Backend::~Backend() {
  for (std::size_t i = 0; i < contexts_.size(); ++i) {
    if (enter(static_cast<std::int32_t>(i)).is_ok()) libraries_.close(static_cast<CuDevice>(i));
    driver_.table.device_primary_ctx_release(static_cast<CuDevice>(i));
  }
}

int Backend::attribute(CuDeviceAttribute attribute, CuDevice device) const {
  int value = 0;
  driver_.table.device_get_attribute(&value, attribute, device);
  return value;
}

Status Backend::enter(std::int32_t device) {
  if (device < 0 || device >= num_devices()) {
    return {SLUICE_NOT_FOUND,
            "no device " + std::to_string(device) + "; there are " + std::to_string(num_devices())};
  }
  return check_call(driver_,
                    driver_.table.ctx_set_current(contexts_[static_cast<std::size_t>(device)]),
                    "using device " + std::to_string(device));
}

Status Backend::describe(std::int32_t device, sluice_device_info& info) {
  if (Status status = enter(device); !status.is_ok()) return status;
  std::array<char, sizeof(info.name)> name = {};
  std::size_t memory_bytes = 0;
  CuResult result = driver_.table.device_get_name(name.data(), name.size(), device);
  if (result == CuResult::kSuccess) result = driver_.table.device_total_mem(&memory_bytes, device);
  if (Status status = check_call(driver_, result, "asking a device"); !status.is_ok())
    return status;
  using enum CuDeviceAttribute;
  info.flags = SLUICE_DEVICE_OWN_MEMORY;
  if (driver_.is_emulated) info.flags |= SLUICE_DEVICE_SIMULATED;
  plugin::detail::copy_text("gpu", info.kind);
  plugin::detail::copy_text(std::string(name.data()) + ", sm_" +
                                std::to_string(attribute(kComputeCapabilityMajor, device)) +
                                std::to_string(attribute(kComputeCapabilityMinor, device)),
                            info.name);
  info.num_cores = attribute(kMultiprocessorCount, device);
  info.memory_bytes = static_cast<std::int64_t>(memory_bytes);
  if (!driver_.is_emulated) {
    char bus[sizeof(info.bus_address)] = {};
    std::snprintf(bus, sizeof(bus), "%04x:%02x:%02x.0",
                  static_cast<unsigned>(attribute(kPciDomain, device)),
                  static_cast<unsigned>(attribute(kPciBus, device)),
                  static_cast<unsigned>(attribute(kPciDevice, device)));
    plugin::detail::copy_text(bus, info.bus_address);
  }
  return plugin::ok();
}

Status Backend::make_group(std::int32_t device, std::span<const std::int32_t> cores,
                           std::unique_ptr<Group>* group) {
  if (Status status = enter(device); !status.is_ok()) return status;
  const std::int32_t count = attribute(CuDeviceAttribute::kMultiprocessorCount, device);
  for (const std::int32_t core : cores) {
    if (core >= 0 && core < count) continue;
    return {SLUICE_OUT_OF_RANGE,
            "no core " + std::to_string(core) + "; there are " + std::to_string(count)};
  }
  auto made = std::make_unique<Group>();
  made->backend = this;
  made->device = device;
  made->cores.assign(cores.begin(), cores.end());
  std::ranges::sort(made->cores);
  made->cores.erase(std::unique(made->cores.begin(), made->cores.end()), made->cores.end());
  if (driver_.confine == Confine::kContexts && !cores.empty()) {
    Partitions& partitions = *partitions_[static_cast<std::size_t>(device)];
    if (Status status = partitions.make(made->cores, &made->context); !status.is_ok())
      return status;
  }
  *group = std::move(made);
  return plugin::ok();
}

Status Backend::query(const sluice_op& op) {
  if (Status status = check_op(op); !status.is_ok()) return status;
  Status status = store_.check_compiler();
  return status.is_ok() ? status : plugin::unimplemented(std::move(status.text));
}

Status Backend::load(std::int32_t device, const std::string& text, const sluice_kernel_code* code,
                     std::shared_ptr<const LoadedKernel>* kernel) {
  using enum CuDeviceAttribute;
  if (code == nullptr || key_of(text) != code->key) return store_.load(device, text, kernel);
  const int capability =
      attribute(kComputeCapabilityMajor, device) * 10 + attribute(kComputeCapabilityMinor, device);
  const std::span images(code->images, static_cast<std::size_t>(code->num_images));
  const sluice_code_image* const image = choose_image(images, capability, driver_.is_emulated);
  std::string fit;
  if (!driver_.is_emulated) fit = describe_fit(images, image, device, capability);
  Status status = image == nullptr
                      ? store_.load(device, text, kernel)
                      : store_.load_image(device,
                                          {static_cast<const char*>(image->data),
                                           static_cast<std::size_t>(image->size_bytes)},
                                          kernel);
  if (fit.empty()) return status;
  if (status.is_ok()) {
    tell_fit(device, fit);
  } else if (status.code == SLUICE_UNIMPLEMENTED || status.code == SLUICE_UNAVAILABLE) {
    status.text += "; " + fit;
  }
  return status;
}

void Backend::tell_fit(std::int32_t device, const std::string& fit) {
  {
    const std::lock_guard lock(mutex_);
    if (!told_.insert(device).second) return;
  }
  std::fprintf(stderr, "sluice: %s\n", fit.c_str());
}

Status Backend::make_kernel(std::int32_t device, const sluice_op& op,
                            const sluice_kernel_code* code, std::unique_ptr<Kernel>* kernel) {
  if (Status status = enter(device); !status.is_ok()) return status;
  if (Status status = plugin::detail::check_tensors(op); !status.is_ok()) return status;
  auto made = std::make_unique<Kernel>();
  made->op = &op;
  made->backend = this;
  Status status = generate(op, &made->source);
  const bool computes = status.is_ok() && made->source.grid[0] > 0;
  if (computes && (made->source.is_chosen || !use_library(device, op, code, *made))) {
    if (driver_.confine == Confine::kMasks) status = mask_kernel(&made->source);
    if (status.is_ok()) status = load(device, made->source.text, code, &made->code);
    if (status.is_ok()) status = count_blocks(device, *made);
  }
  if (!status.is_ok()) return plugin::at_node(op, std::move(status));
  if (made->source.reports_indices) made->report_number = report_numbers_.add(op);
  *kernel = std::move(made);
  return plugin::ok();
}

Status Backend::count_blocks(std::int32_t device, Kernel& kernel) const {
  kernel.num_blocks = kernel.source.grid[0];
  if (!kernel.source.is_masked) return plugin::ok();
  const auto& block = kernel.source.block;
  int resident = 0;
  const CuResult result = driver_.table.occupancy_max_active_blocks_per_multiprocessor(
      &resident, kernel.code->function(), static_cast<int>(block[0] * block[1] * block[2]), 0);
  Status status = check_call(driver_, result, "asking how many blocks a multiprocessor holds");
  const int count = attribute(CuDeviceAttribute::kMultiprocessorCount, device);
  kernel.num_blocks = static_cast<unsigned>(std::max(resident, 1) * std::max(count, 1));
  return status;
}

Status Backend::make_stream(Group& group, std::unique_ptr<Stream>* stream) {
  if (Status status = enter(group.device); !status.is_ok()) return status;
  auto made = std::make_unique<Stream>();
  made->group = &group;
  made->number = ++num_streams_;
  const DriverTable& cu = driver_.table;
  const CuResult result =
      group.context != nullptr
          ? cu.green_ctx_stream_create(&made->handle, group.context->get(), kStreamNonBlocking, 0)
          : cu.stream_create_with_priority(&made->handle, kStreamNonBlocking, 0);
  Status status = check_call(driver_, result, "making a stream");
  if (status.is_ok() && driver_.confine == Confine::kMasks) {
    status = make_mask(*made);
    if (!status.is_ok()) destroy_stream(*made);
  }
  if (status.is_ok()) *stream = std::move(made);
  return status;
}

Status Backend::make_mask(Stream& stream) {
  const Group& group = *stream.group;
  const std::vector<std::uint32_t> words =
      mask_words(attribute(CuDeviceAttribute::kMultiprocessorCount, group.device), group.cores);
  const std::size_t bytes = words.size() * sizeof(words.front());
  const DriverTable& cu = driver_.table;
  CuResult result = cu.mem_alloc(&stream.mask, bytes);
  if (result == CuResult::kSuccess) {
    result = cu.memcpy_htod_async(stream.mask, words.data(), bytes, stream.handle);
  }
  if (result == CuResult::kSuccess) result = cu.stream_synchronize(stream.handle);
  return check_call(driver_, result, "making the mask of a stream");
}

Status Backend::count_strayed(const Stream& stream, std::uint32_t* count) {
  *count = 0;
  if (Status status = enter(stream.group->device); !status.is_ok() || stream.mask == 0) {
    return status;
  }
  const CuDevicePointer place = stream.mask + MaskWords::kStrayed * sizeof(*count);
  const DriverTable& cu = driver_.table;
  CuResult result = cu.memcpy_dtoh_async(count, place, sizeof(*count), stream.handle);
  if (result == CuResult::kSuccess) result = cu.stream_synchronize(stream.handle);
  return check_call(driver_, result, "reading the mask of a stream");
}

void Backend::destroy_stream(Stream& stream) {
  if (!enter(stream.group->device).is_ok()) return;
  const bool is_done = driver_.table.stream_synchronize(stream.handle) == CuResult::kSuccess;
  if (is_done) stream.copies.finish();
  driver_.table.stream_destroy(stream.handle);
  if (stream.idle != nullptr) driver_.table.event_destroy(stream.idle);
  if (stream.mask != 0) driver_.table.mem_free(stream.mask);
  libraries_.release(&stream.scratch);
  stream.reports.release(driver_);
}

Status Backend::launch(Stream& stream, const plugin::detail::Command& command,
                       std::span<void* const> bindings) {
  const auto& kernel = static_cast<const Kernel&>(*command.kernel);
  if (kernel.library != nullptr) {
    if (Status status = call_library(stream, command, bindings); !status.is_ok()) return status;
  }
  if (kernel.code == nullptr) return plugin::ok();
  std::vector<void*>& addresses = stream.addresses;
  std::vector<void*>& parameters = stream.parameters;
  addresses.clear();
  parameters.clear();
  for (const int operand : kernel.source.operands) {
    const sluice_argument& argument = operand < 0
                                          ? command.outputs[static_cast<std::size_t>(-1 - operand)]
                                          : command.inputs[static_cast<std::size_t>(operand)];
    addresses.push_back(plugin::detail::address_of(argument, bindings));
  }
  for (void*& address : addresses) parameters.push_back(&address);
  const auto& [grid, block] = std::tie(kernel.source.grid, kernel.source.block);
  unsigned num_blocks = grid[0];
  CuDevicePointer mask = stream.mask;
  CuDevicePointer words = 0;
  unsigned number = kernel.report_number;
  if (kernel.source.reports_indices) {
    Status status = stream.reports.add(driver_, stream.handle, &words);
    if (!status.is_ok()) return status;
    parameters.push_back(&words);
    parameters.push_back(&number);
  }
  if (kernel.source.is_masked) {
    parameters.push_back(&num_blocks);
    parameters.push_back(&mask);
  }
  const CuResult result = driver_.table.launch_kernel(
      kernel.code->function(), kernel.num_blocks, grid[1], grid[2], block[0], block[1], block[2], 0,
      stream.handle, parameters.data(), nullptr);
  return plugin::at_node(*kernel.op, check_call(driver_, result, "launching a kernel"));
}

Status Backend::run_commands(Stream& stream, const CommandList& list, std::size_t begin,
                             std::size_t end, std::span<void* const> bindings) {
  for (std::size_t i = begin; i < end; ++i) {
    const plugin::detail::Command& command = list.commands[i];
    Status status = command.kernel != nullptr ? launch(stream, command, bindings)
                                              : copy(stream, command, bindings);
    if (!status.is_ok()) return status;
  }
  return plugin::ok();
}

Status Backend::run_observed(Stream& stream, const CommandList& list,
                             std::span<void* const> bindings) {
  StepMarks marks(driver_.table);
  const auto timed = [&](CuResult result) {
    return check_call(driver_, result, "timing the steps of a list");
  };
  Status status = timed(marks.add(stream.handle));
  for (std::size_t i = 0; i < list.commands.size() && status.is_ok(); ++i) {
    status = run_commands(stream, list, i, i + 1, bindings);
    if (status.is_ok()) status = timed(marks.add(stream.handle));
  }
  return status.is_ok() ? timed(marks.tell(stream.handle, list.commands)) : status;
}

GraphCounts Backend::graph_counts() const {
  const std::lock_guard lock(mutex_);
  return graph_counts_;
}

void Backend::count_capture(const Status& captured) {
  const std::lock_guard lock(mutex_);
  if (captured.is_ok()) {
    ++graph_counts_.num_captured;
  } else {
    // One line is enough: the driver refuses the lists of a process for one reason.
    if (++graph_counts_.num_refused == 1) {
      std::fprintf(stderr, "sluice: a command list runs without a CUDA graph: %s\n",
                   captured.text.c_str());
    }
    graph_counts_.last_refusal = captured.text;
  }
}

Status Backend::submit(Stream& stream, CommandList& list, std::span<void* const> bindings) {
  if (Status status = plugin::detail::check_ready(list, bindings.size()); !status.is_ok()) {
    return status;
  }
  Status ran = enter(stream.group->device);
  if (ran.is_ok()) ran = libraries_.prepare(stream.handle, list.needs, &stream.scratch);
  if (ran.is_ok()) {
    ran = are_steps_observed() ? run_observed(stream, list, bindings)
                               : list.graphs.run(*this, stream, list, bindings);
  }
  Status copied = stream.reports.copy_back(driver_, stream.handle);
  if (ran.is_ok()) ran = std::move(copied);
  // As the table asks: an error of the work is told by the next wait.
  if (stream.first_error.is_ok()) stream.first_error = std::move(ran);
  return plugin::ok();
}

Status Backend::wait(Stream& stream, std::int64_t timeout_ns) {
  if (Status status = enter(stream.group->device); !status.is_ok()) return status;
  const CuResult result = wait_for_stream(driver_, stream.handle, &stream.idle, timeout_ns);
  if (result == CuResult::kNotReady) return {SLUICE_DEADLINE_EXCEEDED, "the device still works"};
  Status first = std::exchange(stream.first_error, plugin::ok());
  if (result == CuResult::kSuccess) {
    stream.copies.finish();
  } else {
    stream.copies.forget();
    if (first.is_ok()) {
      first =
          check_call(driver_, result, "waiting for device " + std::to_string(stream.group->device));
    }
  }
  Status found = stream.reports.take(driver_, stream.handle, report_numbers_);
  return first.is_ok() ? found : first;
}

}  // namespace sluice::cuda
