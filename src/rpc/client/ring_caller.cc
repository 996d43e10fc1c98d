#include "rpc/client/ring_caller.h"

#include <poll.h>

#include <algorithm>
#include <chrono>
#include <cstring>

#include "base/checked.h"

namespace sluice::rpc::client {
namespace {

using runtime::RuntimeCode;

constexpr std::uint32_t kEntries = 32;
constexpr std::uint64_t kEntryBytes = std::uint64_t{1} << 20;
constexpr std::uint64_t kBytes = shm::ring_bytes(kEntries) + kEntries * kEntryBytes;
constexpr std::int64_t kSpinNs = 50'000;
/// The client checks this often whether the daemon has ended.
constexpr std::int64_t kSleepNs = 100'000'000;
/// The daemon keeps deadlines. The client stops waiting for an answer that is this much later.
constexpr std::int64_t kGraceNs = 500'000'000;

std::uint64_t aligned(std::uint64_t size) {
  return (size + shm::kPlaceAlignment - 1) & ~(shm::kPlaceAlignment - 1);
}

/// Takes memory of an entry piece by piece.
class EntryMemory {
 public:
  EntryMemory(std::uint64_t region, std::uint64_t offset, std::span<std::byte> memory)
      : region_(region), offset_(offset), memory_(memory) {}

  /// Nothing when it is used up.
  std::optional<service::RegionSlice> take(std::uint64_t size) {
    if (size > memory_.size() || aligned(size) > memory_.size() - used_) return std::nullopt;
    const service::RegionSlice place = {region_, offset_ + used_, size};
    used_ += aligned(size);
    return place;
  }
  std::byte* at(const service::RegionSlice& place) const {
    return memory_.data() + (place.offset - offset_);
  }

 private:
  const std::uint64_t region_;
  const std::uint64_t offset_;
  const std::span<std::byte> memory_;
  std::uint64_t used_ = 0;
};

void put(const service::RegionSlice& place, shm::RingTensor& to) {
  to.region = place.region;
  to.offset = place.offset;
  to.bytes = place.size_bytes;
}

/// False if the entry has no room for it.
bool describe(const exec::TensorView& view, shm::RingTensor& to) {
  if (view.dims.size() > shm::kMaxRingRank || view.element == ir::ElementType::kString) {
    return false;
  }
  to.element_type = static_cast<std::int32_t>(view.element);
  to.rank = static_cast<std::uint32_t>(view.dims.size());
  std::ranges::copy(view.dims, to.dims.begin());
  return true;
}

/// By the signature, where that knows.
std::optional<std::uint64_t> size_of(const ir::Type& type) {
  if (!type.is_tensor() || type.element() == ir::ElementType::kString) return std::nullopt;
  const auto size = ir::storage_bytes(type);
  if (!size) return std::nullopt;
  return static_cast<std::uint64_t>(*size);
}

const NamedTensor* find_input(const std::vector<NamedTensor>& inputs, std::size_t index,
                              const std::string& name) {
  if (index < inputs.size() && inputs[index].name == name) return &inputs[index];
  const auto it = std::ranges::find(inputs, name, &NamedTensor::name);
  return it == inputs.end() ? nullptr : &*it;
}

}  // namespace

Result<std::shared_ptr<RingCaller>> RingCaller::create(const std::string& side_socket,
                                                       const std::string& token) {
  auto memory = SLUICE_TRY(shm::SharedMemory::create(static_cast<std::int64_t>(kBytes)));
  shm::RingClient::format(memory.memory(), kEntries);
  auto handed =
      SLUICE_TRY(hand_over(side_socket, token, wire::SideKind::kRing, memory.fd(), kBytes));
  return std::make_shared<RingCaller>(std::move(memory), std::move(handed));
}

RingCaller::RingCaller(shm::SharedMemory memory, Handed handed)
    : memory_(std::move(memory)),
      handed_(std::move(handed)),
      ring_(memory_.memory(), kEntries),
      entries_(kEntries) {
  for (std::uint32_t i = kEntries; i-- > 0;) {
    Entry& entry = entries_[i];
    entry.index = i;
    entry.offset = shm::ring_bytes(kEntries) + i * kEntryBytes;
    entry.memory = memory_.memory().subspan(entry.offset, kEntryBytes);
    free_.push_back(&entry);
  }
}

RingCaller::Entry* RingCaller::take_entry() {
  const std::lock_guard lock(mutex_);
  if (free_.empty()) return nullptr;
  Entry* entry = free_.back();
  free_.pop_back();
  entry->is_done = false;
  entry->is_abandoned = false;
  return entry;
}

void RingCaller::give_back(Entry* entry) {
  const std::lock_guard lock(mutex_);
  free_.push_back(entry);
}

std::optional<Result<InferReply>> RingCaller::infer(const service::ModelEntry& model,
                                                    const Inputs& inputs,
                                                    const InferOptions& options,
                                                    const SharedTable& shared) {
  if (options.wants_detail || is_closed()) return std::nullopt;
  Entry* entry = take_entry();
  if (entry == nullptr) return std::nullopt;
  bool is_submitted = fill(*entry, model, inputs, options, shared);
  if (is_submitted) {
    const std::lock_guard lock(mutex_);
    is_submitted = ring_.submit(entry->submission);
  }
  if (!is_submitted) {
    give_back(entry);
    return std::nullopt;
  }
  const Status status = wait(*entry, options.timeout_ns);
  if (!status.is_ok()) return Result<InferReply>(status);
  return reply_of(entry, model, options);
}

bool RingCaller::fill(Entry& entry, const service::ModelEntry& model, const Inputs& inputs,
                      const InferOptions& options, const SharedTable& shared) const {
  const package::Signature& signature = model.signature;
  const std::size_t num_tensors = signature.inputs.size() + signature.outputs.size();
  if (num_tensors > shm::kMaxRingTensors || inputs.size() != signature.inputs.size()) return false;
  entry.submission.head = {};
  entry.submission.head.request = entry.index;
  entry.submission.head.model = model.info.handle;
  entry.submission.head.timeout_ns = options.timeout_ns;
  entry.submission.head.priority = options.priority;
  entry.submission.head.num_inputs = static_cast<std::uint32_t>(signature.inputs.size());
  entry.submission.head.num_outputs = static_cast<std::uint32_t>(signature.outputs.size());
  EntryMemory memory(handed_.region, entry.offset, entry.memory);
  for (std::size_t i = 0; i < signature.inputs.size(); ++i) {
    const NamedTensor* input = find_input(inputs, i, signature.inputs[i].name);
    if (input == nullptr || input->view.size_bytes < 0) return false;
    const exec::TensorView& view = input->view;
    if (!describe(view, entry.submission.tensors[i])) return false;
    auto place = shared.find(view.data, view.size_bytes);
    if (!place) {
      place = memory.take(static_cast<std::uint64_t>(view.size_bytes));
      if (!place) return false;
      if (view.size_bytes > 0) std::memcpy(memory.at(*place), view.data, place->size_bytes);
    }
    put(*place, entry.submission.tensors[i]);
  }
  for (std::size_t i = 0; i < signature.outputs.size(); ++i) {
    std::optional<service::RegionSlice> place;
    if (i < options.outputs.size() && options.outputs[i].data != nullptr) {
      place = shared.find(options.outputs[i].data, options.outputs[i].capacity_bytes);
    } else if (const auto size = size_of(signature.outputs[i].type)) {
      place = memory.take(*size);
    }
    if (!place) return false;
    put(*place, entry.submission.tensors[signature.inputs.size() + i]);
  }
  return true;
}

bool RingCaller::is_daemon_there() const {
  // The daemon sends nothing more on this connection: a readable socket means that the peer closed.
  pollfd end = {handed_.socket.get(), POLLIN, 0};
  return poll(&end, 1, 0) == 0;
}

Status RingCaller::wait(Entry& entry, std::int64_t timeout_ns) {
  const Clock& clock = system_clock();
  const std::int64_t start_ns = clock.now_ns();
  std::unique_lock lock(mutex_);
  while (!entry.is_done) {
    // Read before the completions are: what came before the end counts.
    bool is_over = is_closed();
    if (is_looking_) {
      done_.wait_for(lock, std::chrono::nanoseconds(kSleepNs));
      is_over = false;
    } else {
      look(lock);
    }
    if (entry.is_done) break;
    const std::int64_t waited_ns = clock.now_ns() - start_ns;
    if (waited_ns > kSleepNs && !is_daemon_there()) is_dead_.store(true);
    if (timeout_ns > 0 && waited_ns > kGraceNs && waited_ns - kGraceNs > timeout_ns) {
      entry.is_abandoned = true;
      return runtime_error(RuntimeCode::kTimeout, "no answer within {} ns", timeout_ns);
    }
    if (is_over) {
      entry.is_abandoned = true;
      return Status(Code::kUnavailable, static_cast<std::int32_t>(RuntimeCode::kFailed),
                    "the daemon ended before it answered, or closed the ring");
    }
  }
  return ok_status();
}

/// Waits for the next completion without the lock, on behalf of all callers.
void RingCaller::look(std::unique_lock<std::mutex>& lock) {
  is_looking_ = true;
  lock.unlock();
  ring_.wait(kSpinNs, kSleepNs);
  lock.lock();
  is_looking_ = false;
  while (ring_.take(taken_)) {
    if (taken_.head.request >= entries_.size()) continue;
    Entry& entry = entries_[taken_.head.request];
    entry.completion.head = taken_.head;
    std::copy_n(taken_.outputs.begin(), taken_.head.num_outputs, entry.completion.outputs.begin());
    std::copy_n(taken_.message.begin(), taken_.head.message_bytes,
                entry.completion.message.begin());
    entry.is_done = true;
    if (entry.is_abandoned) free_.push_back(&entry);
  }
  done_.notify_all();
}

Result<InferReply> RingCaller::reply_of(Entry* entry, const service::ModelEntry& model,
                                        const InferOptions& options) {
  const std::shared_ptr<const void> owner(
      entry, [ring = shared_from_this()](Entry* used) { ring->give_back(used); });
  const shm::CompletionHead& head = entry->completion.head;
  if (head.status_code != 0) {
    return Status(static_cast<Code>(head.status_code), head.runtime_code,
                  std::string(entry->completion.message.data(), head.message_bytes));
  }
  InferReply reply;
  reply.code = static_cast<RuntimeCode>(head.runtime_code);
  for (std::size_t i = 0; i < head.num_outputs && i < model.signature.outputs.size(); ++i) {
    const shm::RingTensor& tensor = entry->completion.outputs[i];
    const shm::RingTensor& asked = entry->submission.tensors[entry->submission.head.num_inputs + i];
    exec::TensorView view;
    const bool is_placed = i < options.outputs.size() && options.outputs[i].data != nullptr;
    view.data = is_placed ? options.outputs[i].data : memory_.memory().data() + asked.offset;
    view.size_bytes = static_cast<std::int64_t>(std::min(tensor.bytes, asked.bytes));
    view.element = static_cast<ir::ElementType>(tensor.element_type);
    view.dims.assign(tensor.dims.begin(),
                     tensor.dims.begin() + std::min<std::uint32_t>(tensor.rank, shm::kMaxRingRank));
    reply.outputs.push_back({model.signature.outputs[i].name, std::move(view)});
  }
  reply.owner = owner;
  return reply;
}

}  // namespace sluice::rpc::client
