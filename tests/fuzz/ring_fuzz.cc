// Uses any bytes as the memory of a ring with a hostile client. The daemon's side drains the ring,
// checks each entry as a request of a model, and completes the request. For any content, bytes
// outside the ring and its outputs stay unchanged.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <vector>

#include "dispatch/flight_table.h"
#include "ir/type.h"
#include "service/clients/client_memory.h"
#include "service/ring_request.h"
#include "shm/ring_client.h"
#include "shm/ring_server.h"
#include "shm/shared_memory.h"

namespace {

using sluice::service::ClientMemory;
using sluice::service::ClientSession;
namespace shm = sluice::shm;

constexpr std::uint32_t kEntries = 4;
constexpr std::size_t kBytes = shm::ring_bytes(kEntries) + 4096;
constexpr std::uint64_t kRegion = 1;

/// x: f32[N,4] and i: i64[2]; y: f32[N,4].
const sluice::terms::Signature& signature() {
  static const auto kSignature = [] {
    sluice::terms::Signature made;
    made.inputs = {{"x", sluice::ir::parse_type("f32[N,4]").value()},
                   {"i", sluice::ir::parse_type("i64[2]").value()}};
    made.outputs = {{"y", sluice::ir::parse_type("f32[N,4]").value()}};
    return made;
  }();
  return kSignature;
}

/// A session with one region, and this process as its client.
struct Fixture {
  shm::SharedMemory memory = shm::SharedMemory::create(kBytes).value();
  std::shared_ptr<shm::Region> region = shm::Region::adopt(memory.fd(), kBytes).value();
  ClientSession session{sluice::terms::SessionId{1}, "fuzz", {}, "token", 0, {},
                        ClientMemory({}).of("fuzz")};

  Fixture() {
    if (!session.add_region(kRegion, region).is_ok()) std::abort();
  }
};

/// Takes no requests: the fuzzer itself answers.
class Sink final : public sluice::runtime::RequestSink {
 public:
  const sluice::terms::Signature& signature() const override { return ::signature(); }
  int depth() const override { return 1; }
  sluice::Clock& clock() const override { return sluice::system_clock(); }
  sluice::Result<std::uint64_t> submit(sluice::runtime::Request& /*request*/) override {
    return sluice::invalid_argument("nothing is computed here");
  }
  bool cancel(std::uint64_t /*id*/) override { return false; }
  bool wait(const std::function<bool()>& is_done, std::int64_t /*deadline_ns*/) override {
    return is_done();
  }
  void tell_waiters() override {}
};

const sluice::dispatch::ModelRef& model() {
  static const sluice::dispatch::ModelRef kModel(std::make_shared<Sink>(), {true, false}, false);
  return kModel;
}

/// As an engine would answer: an output of the first input's size.
sluice::runtime::Reply reply_to(const std::vector<sluice::terms::TensorView>& inputs,
                                const sluice::service::PlacedTensors& placed) {
  sluice::runtime::Reply reply;
  reply.outputs.push_back({inputs[0], placed.owners[0]});
  return reply;
}

/// The requests of a ring in flight: what a cancel names.
void enter_or_cancel(sluice::dispatch::FlightTable& flights, const shm::Submission& entry) {
  static const auto kModel = std::make_shared<sluice::dispatch::ModelRef>(
      std::make_shared<Sink>(), std::vector<bool>{true, false}, false);
  if (entry.head.kind == shm::SubmissionKind::kCancel) return flights.cancel(entry.head.model);
  const bool is_new = !flights.contains(entry.head.request);
  if ((flights.enter(entry.head.request, kModel, false) != nullptr) != is_new) std::abort();
}

void serve(shm::RingServer& ring, const shm::Submission& entry, const ClientSession& session,
           sluice::dispatch::FlightTable& flights) {
  shm::Completion completion;
  completion.head.request = entry.head.request;
  enter_or_cancel(flights, entry);
  if (entry.head.kind != shm::SubmissionKind::kRequest) return ring.complete(completion);
  sluice::service::PlacedTensors placed;
  const auto inputs = sluice::service::read_ring_request(entry, model(), session, placed);
  if (!inputs.is_ok()) {
    sluice::service::write_completion(inputs.status(), completion);
  } else {
    for (const sluice::terms::TensorView& view : *inputs) {
      // Every byte of each input is readable.
      const auto* bytes = static_cast<const volatile char*>(view.data);
      for (std::int64_t i = 0; i < view.size_bytes; i += 64) (void)bytes[i];
    }
    sluice::service::write_completion(reply_to(*inputs, placed), placed, signature(), completion);
  }
  ring.complete(completion);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static Fixture fixture;
  const auto memory = fixture.memory.memory();
  std::memset(memory.data(), 0, memory.size());
  std::memcpy(memory.data(), data, std::min(size, memory.size()));
  if (!shm::RingServer::create(memory).is_ok()) {
    shm::RingClient::format(memory, kEntries);  // the rest is worth trying all the same
  }
  auto ring = shm::RingServer::create(memory);
  if (!ring.is_ok()) std::abort();
  shm::Submission entry;
  sluice::dispatch::FlightTable flights;
  // The client's words do not change, so the loop ends when it reaches them or finds them
  // impossible.
  for (int i = 0; i < 64; ++i) {
    switch (ring->take(entry)) {
      case shm::RingServer::Take::kEntry: serve(*ring, entry, fixture.session, flights); break;
      case shm::RingServer::Take::kBad: {
        shm::Completion completion;
        ring->complete(completion);
        break;
      }
      case shm::RingServer::Take::kNone:
      case shm::RingServer::Take::kBroken: ring->close(); return 0;
    }
  }
  return 0;
}
