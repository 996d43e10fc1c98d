#include "flood.h"

#include <grpcpp/grpcpp.h>

#include <condition_variable>
#include <memory>
#include <mutex>
#include <vector>

#include "../runtime/networks.h"
#include "rpc/client/side_client.h"
#include "shm/ring_client.h"
#include "shm/shared_memory.h"

namespace sluice::bench {
namespace {

constexpr int kInFlight = 64;
constexpr int kRequests = 20'000;
constexpr std::int64_t kNsPerSecond = 1'000'000'000;

double per_second(std::int64_t start_ns) {
  return kRequests * 1e9 / static_cast<double>(system_clock().now_ns() - start_ns);
}

struct Flood {
  v1::Runtime::Stub& stub;
  const v1::InferRequest& request;
  std::mutex mutex;
  std::condition_variable over;
  int started = 0;
  int done = 0;

  void start_one() {
    struct Call {
      grpc::ClientContext context;
      v1::InferResponse response;
    };
    auto call = std::make_shared<Call>();
    stub.async()->Infer(&call->context, &request, &call->response,
                        [this, call](const grpc::Status& status) {
                          if (!status.ok()) {
                            fmt::print(stderr, "{}\n", status.error_message());
                            std::_Exit(1);
                          }
                          bool goes_on = false;
                          {
                            const std::lock_guard lock(mutex);
                            goes_on = started < kRequests;
                            if (goes_on) ++started;
                            if (++done == kRequests) over.notify_all();
                          }
                          if (goes_on) start_one();
                        });
  }
};

/// The session that the ring belongs to; the lease ends with it.
class Lease {
 public:
  explicit Lease(const std::string& address)
      : stub_(
            v1::Runtime::NewStub(grpc::CreateChannel(address, grpc::InsecureChannelCredentials()))),
        reader_(stub_->OpenSession(&context_, {})) {
    if (!reader_->Read(&session_)) std::exit(1);
  }
  Lease(const Lease&) = delete;
  Lease& operator=(const Lease&) = delete;
  ~Lease() {
    context_.TryCancel();
    const grpc::Status status = reader_->Finish();
    (void)status;  // that we cancelled it
  }
  const std::string& token() const { return session_.token(); }

 private:
  grpc::ClientContext context_;
  std::unique_ptr<v1::Runtime::Stub> stub_;
  v1::OpenSessionResponse session_;
  std::unique_ptr<grpc::ClientReader<v1::OpenSessionResponse>> reader_;
};

}  // namespace

double flood_grpc(v1::Runtime::Stub& stub, const v1::InferRequest& request) {
  Flood flood{stub, request, {}, {}, kInFlight, 0};
  const std::int64_t start_ns = system_clock().now_ns();
  for (int i = 0; i < kInFlight; ++i) flood.start_one();
  std::unique_lock lock(flood.mutex);
  flood.over.wait(lock, [&] { return flood.done == kRequests; });
  return per_second(start_ns);
}

double flood_ring(const std::string& side_socket, std::uint64_t model) {
  const std::string address =
      "unix:" + side_socket.substr(0, side_socket.size() - std::string(".side").size());
  const Lease lease(address);
  constexpr std::uint64_t kData = shm::ring_bytes(kInFlight);
  constexpr std::uint64_t kBytes = kData + kInFlight * 512;
  const auto memory = value_of(shm::SharedMemory::create(kBytes));
  shm::RingClient::format(memory.memory(), kInFlight);
  const auto handed = value_of(rpc::client::hand_over(
      side_socket, lease.token(), rpc::wire::SideKind::kRing, memory.fd(), kBytes));
  shm::RingClient ring(memory.memory(), kInFlight);
  shm::Submission entry;
  const auto submit = [&](std::uint64_t slot) {
    entry.head.request = slot;
    entry.head.model = model;
    entry.head.num_inputs = 1;
    entry.head.num_outputs = 1;
    const std::uint64_t at = kData + slot * 512;
    entry.tensors[0] = {handed.region, at, 256, 1, 2, {1, 64}};
    entry.tensors[1] = {handed.region, at + 256, 40, 0, 0, {}};
    (void)ring.submit(entry);
  };
  const std::int64_t start_ns = system_clock().now_ns();
  for (int i = 0; i < kInFlight; ++i) submit(static_cast<std::uint64_t>(i));
  int submitted = kInFlight;
  shm::Completion completion;
  for (int done = 0; done < kRequests;) {
    if (!ring.take(completion)) {
      ring.wait(50'000, kNsPerSecond / 10);
      continue;
    }
    if (completion.head.status_code != 0) {
      fmt::print(stderr, "{}\n",
                 std::string(completion.message.data(), completion.head.message_bytes));
      std::exit(1);
    }
    ++done;
    if (submitted++ < kRequests) submit(completion.head.request);
  }
  return per_second(start_ns);
}

}  // namespace sluice::bench
