#include "rpc/client/ring_stream.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "rpc/client/ring_entry.h"
#include "rpc/client/side_client.h"
#include "shm/ring_client.h"

namespace sluice::rpc::client {
namespace {

constexpr std::uint64_t kMaxStreamEntryBytes = std::uint64_t{1} << 30;
/// The client checks this often whether the daemon has ended.
constexpr std::int64_t kStreamSleepNs = 100'000'000;
/// With so many requests in flight the reader naps instead of being woken for each answer.
constexpr std::size_t kManyInFlight = 8;
constexpr std::chrono::microseconds kNapPerRequest(4);
constexpr std::chrono::microseconds kLongestNap(250);
/// An eighth of the entries wakes a sender.
constexpr std::size_t kPartThatWakes = 8;

/// The ring, its entries, and who has them. Shared with the replies, whose outputs lie in entries.
class RingOfStream : public std::enable_shared_from_this<RingOfStream> {
 public:
  struct Entry : RingEntry {
    std::uint64_t id = 0;  ///< the caller's
    std::shared_ptr<const service::ModelEntry> model;
    bool is_in_flight = false;
  };

  RingOfStream(shm::SharedMemory memory, Handed handed, const RingStreamOptions& options)
      : memory_(std::move(memory)),
        handed_(std::move(handed)),
        ring_(memory_.memory(), options.num_entries),
        entries_(options.num_entries) {
    for (std::uint32_t i = options.num_entries; i-- > 0;) {
      Entry& entry = entries_[i];
      entry.index = i;
      entry.region = handed_.region;
      entry.has_room_for_unknown = true;
      entry.offset = shm::ring_bytes(options.num_entries) + i * options.entry_bytes;
      entry.memory = memory_.memory().subspan(entry.offset, options.entry_bytes);
      free_.push_back(&entry);
    }
  }

  /// Null after `close`. Blocks while all are in use.
  Entry* take_entry() {
    std::unique_lock lock(mutex_);
    while (free_.empty() && !is_closed_) freed_.wait_for(lock, kLongestNap);
    if (is_closed_) return nullptr;
    Entry* entry = free_.back();
    free_.pop_back();
    return entry;
  }

  /// A sender that found no entry goes on by itself after a nap: only many wake it earlier.
  void give_back(Entry* entry) {
    std::size_t num_free = 0;
    {
      const std::lock_guard lock(mutex_);
      free_.push_back(entry);
      num_free = free_.size();
    }
    if (num_free == std::max<std::size_t>(entries_.size() / kPartThatWakes, 1)) {
      freed_.notify_all();
    }
  }

  /// False after `close`.
  bool submit(Entry& entry) {
    const std::lock_guard lock(mutex_);
    if (is_closed_ || !ring_.submit(entry.submission)) return false;
    entry.is_in_flight = true;
    ++num_in_flight_;
    return true;
  }

  /// The entry of the next completion, which is in `completion`; null without one.
  Entry* take(shm::Completion& completion) {
    while (ring_.take(completion)) {
      if (completion.head.request >= entries_.size()) continue;
      Entry& entry = entries_[completion.head.request];
      const std::lock_guard lock(mutex_);
      if (!std::exchange(entry.is_in_flight, false)) continue;  // the daemon is confused
      --num_in_flight_;
      return &entry;
    }
    return nullptr;
  }

  std::size_t num_in_flight() const {
    const std::lock_guard lock(mutex_);
    return num_in_flight_;
  }
  bool is_closed() const {
    const std::lock_guard lock(mutex_);
    return is_closed_;
  }

  void close() {
    {
      const std::lock_guard lock(mutex_);
      is_closed_ = true;
    }
    freed_.notify_all();
    ring_.wake();
  }

  /// The daemon ends the ring, and cancels what is in it, when the connection ends.
  void abort() {
    ::shutdown(handed_.socket.get(), SHUT_RDWR);
    is_aborted_.store(true);
    close();
  }

  /// Nothing more comes.
  bool is_over() const { return is_aborted_.load() || ring_.is_closed(); }

  void wait() {
    const std::size_t num_there = num_in_flight();
    if (num_there >= kManyInFlight) {
      return std::this_thread::sleep_for(
          std::min<std::chrono::nanoseconds>(num_there * kNapPerRequest, kLongestNap));
    }
    ring_.wait(/*spin_ns=*/0, kStreamSleepNs);
    // The daemon sends nothing on this connection: a readable socket means that it is gone.
    pollfd end = {handed_.socket.get(), POLLIN, 0};
    if (poll(&end, 1, 0) != 0) is_aborted_.store(true);
  }

 private:
  const shm::SharedMemory memory_;
  const Handed handed_;
  shm::RingClient ring_;
  std::vector<Entry> entries_;
  std::atomic<bool> is_aborted_ = false;

  mutable std::mutex mutex_;  ///< guards the members below, and is held while the ring is written
  std::condition_variable freed_;
  std::vector<Entry*> free_;  ///< the last one's memory is warm
  std::size_t num_in_flight_ = 0;
  bool is_closed_ = false;
};

class RingStream final : public InferStream {
 public:
  RingStream(std::shared_ptr<RingOfStream> ring, FindModel find_model, const SharedTable& shared)
      : ring_(std::move(ring)), find_model_(std::move(find_model)), shared_(shared) {}
  ~RingStream() override { ring_->abort(); }

  Status send(std::uint64_t id, std::uint64_t model, const std::vector<NamedTensor>& inputs,
              const InferOptions& options) override {
    auto entry_of_model = find_model_(model);
    if (entry_of_model == nullptr) return invalid_argument("the daemon has no model {:#x}", model);
    if (!is_carried(inputs, options)) {
      return invalid_argument("a ring carries neither details nor places nor the exchange");
    }
    RingOfStream::Entry* entry = ring_->take_entry();
    if (entry == nullptr) return over();
    if (!fill(*entry, *entry_of_model, inputs, options, shared_)) {
      ring_->give_back(entry);
      return invalid_argument("a request does not fit an entry of {} bytes, or has strings",
                              entry->memory.size());
    }
    entry->id = id;
    entry->model = std::move(entry_of_model);
    if (ring_->submit(*entry)) return ok_status();
    ring_->give_back(entry);
    return over();
  }

  Status cancel(std::uint64_t id) override {
    return unimplemented("request {}: a ring cancels nothing but by timeout_ns", id);
  }
  void close() override { ring_->close(); }
  void abort() override { ring_->abort(); }

  Result<std::optional<StreamAnswer>> next() override {
    while (true) {
      // Read before the completions are: what came before the end counts.
      const bool is_over = ring_->is_over();
      const bool is_closed = ring_->is_closed();
      const std::size_t num_in_flight = ring_->num_in_flight();
      if (RingOfStream::Entry* entry = ring_->take(completion_)) return answer_of(entry);
      if (is_over) return over();
      if (is_closed && num_in_flight == 0) return std::optional<StreamAnswer>();
      ring_->wait();
    }
  }

 private:
  static bool is_carried(const std::vector<NamedTensor>& inputs, const InferOptions& options) {
    for (const NamedTensor& input : inputs) {
      if (input.exchange != 0) return false;
    }
    return !options.wants_detail && options.outputs.empty() && options.kept_outputs.empty();
  }

  static Status over() {
    return Status(Code::kUnavailable, static_cast<std::int32_t>(runtime::RuntimeCode::kFailed),
                  "the stream is over: it was closed, or the daemon ended the ring");
  }

  std::optional<StreamAnswer> answer_of(RingOfStream::Entry* entry) {
    const std::uint64_t id = entry->id;
    const auto model = std::exchange(entry->model, nullptr);
    const std::shared_ptr<const void> owner(
        entry, [ring = ring_](RingOfStream::Entry* used) { ring->give_back(used); });
    return StreamAnswer{id, read_reply(*entry, completion_, *model, {}, owner)};
  }

  const std::shared_ptr<RingOfStream> ring_;
  const FindModel find_model_;
  const SharedTable& shared_;
  shm::Completion completion_;  ///< the reader's
};

}  // namespace

Result<std::unique_ptr<InferStream>> open_ring_stream(const std::string& side_socket,
                                                      const std::string& token,
                                                      const RingStreamOptions& options,
                                                      FindModel find_model,
                                                      const SharedTable& shared) {
  if (options.num_entries > shm::kMaxRingEntries || !std::has_single_bit(options.num_entries)) {
    return invalid_argument("{} entries: take a power of two up to {}", options.num_entries,
                            shm::kMaxRingEntries);
  }
  if (options.entry_bytes % shm::kPlaceAlignment != 0 ||
      options.entry_bytes > kMaxStreamEntryBytes) {
    return invalid_argument("entries of {} bytes: take a multiple of {} up to {}",
                            options.entry_bytes, shm::kPlaceAlignment, kMaxStreamEntryBytes);
  }
  const std::uint64_t bytes =
      shm::ring_bytes(options.num_entries) + options.num_entries * options.entry_bytes;
  auto memory = SLUICE_TRY(shm::SharedMemory::create(static_cast<std::int64_t>(bytes)));
  shm::RingClient::format(memory.memory(), options.num_entries);
  auto handed =
      SLUICE_TRY(hand_over(side_socket, token, wire::SideKind::kRing, memory.fd(), bytes));
  auto ring = std::make_shared<RingOfStream>(std::move(memory), std::move(handed), options);
  return std::unique_ptr<InferStream>(
      std::make_unique<RingStream>(std::move(ring), std::move(find_model), shared));
}

}  // namespace sluice::rpc::client
