#include "rpc/client/ring_caller.h"

#include <poll.h>

#include <algorithm>
#include <chrono>

#include "base/clock.h"
#include "terms/runtime_code.h"

namespace sluice::rpc::client {
namespace {

constexpr std::uint32_t kEntries = 32;
constexpr std::uint64_t kEntryBytes = std::uint64_t{1} << 20;
constexpr std::uint64_t kBytes = shm::ring_bytes(kEntries) + kEntries * kEntryBytes;
constexpr std::int64_t kSpinNs = 50'000;
/// The client checks this often whether the daemon has ended.
constexpr std::int64_t kSleepNs = 100'000'000;
/// The daemon keeps deadlines. The client stops waiting for an answer that is this much later.
constexpr std::int64_t kGraceNs = 500'000'000;

}  // namespace

Result<std::shared_ptr<RingCaller>> RingCaller::create(const std::string& side_socket,
                                                       const std::string& token, bool takes_spans) {
  auto memory = SLUICE_TRY(shm::SharedMemory::create(static_cast<std::int64_t>(kBytes)));
  shm::RingClient::format(memory.memory(), kEntries);
  auto handed =
      SLUICE_TRY(hand_over(side_socket, token, wire::SideKind::kRing, memory.fd(), kBytes));
  return std::make_shared<RingCaller>(std::move(memory), std::move(handed), takes_spans);
}

RingCaller::RingCaller(shm::SharedMemory memory, Handed handed, bool takes_spans)
    : memory_(std::move(memory)),
      handed_(std::move(handed)),
      ring_(memory_.memory(), kEntries),
      entries_(kEntries) {
  // Backwards, so that the first entry is on top of the stack.
  for (std::uint32_t i = kEntries; i-- > 0;) {
    Entry& entry = entries_[i];
    entry.index = i;
    entry.takes_span = takes_spans;
    entry.region = handed_.region;
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

std::optional<Result<InferReply>> RingCaller::infer(const terms::ModelEntry& model,
                                                    const Inputs& inputs,
                                                    const InferOptions& options,
                                                    const SharedTable& shared) {
  if (options.wants_detail || !options.tracestate.empty() || is_closed()) return std::nullopt;
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
      // This thread has not looked at the completions itself, so it looks once more before it
      // believes that the daemon has ended.
      is_over = false;
    } else {
      look(lock);
    }
    if (entry.is_done) break;
    const std::int64_t waited_ns = clock.now_ns() - start_ns;
    if (waited_ns > kSleepNs && !is_daemon_there()) is_dead_.store(true);
    if (timeout_ns > 0 && waited_ns > kGraceNs && waited_ns - kGraceNs > timeout_ns) {
      entry.is_abandoned = true;
      return terms::runtime_error(RuntimeCode::kTimeout, "no answer within {} ns", timeout_ns);
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
    // A number that another process has written.
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

Result<InferReply> RingCaller::reply_of(Entry* entry, const terms::ModelEntry& model,
                                        const InferOptions& options) {
  const std::shared_ptr<const void> owner(
      entry, [ring = shared_from_this()](Entry* used) { ring->give_back(used); });
  return read_reply(*entry, entry->completion, model, options, owner);
}

}  // namespace sluice::rpc::client
