// A slot's inputs and outputs in device memory, and the copies from and to the host.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "device/device_services.h"
#include "package/executable.h"

namespace sluice::runtime {

/// A device at the start or the end of a model: its services, and the model as their client.
struct DeviceEnd {
  std::shared_ptr<device::DeviceServices> services;
  std::shared_ptr<device::SharedTransfers::Client> client;
};

/// For a model of static shapes. Used by one thread at a time. Destruction cancels running copies.
class DeviceIo {
 public:
  /// `first` and `last` are the devices of the model's first and last segment. Reports of their
  /// memory call the model `name`.
  static Result<std::unique_ptr<DeviceIo>> create(const terms::Signature& signature,
                                                  const DeviceEnd& first, const DeviceEnd& last,
                                                  const std::string& name);

  void* input(std::size_t index) const { return inputs_[index].address(); }
  void* output(std::size_t index) const { return outputs_[index].address(); }
  std::int64_t memory_bytes() const;

  /// By signature index, of the signature's sizes; `input(i)` as source i, and `output(i)` as
  /// target i, copy nothing. The memory stays valid until the copy is done.
  Status start_copy_in(std::span<void* const> sources, const device::Urgency& urgency);
  Status start_copy_out(std::span<void* const> targets, const device::Urgency& urgency);
  Result<bool> poll_copy_in() { return in_.poll(); }
  Result<bool> poll_copy_out() { return out_.poll(); }
  Status wait_copy_in() { return in_.wait(); }
  Status wait_copy_out() { return out_.wait(); }
  /// Drops copies that have not started.
  void cancel();

 private:
  using Buffers = std::vector<device::PooledMemory>;

  DeviceIo(Buffers inputs, Buffers outputs, const DeviceEnd& first, const DeviceEnd& last)
      : inputs_(std::move(inputs)),
        outputs_(std::move(outputs)),
        in_(first.client),
        out_(last.client) {}

  Buffers inputs_;
  Buffers outputs_;
  device::SharedTransfers::Batch in_;
  device::SharedTransfers::Batch out_;
  std::vector<device::Copy> copies_;  ///< reused
};

}  // namespace sluice::runtime
