// Uses any bytes as traffic between a worker process and its daemon. The first byte selects the
// kind:
//
//     a  replies of the worker: a number of completions, the completions, and the bytes that it
//     writes
//        to its reply memory. For any content, each inference gets one valid reply, and all memory
//        is returned.
//     m  a message of the worker, in reply to a command
//     p  a page of a worker's profile
//     s  the setup text that starts a worker
//     r  a request, as the worker reads it
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <span>
#include <string_view>

#include "ir/type.h"
#include "runtime/statistics/model_statistics.h"
#include "shm/ring_server.h"
#include "worker/link/flights.h"
#include "worker/protocol/channel.h"
#include "worker/protocol/model_info.h"
#include "worker/protocol/profile_pages.h"
#include "worker/protocol/setup.h"
#include "worker/reply.h"

namespace {

using sluice::worker::Arena;
using sluice::worker::Flights;
namespace shm = sluice::shm;

using Bytes = std::span<const std::uint8_t>;

constexpr int kInferences = 3;
constexpr std::int64_t kArenaLimitBytes = 32 << 20;
constexpr std::size_t kMaxCompletions = 16;

void require(bool is_so) {
  if (!is_so) std::abort();
}

template <typename T>
T next(Bytes& from) {
  T value = {};
  const std::size_t size = std::min(from.size(), sizeof(T));
  if (size > 0) std::memcpy(&value, from.data(), size);
  from = from.subspan(size);
  return value;
}

void touch(const sluice::terms::TensorView& view) {
  const auto* bytes = static_cast<const volatile char*>(view.data);
  for (std::int64_t i = 0; i < view.size_bytes; ++i) (void)bytes[i];
}

/// y: f32[N,4] and t: string[N].
const sluice::terms::Signature& signature() {
  static const auto kSignature = [] {
    sluice::terms::Signature made;
    made.outputs = {{"y", sluice::ir::parse_type("f32[N,4]").value()},
                    {"t", sluice::ir::parse_type("string[N]").value()}};
    return made;
  }();
  return kSignature;
}

// ---- answers

/// The other end of the ring: keeps no rules.
class HostileWorker {
 public:
  explicit HostileWorker(std::span<std::byte> memory)
      : memory_(memory), ring_(shm::RingServer::create(memory).value()) {}

  /// Writes to all reply memory that was assigned since the last call.
  void fill_rooms(Bytes bytes) {
    shm::Submission entry;
    while (ring_.take(entry) == shm::RingServer::Take::kEntry) {
      if (entry.head.num_outputs == 0) continue;
      const shm::RingTensor& room = entry.tensors[entry.head.num_inputs];
      const std::size_t size = std::min<std::size_t>(bytes.size(), room.bytes);
      if (size > 0) std::memcpy(memory_.data() + room.offset, bytes.data(), size);
    }
  }

  void complete(Bytes& from) {
    shm::Completion completion;
    completion.head.request = next<std::uint8_t>(from) % (kInferences + 2);
    completion.head.status_code = next<std::int8_t>(from);
    completion.head.runtime_code = next<std::int16_t>(from);
    completion.head.num_outputs = next<std::uint8_t>(from) % 2;
    completion.outputs[0].bytes = next<std::uint64_t>(from);
    ring_.complete(completion);
  }

 private:
  const std::span<std::byte> memory_;
  shm::RingServer ring_;
};

/// Whoever asked.
struct Client {
  int num_answers = 0;
  sluice::worker::ToldTimes times;
  sluice::runtime::ModelStatistics statistics{{{{sluice::terms::DeviceId(0), 1024}}}};

  void take(sluice::worker::Answer answer) {
    ++num_answers;
    const auto told = times.next(answer.bundle.numbers, 1000);
    statistics.record(told);
    statistics.add_busy(told.compute_ns);
    statistics.add_lane_busy(0, told.compute_ns);
    (void)statistics.snapshot();
    const auto reply = sluice::worker::reply_of(std::move(answer), signature(), "model", true, {});
    require(!reply.outputs.empty() || reply.code != sluice::RuntimeCode::kOk);
    require(reply.outputs.empty() || reply.outputs.size() == signature().outputs.size());
    require(reply.code == sluice::RuntimeCode::kOk || !reply.errors.empty());
    for (const auto& output : reply.outputs) touch(output.view);
  }
};

std::uint64_t first_free(Arena& arena) { return arena.allocate(1).value().offset(); }

void try_answers(Bytes bytes) {
  static const std::shared_ptr<Arena> kArena = Arena::create(kArenaLimitBytes).value();
  static const std::uint64_t kFirstFree = first_free(*kArena);
  shm::RingClient::format(kArena->memory(), sluice::worker::kRingEntries);
  Client client;
  {
    Flights flights(kArena, "worker");
    HostileWorker worker(kArena->memory());
    float x[] = {1, 2, 3, 4};
    for (int i = 0; i < kInferences; ++i) {
      sluice::worker::Inference inference;
      inference.request.tensors = {{x, sizeof(x), sluice::ir::ElementType::kF32, {1, 4}}};
      inference.on_answer = [&](sluice::worker::Answer answer) { client.take(std::move(answer)); };
      require(flights.infer(inference).is_ok());
    }
    const std::size_t count = next<std::uint8_t>(bytes) % (kMaxCompletions + 1);
    Bytes completions = bytes.first(std::min<std::size_t>(bytes.size(), 13 * count));
    bytes = bytes.subspan(completions.size());
    for (std::size_t i = 0; i < count; ++i) {
      worker.fill_rooms(bytes);
      worker.complete(completions);
      while (flights.take_one()) continue;
    }
    flights.end(sluice::make_error(sluice::Code::kUnavailable, "it died"));
  }
  require(client.num_answers == kInferences);
  require(first_free(*kArena) == kFirstFree);
}

// ---- the rest

void try_message(std::string_view text) {
  const auto body = sluice::worker::parse_message(text);
  if (!body.is_ok()) return;
  (void)sluice::worker::status_from_json(*body);
  const auto info = sluice::worker::info_of(*body);
  require(info.footprint.total_bytes() >= 0 && info.depth > 0);
  // As it goes to clients.
  const auto again = sluice::worker::info_of(sluice::worker::info_json(1, info));
  require(again.footprint.total_bytes() == info.footprint.total_bytes());
}

/// Read twice: the second time its indices may lead to what the first one brought.
void try_page(std::string_view text) {
  constexpr std::int64_t kMaxSpans = 64;
  const auto body = sluice::worker::parse_message(text);
  if (!body.is_ok()) return;
  sluice::worker::ProfileReader reader(kMaxSpans);
  if (!reader.add(*body).is_ok() || !reader.add(*body).is_ok()) return;
  const auto profile = reader.take();
  require(profile.spans.size() <= kMaxSpans);
  for (const auto& span : profile.spans) {
    require(span.model < profile.models.size());
    const bool is_named = span.kind == sluice::terms::SpanKind::kOperation;
    require(!is_named || span.name < profile.names.size());
  }
}

void try_setup(const std::string& text) {
  const auto setup = sluice::worker::parse_setup(text);
  if (setup.is_ok()) (void)sluice::worker::print_setup(*setup);
}

void try_request(Bytes bytes) {
  alignas(64) static std::byte room[4096];
  const std::size_t size = std::min(bytes.size(), sizeof(room));
  if (size > 0) std::memcpy(room, bytes.data(), size);
  const auto bundle = sluice::worker::read_bundle(std::span(room).first(size));
  if (!bundle.is_ok()) return;
  for (const auto& tensor : bundle->tensors) touch(tensor);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const Bytes rest = Bytes(data, size).subspan(1);
  const std::string text(reinterpret_cast<const char*>(rest.data()), rest.size());
  switch (data[0]) {
    case 'm': try_message(text); break;
    case 'p': try_page(text); break;
    case 's': try_setup(text); break;
    case 'r': try_request(rest); break;
    default: try_answers(rest); break;
  }
  return 0;
}
