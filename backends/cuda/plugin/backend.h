// What the plug-in's handles stand for: devices, memory, streams and command lists on a driver
// table.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <vector>

#include "driver/partitions.h"
#include "plugin/device_code.h"
#include "plugin/index_reports.h"
#include "plugin/libraries/libraries.h"
#include "plugin/list_graphs.h"
#include "sluice/host_backend.hpp"

namespace sluice::cuda {

class Backend;

struct Group {
  Backend* backend = nullptr;
  CuDevice device = 0;
  std::vector<std::int32_t> cores = {};             ///< ascending
  std::unique_ptr<GreenContext> context = nullptr;  ///< null: the device's own
};

struct Stream {
  Group* group = nullptr;
  std::uint64_t number = 0;  ///< no other stream of the backend ever has it
  CuStream handle = nullptr;
  CuDevicePointer mask = 0;  ///< MaskWords of its kernels; 0 if they have none
  Status first_error;
  IndexReports reports;
  LibraryStream scratch;
  HostCopies copies;
  CuEvent idle = nullptr;        ///< see wait_for_stream
  std::vector<void*> addresses;  ///< of the operands of the launch under way
  std::vector<void*> parameters;
};

/// An operation's kernel on one device. Immutable. Without a library's call and without code it has
/// nothing to compute. Behind the call runs the code, which has the rest of the operation's body.
struct Kernel : plugin::detail::Kernel {
  Kernel() = default;
  Kernel(const Kernel&) = delete;
  Kernel& operator=(const Kernel&) = delete;
  ~Kernel();

  Backend* backend = nullptr;
  std::unique_ptr<const LibraryCall> library;
  Source source;
  std::shared_ptr<const LoadedKernel> code;
  unsigned num_blocks = 0;     ///< of a launch; of a masked kernel, as many as the device can hold
  unsigned report_number = 0;  ///< of ReportNumbers; 0 if it reports no indices
};

struct CommandList : plugin::detail::CommandList {
  Group* group = nullptr;
  LibraryNeeds needs;  ///< of the calls of libraries
  ListGraphs graphs;
};

/// Captures of command lists so far.
struct GraphCounts {
  std::int64_t num_captured = 0;
  std::int64_t num_refused = 0;
  std::string last_refusal;  ///< why; the list runs without graphs
};

/// The devices of a driver. Several threads may call functions at once; one thread at a time uses a
/// stream.
class Backend {
 public:
  /// Retains the primary context of every device.
  /// Fails: UNAVAILABLE  there is no device
  static Status create(Driver driver, std::string nvrtc, std::unique_ptr<Backend>* backend);
  Backend(const Backend&) = delete;
  Backend& operator=(const Backend&) = delete;
  /// Releases the contexts.
  ~Backend();

  const Driver& driver() const { return driver_; }
  KernelStore& store() { return store_; }
  std::int32_t num_devices() const { return static_cast<std::int32_t>(contexts_.size()); }
  Status describe(std::int32_t device, sluice_device_info& info);
  /// Makes the device's context the thread's; every call to the driver needs one.
  Status enter(std::int32_t device);

  /// Confines what the group's streams run to its cores, as Driver::confine says. A group without
  /// cores is for copies.
  /// Fails: OUT_OF_RANGE  the device lacks one of the multiprocessors
  ///        as Partitions::make
  Status make_group(std::int32_t device, std::span<const std::int32_t> cores,
                    std::unique_ptr<Group>* group);

  /// Fails: UNIMPLEMENTED  no kernel is generated for the operation, or none can be compiled here
  Status query(const sluice_op& op);
  /// Loads the code if it is not null and for this operation; else compiles the kernel.
  Status make_kernel(std::int32_t device, const sluice_op& op, const sluice_kernel_code* code,
                     std::unique_ptr<Kernel>* kernel);

  /// As sluice_variants::list, for device 0.
  Status list_tactics(const sluice_op& op, std::vector<std::string>* names);

  Status allocate(std::int32_t device, std::int64_t size_bytes, void** address);
  void release(std::int32_t device, void* address);
  /// Fails: INVALID_ARGUMENT  the bytes are not all memory of the device
  Status check_memory(std::int32_t device, const void* address, std::int64_t size_bytes);

  Status make_stream(Group& group, std::unique_ptr<Stream>* stream);
  void destroy_stream(Stream& stream);
  Status submit(Stream& stream, CommandList& list, std::span<void* const> bindings);
  Status wait(Stream& stream, std::int64_t timeout_ns);
  /// The blocks of masked kernels that ran outside of the group's cores so far. Waits for the work.
  Status count_strayed(const Stream& stream, std::uint32_t* count);

  ReportNumbers& report_numbers() { return report_numbers_; }
  GraphCounts graph_counts() const;

  // ---- for ListGraphs ----

  /// Submits commands `begin` to `end` of a list, one by one.
  /// Requires: the device's context is current.
  Status run_commands(Stream& stream, const CommandList& list, std::size_t begin, std::size_t end,
                      std::span<void* const> bindings);
  /// What `locate` finds for memory of no device.
  static constexpr CuDevice kOfHost = -1;
  /// The device whose memory is there, the plug-in's or another's in the process. Requires: a
  /// context is current.
  /// Fails: as the driver, behind a fault of the device
  Status locate(const void* address, CuDevice* device) const;
  void count_capture(const Status& captured);

 private:
  Backend(Driver driver, std::string nvrtc)
      : driver_(std::move(driver)),
        store_(driver_, std::move(nvrtc)),
        libraries_(driver_.table, driver_.libraries) {}

  Status retain_all();
  Status load(std::int32_t device, const std::string& text, const sluice_kernel_code* code,
              std::shared_ptr<const LoadedKernel>* kernel);
  /// Says on standard error that a package has no machine code for a device; once for each.
  void tell_fit(std::int32_t device, const std::string& fit);
  /// False where no library computes the operation and its tail cannot be compiled.
  /// False too for `code` that a person edited. Requires: kernel.source is the generated one.
  bool use_library(std::int32_t device, const sluice_op& op, const sluice_kernel_code* code,
                   Kernel& kernel);
  /// Whether the kernel of a library is faster than the generated one. Equal operations get equal
  /// answers.
  bool is_faster(std::int32_t device, const Kernel& library, const Source& generated,
                 const sluice_kernel_code* code);
  /// The time of one of several runs on memory of its own; nothing if they fail.
  std::optional<float> time_kernel(std::int32_t device, const Kernel& kernel);
  Status call_library(Stream& stream, const plugin::detail::Command& command,
                      std::span<void* const> bindings) const;
  /// Runs a list without graphs, waits for it, and tells the thread's observer the time of each
  /// command. Requires: are_steps_observed().
  Status run_observed(Stream& stream, const CommandList& list, std::span<void* const> bindings);
  int attribute(CuDeviceAttribute attribute, CuDevice device) const;
  Status make_mask(Stream& stream);
  Status count_blocks(std::int32_t device, Kernel& kernel) const;
  Status launch(Stream& stream, const plugin::detail::Command& command,
                std::span<void* const> bindings);
  Status copy(Stream& stream, const plugin::detail::Command& command,
              std::span<void* const> bindings);
  struct DevicePlace {
    CuDevicePointer address;
    CuDevice device;
  };
  /// Over the link of the devices; without one, by way of the host. The driver does both.
  Status copy_to_peer(Stream& stream, const DevicePlace& target, const DevicePlace& source,
                      std::size_t bytes);
  /// Lets the device read and write memory of the peer, where the machine can. Once for each pair:
  /// access makes every allocation of the peer dearer, so devices get it with their first copy.
  /// Requires: the device's context is current.
  void reach_peer(CuDevice device, CuDevice peer);

  const Driver driver_;
  KernelStore store_;
  Libraries libraries_;
  ReportNumbers report_numbers_;
  std::atomic<std::uint64_t> num_streams_ = 0;  // made so far
  std::vector<CuContext> contexts_;             // by device
  std::vector<std::unique_ptr<Partitions>> partitions_;
  mutable std::mutex mutex_;  // guards what follows
  GraphCounts graph_counts_;
  std::map<std::pair<std::int32_t, std::string>, bool> measured_;  // by device and generated text
  struct Allocation {
    std::int64_t bytes;
    std::int32_t device;
  };
  std::map<std::uintptr_t, Allocation> allocations_;  // by address
  std::set<std::pair<CuDevice, CuDevice>> reached_;   // see reach_peer
  std::set<std::int32_t> told_;                       // see tell_fit
};

}  // namespace sluice::cuda
