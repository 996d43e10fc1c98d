// One guest as its proxy sees it: what it holds, and its calls.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "guest/proxy/shared_device.h"
#include "guest/wire/call_ring.h"
#include "guest/wire/calls.h"

namespace sluice::guest {

/// Objects by the numbers that a guest knows them by. Numbers are never used twice.
template <typename T>
class Table {
 public:
  /// 0 if the guest has too many.
  std::uint64_t add(T object) {
    constexpr std::size_t kMaxObjects = 1 << 16;
    if (objects_.size() >= kMaxObjects) return 0;
    objects_.emplace(++last_, std::move(object));
    return last_;
  }
  T* find(std::uint64_t number) {
    const auto found = objects_.find(number);
    return found != objects_.end() ? &found->second : nullptr;
  }
  void remove(std::uint64_t number) { objects_.erase(number); }
  std::map<std::uint64_t, T>& all() { return objects_; }

 private:
  std::map<std::uint64_t, T> objects_;
  std::uint64_t last_ = 0;
};

struct GuestStream {
  cuda::CuStream stream = nullptr;
  int priority = 0;
  bool is_blocking = true;         ///< waits for the default stream and the other way round
  bool is_captured = false;        ///< a capture began here
  bool has_new_work = false;       ///< the default stream must wait for it
  bool is_behind_default = false;  ///< it must wait for new work of the default stream
  cuda::CuEvent tail = nullptr;    ///< of its last work, for that order; made when first needed
};

struct GuestEvent {
  cuda::CuEvent event = nullptr;
  /// The stream in which it was recorded last; none in a capture.
  std::optional<std::uint64_t> stream = {};
};

struct GuestLibrary {
  std::shared_ptr<const Module> module;
  std::uint64_t variable_bytes = 0;  ///< counted for variables that were not asked for yet
};

struct GuestKernel {
  std::shared_ptr<const Module> module;
  cuda::CuFunction function = nullptr;
  std::vector<ParameterPlace> parameters;
  std::uint32_t parameter_bytes = 0;
  int max_threads = 0;
  int max_dynamic_shared_bytes = 0;  ///< as this guest has set it
  ByteCharge charge;                 ///< for the parameters
};

struct GuestMemory {
  std::uint64_t bytes = 0;
  bool is_variable = false;                           ///< of a module: cannot be freed
  bool is_in_order = false;                           ///< allocated in the order of a stream
  std::uint64_t num_opened = 0;                       ///< times; 0: it is the guest's own
  std::shared_ptr<const OfferedMemory> offered = {};  ///< keeps the memory, if not null
};

/// What a call gives back beside its result.
struct Answer {
  std::array<std::uint64_t, 4> words = {};
  std::span<std::byte> room;  ///< for a payload
  std::uint32_t payload_bytes = 0;
};

struct GuestLimits {
  std::uint64_t memory_bytes = UINT64_MAX;                                 ///< of the device
  std::int64_t code_bytes = 2 * static_cast<std::int64_t>(kMaxCodeBytes);  ///< of the host
};

/// Who a guest is, as its socket says.
struct GuestPeer {
  std::int32_t process = 0;
  bool may_list = false;  ///< it is the proxy's own user
};

/// Used by one thread, which has joined the device. The destructor waits for the guest's work and
/// gives everything back.
class Guest {
 public:
  Guest(SharedDevice& device, const GuestLimits& limits, const GuestPeer& peer = {})
      : code_budget(std::make_shared<ByteBudget>(limits.code_bytes, device.code_budget())),
        device_(device),
        limits_(limits),
        use_(device.guests().add(peer.process)),
        may_list_(peer.may_list),
        copies_(device.copies()) {}
  Guest(const Guest&) = delete;
  Guest& operator=(const Guest&) = delete;
  ~Guest();

  /// Takes the guest's own streams. Fails: as the driver.
  cuda::CuResult start();
  /// Checks the call and carries it out.
  cuda::CuResult handle(const Call& call, Answer& answer);
  /// No call has come for a moment: others need not wait for the rest of this guest's copy.
  void pause() { copies_.pause(); }

  // For the entries.

  /// Multiprocessors of its own, for a guest that has created no streams; their number.
  /// Fails: kInvalidValue for a guest that has some; as CoreGrants::take.
  cuda::CuResult take_cores(std::int32_t num_cores, std::int32_t* granted);
  /// The multiprocessors on which its kernels run; none: all.
  const CoreGrant* cores() const { return cores_.get(); }
  /// For work on these multiprocessors.
  cuda::CuResult take_stream(int priority, cuda::CuStream* stream);
  /// Requires: the stream has no work and is not captured.
  void give_stream(int priority, cuda::CuStream stream);

  SharedDevice& device() { return device_; }
  const cuda::DriverTable& driver() const { return device_.driver(); }
  std::uint64_t quota() const;
  std::uint64_t used_bytes() const { return used_bytes_; }
  /// Counts bytes of the device. False: they are beyond the quota.
  bool take_quota(std::uint64_t bytes);
  void give_quota(std::uint64_t bytes);
  /// This guest's entry of the proxy's list.
  const GuestUse* use() const { return use_.get(); }
  /// Whether it may read that list.
  bool may_list() const { return may_list_; }

  GuestStream* find_stream(std::uint64_t number);
  /// The stream for work that comes now: orders it behind what it must wait for.
  /// Fails: kInvalidHandle; kCaptureImplicit for the default stream while a stream that orders it
  /// is captured; as the driver.
  cuda::CuResult enter(std::uint64_t number, GuestStream** stream);
  /// The same for work that a graph cannot hold. Fails: kCaptureUnsupported in a capture too.
  cuda::CuResult enter_outside_captures(std::uint64_t number, GuestStream** stream);
  /// Whether a capture began in the stream, or the stream has joined one.
  bool is_in_capture(const GuestStream& stream) const;
  /// Waits for the work of the piece's stream, then for the piece's turn, in which `submit` gives
  /// it to that stream; then for its end. Fails: as enter_outside_captures and `submit`.
  cuda::CuResult copy(CopyPiece piece,
                      const std::function<cuda::CuResult(cuda::CuStream stream)>& submit);
  cuda::CuResult wait_for_all();
  bool is_capturing() const { return num_captures_ > 0; }
  void count_captures(int more) { num_captures_ += more; }
  /// Waits for the stream and gives it back. Drops a capture that began in it.
  void release(GuestStream& stream);

  /// Whether [address, address + bytes) lies in memory of this guest.
  bool owns(std::uint64_t address, std::uint64_t bytes) const;
  /// In the order of `stream`; the new memory holds zeros. Fails: kOutOfMemory beyond the quota.
  cuda::CuResult allocate(std::uint64_t bytes, cuda::CuStream stream, std::uint64_t* address);
  cuda::CuResult free(std::uint64_t address, cuda::CuStream stream);
  /// Makes a variable of `library` the guest's. Fails: kOutOfMemory beyond the quota.
  cuda::CuResult add_variable(GuestLibrary& library, std::uint64_t address, std::uint64_t bytes);
  /// The key by which others open memory at `address`. Fails: kInvalidValue for an address at which
  /// no memory of cudaMalloc begins; kNotSupported without random numbers.
  cuda::CuResult offer(std::uint64_t address, std::string* key);
  /// Fails: kInvalidHandle for a key that nobody offers; kInvalidContext for the guest's own;
  /// kOutOfMemory beyond the quota.
  cuda::CuResult open(const std::string& key, std::uint64_t* address, std::uint64_t* bytes);
  /// Waits for the guest's work. Fails: kInvalidValue for memory that it has not opened.
  cuda::CuResult close(std::uint64_t address);
  cuda::CuStream memory_stream() const { return memory_stream_.stream; }

  Table<GuestStream> streams;
  Table<GuestEvent> events;
  Table<GuestLibrary> libraries;
  Table<GuestKernel> kernels;
  Table<cuda::CuGraph> graphs;
  Table<cuda::CuGraphExec> graph_execs;
  const std::shared_ptr<ByteBudget> code_budget;  ///< of code and its descriptions in host memory
  DeviceCode code;                                ///< pieces of device code that have come

 private:
  cuda::CuResult order_behind_default(GuestStream& stream);
  cuda::CuResult order_default();
  cuda::CuResult wait_for(GuestStream& stream, GuestStream& before);
  void end_capture(GuestStream& stream);

  SharedDevice& device_;
  const GuestLimits limits_;
  const std::shared_ptr<GuestUse> use_;
  const bool may_list_;
  std::unique_ptr<CoreGrant> cores_;
  GuestStream default_stream_;
  GuestStream memory_stream_;                    ///< of allocations that no stream orders
  std::map<std::uint64_t, GuestMemory> memory_;  ///< by address
  std::uint64_t used_bytes_ = 0;
  int num_captures_ = 0;
  CopyTurns::Client copies_;
};

using Entry = cuda::CuResult (*)(Guest& guest, const Call& call, Answer& answer);

/// By kind; complete once all `fill_` functions have run.
class EntryTable {
 public:
  Entry& operator[](CallKind kind) { return entries_[static_cast<std::size_t>(kind)]; }
  const Entry& operator[](CallKind kind) const { return entries_[static_cast<std::size_t>(kind)]; }

 private:
  std::array<Entry, static_cast<std::size_t>(CallKind::kCount)> entries_ = {};
};

void fill_device_entries(EntryTable& table);
void fill_memory_entries(EntryTable& table);
void fill_stream_entries(EntryTable& table);
void fill_event_entries(EntryTable& table);
void fill_code_entries(EntryTable& table);
void fill_graph_entries(EntryTable& table);
void fill_offer_entries(EntryTable& table);

}  // namespace sluice::guest
