// A slot's inputs and outputs in the memory of its device, and the copies that fill and empty them.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "backend/command_list.h"
#include "backend/group.h"
#include "backend/memory.h"
#include "exec/loaded_model.h"
#include "runtime/request.h"

namespace sluice::runtime {

/// For a model of static shapes. By one thread at a time; destroyed when no copy runs.
class DeviceIo {
 public:
  /// `first` and `last` run the model's first and last segment.
  static Result<std::unique_ptr<DeviceIo>> create(
      const exec::LoadedModel& model, const std::shared_ptr<const backend::Group>& first,
      const std::shared_ptr<const backend::Group>& last);

  void* input(std::size_t index) const { return inputs_[index].address(); }
  void* output(std::size_t index) const { return outputs_[index].address(); }
  std::int64_t memory_bytes() const;

  /// By signature index, of the signature's sizes. The memory stays valid until the copy is done.
  Status start_copy_in(std::span<void* const> sources);
  Status start_copy_out(std::span<void* const> targets);
  Result<bool> poll_copy_in() { return poll(in_); }
  Result<bool> poll_copy_out() { return poll(out_); }

 private:
  struct Copies {
    backend::Stream stream;
    backend::CommandList list;
  };

  DeviceIo(Copies in, Copies out) : in_(std::move(in)), out_(std::move(out)) {}
  static Result<bool> poll(Copies& copies);

  std::vector<backend::DeviceMemory> inputs_;
  std::vector<backend::DeviceMemory> outputs_;
  Copies in_;
  Copies out_;
};

}  // namespace sluice::runtime
