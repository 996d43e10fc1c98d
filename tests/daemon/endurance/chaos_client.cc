// A client that the test kills during every kind of work: sessions, groups, loads by
// path and by upload, single requests and streams, in the daemon and in workers. Checks every
// answer, and that each request has one. Ends at SIGTERM with 0, and with 1 and an error line if a
// call was refused or a reply was wrong, unless the death of its own worker explains it.
//   chaos_client ADDRESS PACKAGE SEED
#include <signal.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>

#include "daemon/add_relu.h"
#include "support/eventually.h"

namespace sluice::testing {
namespace {

std::atomic<bool> is_over = false;

class ChaosClient {
 public:
  ChaosClient(std::string address, std::string package, unsigned seed)
      : address_(std::move(address)), package_(std::move(package)), random_(seed) {}

  Status run() {
    while (!is_over) {
      const bool has_worker = up_to(1) == 0;
      Status status = live_once(has_worker);
      if (!(has_worker && is_of_death(status))) SLUICE_TRY(std::move(status));
    }
    return ok_status();
  }
  std::int64_t num_answered() const { return num_answered_; }
  /// Because their worker died.
  std::int64_t num_lost() const { return num_lost_; }

 private:
  int up_to(int most) { return std::uniform_int_distribution<int>(0, most)(random_); }

  /// Whether an error can only come from the worker's death.
  static bool is_of_death(const Status& status) {
    return status.code() == Code::kUnavailable &&
           status.message().find("worker of group") != std::string::npos &&
           status.message().find("died of signal 9") != std::string::npos;
  }

  /// Until it is there again.
  template <typename Call>
  Status with_patience(const Call& call) {
    for (int i = 0; i < kMaxTries; ++i) {
      Status status = call();
      if (!is_of_death(status)) return status;
      pause_for(std::chrono::milliseconds(1));
    }
    return make_error(Code::kDeadlineExceeded, "the worker does not come back");
  }

  /// A session with a model of its own, left in order or not.
  Status live_once(bool has_worker) {
    const auto client = SLUICE_TRY(
        rpc::client::Client::create({.address = address_, .connect_timeout_ns = kPatienceNs}));
    SLUICE_TRY(client->open_session("chaos"));
    const auto isolation = has_worker ? terms::Isolation::kProcess : terms::Isolation::kStream;
    terms::LoadOptions options;
    if (up_to(1) == 0) {
      options.group = SLUICE_TRY(client->create_group({.num_cores = 1}, isolation)).info.id;
    } else {
      options.isolation = isolation;
    }
    const auto model = up_to(1) == 0 ? SLUICE_TRY(client->load(options, package_))
                                     : SLUICE_TRY(client->upload(options, package_));
    if (options.group) {
      SLUICE_TRY(with_patience([&] { return client->start(model.info.handle); }));
    }
    for (int round = up_to(4); round >= 0 && !is_over; --round) {
      SLUICE_TRY(up_to(1) == 0 ? ask(*client, model.info.handle)
                               : stream(*client, model.info.handle, model.info.depth));
    }
    if (up_to(1) == 0) return ok_status();  // the session's end takes all with it
    SLUICE_TRY(client->unload(model.info.handle));
    if (!options.group) return ok_status();
    return client->destroy_group(static_cast<std::uint64_t>(options.group->value()));
  }

  Status check(const float* y, float value) {
    const float wanted[] = {value + 1, value - 2, value + 3, value - 4};
    for (int i = 0; i < 4; ++i) {
      if (y[i] != std::max(wanted[i], 0.0F)) {
        return make_error(Code::kInternal, "a wrong answer: {} instead of {}", y[i], wanted[i]);
      }
    }
    ++num_answered_;
    return ok_status();
  }

  Status ask(rpc::client::Client& client, std::uint64_t model) {
    for (int i = up_to(30); i >= 0; --i) {
      const auto value = static_cast<float>(up_to(1000));
      SLUICE_TRY(with_patience([&]() -> Status {
        const auto y = infer(client, model, value);
        if (is_of_death(y.status())) ++num_lost_;
        if (!y.is_ok()) return y.status();
        return check(y->data(), value);
      }));
    }
    return ok_status();
  }

  Status stream(rpc::client::Client& client, std::uint64_t model, int depth) {
    const auto stream = SLUICE_TRY(client.open_stream());
    const int count = up_to(60);
    int num_sent = 0;
    std::vector<bool> has_come(static_cast<std::size_t>(count));
    for (int num_answered = 0; num_answered < count; ++num_answered) {
      for (; num_sent < count && num_sent - num_answered < depth; ++num_sent) {
        std::vector<float> x(4, static_cast<float>(num_sent));
        SLUICE_TRY(stream->send(static_cast<std::uint64_t>(num_sent), model,
                                {{"x", {x.data(), 16, ir::ElementType::kF32, {4}}}}));
      }
      auto answer = SLUICE_TRY(stream->next());
      if (!answer) return make_error(Code::kInternal, "the stream ended early");
      if (answer->id >= has_come.size() || has_come[answer->id]) {
        return make_error(Code::kInternal, "request {} was answered twice", answer->id);
      }
      has_come[answer->id] = true;
      if (is_of_death(answer->reply.status())) {
        ++num_lost_;
        continue;
      }
      const auto reply = SLUICE_TRY(std::move(answer->reply));
      SLUICE_TRY(check(static_cast<const float*>(reply.outputs.at(0).view.data),
                       static_cast<float>(answer->id)));
    }
    if (up_to(1) == 0) return ok_status();  // broken off
    stream->close();
    return SLUICE_TRY(stream->next()) ? make_error(Code::kInternal, "an answer too many")
                                      : ok_status();
  }

  static constexpr int kMaxTries = 30'000;
  static constexpr std::int64_t kPatienceNs = 60'000'000'000;
  const std::string address_;
  const std::string package_;
  std::mt19937 random_;
  std::int64_t num_answered_ = 0;
  std::int64_t num_lost_ = 0;
};

}  // namespace
}  // namespace sluice::testing

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  signal(SIGTERM, [](int /*number*/) { sluice::testing::is_over = true; });
  sluice::testing::ChaosClient client(argv[1], argv[2],
                                      static_cast<unsigned>(std::strtoul(argv[3], nullptr, 10)));
  const sluice::Status status = client.run();
  if (status.is_ok()) {
    std::printf("%lld %lld\n", static_cast<long long>(client.num_answered()),
                static_cast<long long>(client.num_lost()));
    return 0;
  }
  std::printf("%s\n", status.to_string().c_str());
  return 1;
}
