// A ring has more slots than entries where it can. A request takes a slot until its completion is
// read, and so does a cancel; an entry whose completion was read may be in flight again, and
// cancelled again, before the completion of its first cancel is read. The daemon completes in order
// of the slots what it cancels, so one entry has at most three slots, and four per entry suffice.
#include "rpc/client/stream_ring.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <bit>
#include <utility>

#include "base/process/with_lock.h"
#include "shm/region.h"

namespace sluice::rpc::client {
namespace {

constexpr std::uint64_t kMaxStreamEntryBytes = std::uint64_t{1} << 30;
constexpr std::uint32_t kSlotsPerEntry = 4;
/// The client checks this often whether the daemon has ended.
constexpr std::int64_t kStreamSleepNs = 100'000'000;
/// With so many requests in flight the reader naps instead of being woken for each answer.
constexpr std::size_t kManyInFlight = 8;
constexpr std::chrono::microseconds kNapPerRequest(4);
constexpr std::chrono::microseconds kLongestNap(250);
/// An eighth of the entries wakes a sender.
constexpr std::size_t kPartThatWakes = 8;

std::uint32_t num_slots(const RingStreamOptions& options) {
  return std::min(options.num_entries * kSlotsPerEntry, shm::kMaxRingEntries);
}

}  // namespace

Result<std::shared_ptr<StreamRing>> StreamRing::create(const std::string& side_socket,
                                                       const std::string& token,
                                                       const RingStreamOptions& options) {
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
      shm::ring_bytes(num_slots(options)) + options.num_entries * options.entry_bytes;
  auto memory = SLUICE_TRY(shm::SharedMemory::create(static_cast<std::int64_t>(bytes)));
  shm::RingClient::format(memory.memory(), num_slots(options));
  auto handed =
      SLUICE_TRY(hand_over(side_socket, token, wire::SideKind::kRing, memory.fd(), bytes));
  return std::make_shared<StreamRing>(std::move(memory), std::move(handed), options);
}

StreamRing::StreamRing(shm::SharedMemory memory, Handed handed, const RingStreamOptions& options)
    : memory_(std::move(memory)),
      handed_(std::move(handed)),
      ring_(memory_.memory(), num_slots(options)),
      entries_(options.num_entries) {
  for (std::uint32_t i = options.num_entries; i-- > 0;) {
    Entry& entry = entries_[i];
    entry.index = i;
    entry.region = handed_.region;
    entry.has_room_for_unknown = options.takes_unknown_outputs;
    entry.offset = shm::ring_bytes(num_slots(options)) + i * options.entry_bytes;
    entry.memory = memory_.memory().subspan(entry.offset, options.entry_bytes);
    free_.push_back(&entry);
  }
}

StreamRing::Entry* StreamRing::take_entry() {
  std::unique_lock lock(mutex_);
  while (free_.empty() && !is_closed_) freed_.wait_for(lock, kLongestNap);
  if (is_closed_) return nullptr;
  Entry* entry = free_.back();
  free_.pop_back();
  return entry;
}

StreamRing::Entry* StreamRing::try_take_entry() {
  const std::lock_guard lock(mutex_);
  if (is_closed_ || free_.empty()) return nullptr;
  Entry* entry = free_.back();
  free_.pop_back();
  return entry;
}

/// A sender that found no entry goes on by itself after a nap: only many wake it earlier.
void StreamRing::give_back(Entry* entry) {
  const std::size_t num_free = with_lock(mutex_, [&] {
    free_.push_back(entry);
    return free_.size();
  });
  if (num_free == std::max<std::size_t>(entries_.size() / kPartThatWakes, 1)) {
    freed_.notify_all();
  }
}

bool StreamRing::submit(Entry& entry) {
  const std::lock_guard lock(mutex_);
  if (is_closed_ || !ring_.submit(entry.submission)) return false;
  entry.is_in_flight = true;
  ++num_in_flight_;
  return true;
}

bool StreamRing::cancel(std::uint64_t id) {
  const std::lock_guard lock(mutex_);
  const auto it = std::ranges::find_if(
      entries_, [id](const Entry& entry) { return entry.is_in_flight && entry.id == id; });
  if (it == entries_.end()) return true;
  shm::Submission cancel;
  cancel.head.request = entries_.size();  // no entry's: `take` skips its completion
  cancel.head.model = it->index;
  cancel.head.kind = shm::SubmissionKind::kCancel;
  return ring_.submit(cancel);
}

bool StreamRing::has_untaken() const {
  const std::lock_guard lock(mutex_);
  return ring_.has_untaken();
}

StreamRing::Entry* StreamRing::take(shm::Completion& completion) {
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

void StreamRing::wait() {
  const std::size_t num_there = num_in_flight();
  std::chrono::nanoseconds nap(0);
  if (num_there >= kManyInFlight) {
    nap = std::min<std::chrono::nanoseconds>(num_there * kNapPerRequest, kLongestNap);
  } else {
    ring_.wait(/*spin_ns=*/0, kStreamSleepNs);
  }
  // The daemon sends nothing on this connection: a readable socket means that it is gone.
  pollfd end = {handed_.socket.get(), POLLIN, 0};
  const timespec limit = {0, static_cast<long>(nap.count())};
  if (ppoll(&end, 1, &limit, nullptr) > 0) is_lost_.store(true);
}

std::size_t StreamRing::num_in_flight() const {
  const std::lock_guard lock(mutex_);
  return num_in_flight_;
}

bool StreamRing::is_closed() const {
  const std::lock_guard lock(mutex_);
  return is_closed_;
}

void StreamRing::close() {
  with_lock(mutex_, [&] { is_closed_ = true; });
  freed_.notify_all();
  ring_.wake();
}

void StreamRing::abort() {
  is_aborted_.store(true);
  ::shutdown(handed_.socket.get(), SHUT_RDWR);
  close();
}

}  // namespace sluice::rpc::client
