// Reads any bytes as what a client of gRPC sends behind HTTP/2's preface, in pieces of the size
// that the first byte says, to calls of every kind. What the calls hold is bounded, every call that
// begins ends, and what is sent ends.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>

#include "http2/frames.h"
#include "proto/sluice/v1/control.pb.h"
#include "rpc/server/session/session.h"

namespace {

using namespace sluice;
using namespace sluice::rpc::server;

using Message = v1::ErrorStatus;

constexpr std::int64_t kMostBytes = 1 << 16;
constexpr int kMostAnswers = 3;

int num_open = 0;

/// Answers each message with itself, and after the last with some more.
class Echo final : public Reactor {
 public:
  Echo(CallContext& context, bool reads) : Reactor(context) {
    ++num_open;
    reads ? start_read(message_) : write_more();
  }
  ~Echo() override { --num_open; }

  void on_read_done(bool is_ok) override {
    if (is_over_) return;
    is_ok ? start_write(message_) : end(grpc::Status::OK);
  }
  void on_write_done(bool is_ok) override {
    if (is_over_) return;
    if (!is_ok) return end(grpc::Status::CANCELLED);
    num_left_ == kMostAnswers ? start_read(message_) : write_more();
  }
  void on_done() override { delete this; }

 private:
  void write_more() {
    if (num_left_-- == 0) return end({grpc::StatusCode::ABORTED, "100 %\n", std::string(3, '\0')});
    start_write(message_);
  }
  void end(const grpc::Status& status) {
    is_over_ = true;
    finish(status);
  }

  Message message_;
  int num_left_ = kMostAnswers;
  bool is_over_ = false;
};

struct Handlers {
  void unary(CallContext* context, const Message* request, Message* response) {
    *response = *request;
    context->add_initial_metadata("x-request-id", context->metadata("x-request-id"));
    context->add_trailing_metadata("load-bin", request->message());
    context->finish(grpc::Status::OK);
  }
  void answers(CallContext* context, const Message* /*request*/) { new Echo(*context, false); }
  void both(CallContext* context) { new Echo(*context, true); }
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  constexpr std::size_t kMostSends = 1000;
  [[maybe_unused]] static auto* const told_before = google::protobuf::SetLogHandler(nullptr);
  if (size < 1) return 0;
  std::string all(http2::kPreface);
  all.append(reinterpret_cast<const char*>(data + 1), size - 1);
  Handlers handlers;
  Methods methods;
  ServiceMethods<Handlers>(methods, "s", handlers)
      .add("u", &Handlers::unary)
      .add("a", &Handlers::answers)
      .add_streams("b", &Handlers::both);
  const auto memory = std::make_shared<ByteBudget>(4 * kMostBytes);
  const CallSettings settings = {methods, kMostBytes, memory};
  CallQueue queue([] { std::abort(); });
  queue.begin();
  {
    const auto session =
        Session::create(settings, queue, std::make_shared<terms::Peer>(), 1).value();
    const std::size_t piece = 1 + data[0];
    bool goes_on = true;
    for (std::size_t at = 0; at < all.size() && goes_on; at += piece) {
      goes_on = session->take(std::string_view(all).substr(at, piece)).is_ok();
      queue.run();
      if (memory->held_bytes() > memory->limit_bytes()) std::abort();
      std::size_t num_sends = 0;
      while (!session->send().empty()) {
        queue.run();
        if (++num_sends > kMostSends) std::abort();
      }
      goes_on = goes_on && !session->is_over();
    }
  }
  queue.run();
  if (num_open != 0 || queue.num_calls() != 0 || memory->held_bytes() != 0) std::abort();
  return 0;
}
