#include "rpc/client/ring_entry.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <string>

#include "base/checked.h"
#include "shm/region.h"
#include "terms/server/server.h"
#include "terms/server/trace_context.h"

namespace sluice::rpc::client {
namespace {

std::uint64_t aligned(std::uint64_t size) {
  return (size + shm::kPlaceAlignment - 1) & ~(shm::kPlaceAlignment - 1);
}

/// Takes memory of an entry piece by piece.
class EntryMemory {
 public:
  EntryMemory(std::uint64_t region, std::uint64_t offset, std::span<std::byte> memory)
      : region_(region), offset_(offset), memory_(memory) {}

  /// Nothing when it is used up.
  std::optional<terms::RegionSlice> take(std::uint64_t size) {
    if (size > memory_.size() || aligned(size) > memory_.size() - used_) return std::nullopt;
    const terms::RegionSlice place = {region_, offset_ + used_, size};
    used_ += aligned(size);
    return place;
  }
  /// What a tensor may still take.
  std::uint64_t left_bytes() const {
    return (memory_.size() - used_) & ~(shm::kPlaceAlignment - 1);
  }
  std::byte* at(const terms::RegionSlice& place) const {
    return memory_.data() + (place.offset - offset_);
  }

 private:
  const std::uint64_t region_;
  const std::uint64_t offset_;
  const std::span<std::byte> memory_;
  std::uint64_t used_ = 0;
};

void put(const terms::RegionSlice& place, shm::RingTensor& to) {
  to.region = place.region;
  to.offset = place.offset;
  to.bytes = place.size_bytes;
}

/// False if the entry has no room for it.
bool describe(const terms::TensorView& view, shm::RingTensor& to) {
  if (view.dims.size() > shm::kMaxRingRank || view.element == ir::ElementType::kString) {
    return false;
  }
  to.element_type = static_cast<std::int32_t>(view.element);
  to.rank = static_cast<std::uint32_t>(view.dims.size());
  std::ranges::copy(view.dims, to.dims.begin());
  return true;
}

bool is_numeric(const ir::Type& type) {
  return type.is_tensor() && type.element() != ir::ElementType::kString;
}

/// By the signature, where that knows.
std::optional<std::uint64_t> static_size_of(const ir::Type& type) {
  if (!is_numeric(type)) return std::nullopt;
  const auto size = ir::storage_bytes(type);
  if (!size) return std::nullopt;
  return static_cast<std::uint64_t>(*size);
}

/// The numbers that the inputs of a request, in the order of the signature, give to its symbols.
/// An input of another rank gives none: the daemon refuses it.
class SymbolValues {
 public:
  SymbolValues(const terms::Signature& signature, const shm::Submission& submission) {
    for (std::size_t i = 0; i < signature.inputs.size(); ++i) {
      const ir::Type& type = signature.inputs[i].type;
      const shm::RingTensor& tensor = submission.tensors[i];
      const ir::Shape* shape = type.is_tensor() ? type.shape() : nullptr;
      if (shape == nullptr || shape->size() != tensor.rank) continue;
      for (std::size_t d = 0; d < shape->size(); ++d) {
        if (!(*shape)[d].is_known()) values_.emplace((*shape)[d].to_string(), tensor.dims[d]);
      }
    }
  }

  /// Nullopt if the shape depends on more than the inputs' shapes.
  std::optional<std::uint64_t> size_of(const ir::Type& type) const {
    if (!is_numeric(type) || type.shape() == nullptr) return std::nullopt;
    ir::Shape shape = *type.shape();
    for (ir::Dim& dim : shape) {
      dim = dim.substitute([this](std::string_view symbol) -> std::optional<ir::Dim> {
        const auto it = values_.find(symbol);
        if (it == values_.end()) return std::nullopt;
        return it->second;
      });
    }
    return static_size_of(type.with_shape(std::move(shape)));
  }

 private:
  std::map<std::string, ir::Dim, std::less<>> values_;
};

const terms::NamedTensor* find_input(const std::vector<terms::NamedTensor>& inputs,
                                     std::size_t index, const std::string& name) {
  if (index < inputs.size() && inputs[index].name == name) return &inputs[index];
  const auto it = std::ranges::find(inputs, name, &terms::NamedTensor::name);
  return it == inputs.end() ? nullptr : &*it;
}

/// Room for each output. Those of unknown size get equal parts of what the others leave.
bool place_outputs(RingEntry& entry, const terms::Signature& signature, const InferOptions& options,
                   const SharedTable& shared, EntryMemory& memory) {
  shm::RingTensor* tensors = &entry.submission.tensors[signature.inputs.size()];
  std::vector<std::size_t> unknown;
  std::optional<SymbolValues> symbols;
  const auto output_size = [&](std::size_t index) {
    const ir::Type& type = signature.outputs[index].type;
    if (const auto size = static_size_of(type)) return size;
    if (!symbols) symbols.emplace(signature, entry.submission);
    return symbols->size_of(type);
  };
  for (std::size_t i = 0; i < signature.outputs.size(); ++i) {
    std::optional<terms::RegionSlice> place;
    if (i < options.outputs.size() && options.outputs[i].data != nullptr) {
      place = shared.find(options.outputs[i].data, options.outputs[i].capacity_bytes);
    } else if (const auto size = output_size(i)) {
      place = memory.take(*size);
    } else if (entry.has_room_for_unknown && is_numeric(signature.outputs[i].type)) {
      unknown.push_back(i);
      continue;
    }
    if (!place) return false;
    put(*place, tensors[i]);
  }
  for (std::size_t i = 0; i < unknown.size(); ++i) {
    put(*memory.take(memory.left_bytes() / (unknown.size() - i)), tensors[unknown[i]]);
  }
  return true;
}

}  // namespace

bool fill(RingEntry& entry, const terms::ModelEntry& model,
          const std::vector<terms::NamedTensor>& inputs, const InferOptions& options,
          const SharedTable& shared) {
  const terms::Signature& signature = model.signature;
  const std::size_t num_tensors = signature.inputs.size() + signature.outputs.size();
  if (num_tensors > shm::kMaxRingTensors || inputs.size() != signature.inputs.size()) return false;
  entry.submission.head = {};
  entry.submission.head.request = entry.index;
  entry.submission.head.model = model.info.handle;
  entry.submission.head.timeout_ns = options.timeout_ns;
  entry.submission.head.priority = options.priority;
  entry.submission.head.num_inputs = static_cast<std::uint32_t>(signature.inputs.size());
  entry.submission.head.num_outputs = static_cast<std::uint32_t>(signature.outputs.size());
  const auto caller = terms::parse_traceparent(options.traceparent);
  if (caller && entry.takes_span) {
    entry.submission.head.trace_id = caller->trace;
    entry.submission.head.span_id = caller->span;
    entry.submission.head.trace_flags = caller->is_sampled ? 1 : 0;
  }
  EntryMemory memory(entry.region, entry.offset, entry.memory);
  for (std::size_t i = 0; i < signature.inputs.size(); ++i) {
    const terms::NamedTensor* input = find_input(inputs, i, signature.inputs[i].name);
    if (input == nullptr || input->view.size_bytes < 0) return false;
    const terms::TensorView& view = input->view;
    if (!describe(view, entry.submission.tensors[i])) return false;
    auto place = shared.find(view.data, view.size_bytes);
    if (!place) {
      place = memory.take(static_cast<std::uint64_t>(view.size_bytes));
      if (!place) return false;
      if (view.size_bytes > 0) std::memcpy(memory.at(*place), view.data, place->size_bytes);
    }
    put(*place, entry.submission.tensors[i]);
  }
  return place_outputs(entry, signature, options, shared, memory);
}

Result<InferReply> read_reply(const RingEntry& entry, const shm::Completion& completion,
                              const terms::ModelEntry& model, const InferOptions& options,
                              std::shared_ptr<const void> owner) {
  const shm::CompletionHead& head = completion.head;
  if (head.status_code != 0) {
    return Status(static_cast<Code>(head.status_code), head.runtime_code,
                  std::string(completion.message.data(), head.message_bytes));
  }
  InferReply reply;
  reply.code = static_cast<RuntimeCode>(head.runtime_code);
  for (std::size_t i = 0; i < head.num_outputs && i < model.signature.outputs.size(); ++i) {
    const shm::RingTensor& tensor = completion.outputs[i];
    const shm::RingTensor& asked = entry.submission.tensors[entry.submission.head.num_inputs + i];
    terms::TensorView view;
    const bool is_placed = i < options.outputs.size() && options.outputs[i].data != nullptr;
    view.data =
        is_placed ? options.outputs[i].data : entry.memory.data() + (asked.offset - entry.offset);
    view.size_bytes = static_cast<std::int64_t>(std::min(tensor.bytes, asked.bytes));
    view.element = static_cast<ir::ElementType>(tensor.element_type);
    view.dims.assign(tensor.dims.begin(),
                     tensor.dims.begin() + std::min<std::uint32_t>(tensor.rank, shm::kMaxRingRank));
    reply.outputs.push_back({model.signature.outputs[i].name, std::move(view)});
  }
  reply.owner = std::move(owner);
  return reply;
}

}  // namespace sluice::rpc::client
