// The default stream of CUDA waits for the blocking streams and they for it. All guests share a
// context, so the driver's own default stream would join the guests' work; a guest's is a stream
// like others here, and events order it. An edge is recorded only where one side has new work and
// the other comes next.
#include "guest/proxy/guest.h"

namespace sluice::guest {

using cuda::CuResult;

namespace {

constexpr std::uint64_t kMemoryUnit = 512;  // what an allocation counts in multiples of
constexpr std::size_t kMaxAllocations = 1 << 20;

const EntryTable& entry_table() {
  static const EntryTable kTable = [] {
    EntryTable table;
    fill_device_entries(table);
    fill_memory_entries(table);
    fill_stream_entries(table);
    fill_event_entries(table);
    fill_code_entries(table);
    fill_graph_entries(table);
    fill_offer_entries(table);
    return table;
  }();
  return kTable;
}

std::uint64_t counted(std::uint64_t bytes) {
  return (bytes + kMemoryUnit - 1) / kMemoryUnit * kMemoryUnit;
}

}  // namespace

CuResult Guest::start() {
  const CuResult result = take_stream(0, &default_stream_.stream);
  if (result != CuResult::kSuccess) return result;
  return take_stream(0, &memory_stream_.stream);
}

/// The streams that it has had are of the whole device.
CuResult Guest::take_cores(std::int32_t num_cores, std::int32_t* granted) {
  if (cores_ != nullptr || !streams.all().empty()) return CuResult::kInvalidValue;
  std::unique_ptr<CoreGrant> grant;
  const CuResult result = device_.cores().take(num_cores, &grant);
  if (result != CuResult::kSuccess) return result;
  release(default_stream_);
  release(memory_stream_);
  cores_ = std::move(grant);
  *granted = cores_->num_cores();
  return start();
}

CuResult Guest::take_stream(int priority, cuda::CuStream* stream) {
  if (cores_ == nullptr || cores_->context() == nullptr) {
    return device_.take_stream(priority, stream);
  }
  return driver().green_ctx_stream_create(stream, cores_->context(), cuda::kStreamNonBlocking,
                                          priority);
}

void Guest::give_stream(int priority, cuda::CuStream stream) {
  if (cores_ == nullptr || cores_->context() == nullptr) {
    device_.give_stream(priority, stream);
  } else {
    driver().stream_destroy(stream);
  }
}

Guest::~Guest() {
  pause();
  for (auto& [number, stream] : streams.all()) end_capture(stream);  // frees those that joined
  for (auto& [number, stream] : streams.all()) release(stream);
  release(default_stream_);
  for (auto& [number, exec] : graph_execs.all()) driver().graph_exec_destroy(exec);
  for (auto& [number, graph] : graphs.all()) driver().graph_destroy(graph);
  for (auto& [number, event] : events.all()) driver().event_destroy(event.event);
  for (const auto& [address, memory] : memory_) {
    if (memory.is_variable || memory.offered != nullptr) continue;
    driver().mem_free_async(address, memory_stream_.stream);
  }
  release(memory_stream_);
}

CuResult Guest::handle(const Call& call, Answer& answer) {
  // Between the pieces of a copy nothing else comes.
  if (call.kind != CallKind::kCopyIn && call.kind != CallKind::kCopyOut) pause();
  ++use_->num_calls;
  if (call.kind == CallKind::kLaunch || call.kind == CallKind::kGraphLaunch) ++use_->num_launches;
  const CuResult result = entry_table()[call.kind](*this, call, answer);
  device_.notice(result);
  return result;
}

std::uint64_t Guest::quota() const {
  return std::min(limits_.memory_bytes, device_.memory_bytes());
}

bool Guest::take_quota(std::uint64_t bytes) {
  if (bytes > quota() - used_bytes_) return false;
  use_->memory_bytes = used_bytes_ += bytes;
  return true;
}

void Guest::give_quota(std::uint64_t bytes) { use_->memory_bytes = used_bytes_ -= bytes; }

GuestStream* Guest::find_stream(std::uint64_t number) {
  return number == kDefaultStream ? &default_stream_ : streams.find(number);
}

CuResult Guest::wait_for(GuestStream& stream, GuestStream& before) {
  if (before.tail == nullptr) {
    const CuResult result = driver().event_create(&before.tail, cuda::kEventDisableTiming);
    if (result != CuResult::kSuccess) return result;
  }
  const CuResult result = driver().event_record(before.tail, before.stream);
  if (result != CuResult::kSuccess) return result;
  return driver().stream_wait_event(stream.stream, before.tail, 0);
}

bool Guest::is_in_capture(const GuestStream& stream) const {
  if (num_captures_ == 0 || stream.is_captured) return stream.is_captured;
  cuda::CuCaptureStatus status = cuda::CuCaptureStatus::kNone;
  return driver().stream_is_capturing(stream.stream, &status) == CuResult::kSuccess &&
         status != cuda::CuCaptureStatus::kNone;
}

/// CUDA allows no use of the default stream that would make it wait for a captured one.
CuResult Guest::order_default() {
  for (const auto& [number, stream] : streams.all()) {
    if (!stream.is_blocking || !is_in_capture(stream)) continue;
    driver().stream_synchronize(stream.stream);  // no capture allows this, and it ends
    return CuResult::kCaptureImplicit;
  }
  for (auto& [number, stream] : streams.all()) {
    if (!stream.is_blocking) continue;
    if (stream.has_new_work) {
      const CuResult result = wait_for(default_stream_, stream);
      if (result != CuResult::kSuccess) return result;
      stream.has_new_work = false;
    }
    stream.is_behind_default = true;
  }
  return CuResult::kSuccess;
}

CuResult Guest::order_behind_default(GuestStream& stream) {
  if (!stream.is_blocking) return CuResult::kSuccess;
  if (stream.is_behind_default) {
    const CuResult result = wait_for(stream, default_stream_);
    if (result != CuResult::kSuccess) return result;
    stream.is_behind_default = false;
  }
  stream.has_new_work = true;
  return CuResult::kSuccess;
}

CuResult Guest::enter(std::uint64_t number, GuestStream** stream) {
  *stream = find_stream(number);
  if (*stream == nullptr) return CuResult::kInvalidHandle;
  if (is_in_capture(**stream)) return CuResult::kSuccess;  // a capture has its own order
  return *stream == &default_stream_ ? order_default() : order_behind_default(**stream);
}

CuResult Guest::enter_outside_captures(std::uint64_t number, GuestStream** stream) {
  const CuResult result = enter(number, stream);
  if (result != CuResult::kSuccess) return result;
  return is_in_capture(**stream) ? CuResult::kCaptureUnsupported : CuResult::kSuccess;
}

/// A turn must not wait for a kernel, so the stream's work comes first. The driver, too, may wait
/// for it before it copies pageable memory.
CuResult Guest::copy(CopyPiece piece, const std::function<CuResult(cuda::CuStream)>& submit) {
  GuestStream* stream = nullptr;
  CuResult result = enter_outside_captures(piece.stream, &stream);
  if (result == CuResult::kSuccess && !copies_.continues(piece)) {
    copies_.pause();
    result = driver().stream_synchronize(stream->stream);
  }
  if (result != CuResult::kSuccess) return result;
  piece.stream_priority = stream->priority;
  result = copies_.run(piece, [&] {
    const CuResult submitted = submit(stream->stream);
    if (submitted != CuResult::kSuccess) return submitted;
    return driver().stream_synchronize(stream->stream);
  });
  if (result != CuResult::kSuccess) return result;
  const bool is_in = piece.direction == device::Direction::kToDevice;
  (is_in ? use_->to_device_bytes : use_->from_device_bytes) += piece.size_bytes;
  return result;
}

CuResult Guest::wait_for_all() {
  CuResult first = driver().stream_synchronize(default_stream_.stream);
  for (auto& [number, stream] : streams.all()) {
    if (is_in_capture(stream)) continue;
    const CuResult result = driver().stream_synchronize(stream.stream);
    if (first == CuResult::kSuccess) first = result;
  }
  return first;
}

void Guest::end_capture(GuestStream& stream) {
  if (!stream.is_captured) return;
  cuda::CuGraph graph = nullptr;
  if (driver().stream_end_capture(stream.stream, &graph) == CuResult::kSuccess) {
    driver().graph_destroy(graph);
  }
  stream.is_captured = false;
  --num_captures_;
}

void Guest::release(GuestStream& stream) {
  if (stream.stream == nullptr) return;
  end_capture(stream);
  // No call of the guest may come behind its last work, so a fault is seen here first.
  const CuResult result = driver().stream_synchronize(stream.stream);
  device_.notice(result);
  const bool is_idle = result == CuResult::kSuccess;
  if (stream.tail != nullptr) driver().event_destroy(stream.tail);
  if (is_idle) {
    give_stream(stream.priority, stream.stream);
  } else {
    driver().stream_destroy(stream.stream);
  }
  stream = {};
}

bool Guest::owns(std::uint64_t address, std::uint64_t bytes) const {
  auto after = memory_.upper_bound(address);
  if (after == memory_.begin()) return false;
  const auto& [start, memory] = *--after;
  return address - start <= memory.bytes && bytes <= memory.bytes - (address - start);
}

CuResult Guest::allocate(std::uint64_t bytes, cuda::CuStream stream, std::uint64_t* address) {
  if (bytes == 0 || bytes > quota())
    return bytes == 0 ? CuResult::kInvalidValue : CuResult::kOutOfMemory;
  if (memory_.size() >= kMaxAllocations || !take_quota(counted(bytes))) {
    return CuResult::kOutOfMemory;
  }
  CuResult result = driver().mem_alloc_from_pool_async(address, bytes, device_.pool(), stream);
  if (result == CuResult::kSuccess) {
    // The pool may give memory that another guest wrote.
    result = driver().memset_d8_async(*address, 0, bytes, stream);
    if (result != CuResult::kSuccess) driver().mem_free_async(*address, stream);
  }
  if (result != CuResult::kSuccess) {
    give_quota(counted(bytes));
    return result;
  }
  memory_[*address] = {.bytes = bytes, .is_in_order = stream != memory_stream_.stream};
  return CuResult::kSuccess;
}

CuResult Guest::add_variable(GuestLibrary& library, std::uint64_t address, std::uint64_t bytes) {
  if (memory_.contains(address)) return CuResult::kSuccess;
  const std::uint64_t counted_before = std::min(bytes, library.variable_bytes);
  if (memory_.size() >= kMaxAllocations || !take_quota(bytes - counted_before)) {
    return CuResult::kOutOfMemory;
  }
  library.variable_bytes -= counted_before;
  memory_[address] = {.bytes = bytes, .is_variable = true};
  return CuResult::kSuccess;
}

CuResult Guest::free(std::uint64_t address, cuda::CuStream stream) {
  const auto found = memory_.find(address);
  if (found == memory_.end() || found->second.is_variable || found->second.num_opened > 0) {
    return CuResult::kInvalidValue;
  }
  const CuResult result = found->second.offered != nullptr
                              ? wait_for_all()  // another guest may give it back
                              : driver().mem_free_async(address, stream);
  if (result != CuResult::kSuccess) return result;
  give_quota(counted(found->second.bytes));
  memory_.erase(found);
  return CuResult::kSuccess;
}

CuResult Guest::offer(std::uint64_t address, std::string* key) {
  const auto found = memory_.find(address);
  if (found == memory_.end()) return CuResult::kInvalidValue;
  GuestMemory& memory = found->second;
  if (memory.is_variable || memory.is_in_order || memory.num_opened > 0) {
    return CuResult::kInvalidValue;
  }
  if (memory.offered == nullptr) memory.offered = device_.offers().add(address, memory.bytes);
  if (memory.offered == nullptr) return CuResult::kNotSupported;
  *key = memory.offered->key();
  return CuResult::kSuccess;
}

CuResult Guest::open(const std::string& key, std::uint64_t* address, std::uint64_t* bytes) {
  auto offered = device_.offers().find(key);
  if (offered == nullptr) return CuResult::kInvalidHandle;
  *address = offered->address();
  *bytes = offered->bytes();
  if (const auto found = memory_.find(*address); found != memory_.end()) {
    if (found->second.num_opened == 0) return CuResult::kInvalidContext;
    ++found->second.num_opened;
    return CuResult::kSuccess;
  }
  if (memory_.size() >= kMaxAllocations || !take_quota(counted(*bytes))) {
    return CuResult::kOutOfMemory;
  }
  memory_[*address] = {.bytes = *bytes, .num_opened = 1, .offered = std::move(offered)};
  return CuResult::kSuccess;
}

CuResult Guest::close(std::uint64_t address) {
  const auto found = memory_.find(address);
  if (found == memory_.end() || found->second.num_opened == 0) return CuResult::kInvalidValue;
  if (found->second.num_opened == 1) {
    const CuResult result = wait_for_all();
    if (result != CuResult::kSuccess) return result;
  }
  if (--found->second.num_opened > 0) return CuResult::kSuccess;
  give_quota(counted(found->second.bytes));
  memory_.erase(found);
  return CuResult::kSuccess;
}

}  // namespace sluice::guest
