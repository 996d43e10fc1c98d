#include "daemon/endurance/soak_clients.h"

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "base/clock.h"
#include "daemon/add_relu.h"
#include "support/eventually.h"
#include "terms/runtime_code.h"

namespace sluice::testing {
namespace {

constexpr auto kPace = std::chrono::milliseconds(2);

bool is_of_a_fault(RuntimeCode code) {
  constexpr std::array kOfFaults = {RuntimeCode::kFailed, RuntimeCode::kOutOfResources,
                                    RuntimeCode::kDeviceError, RuntimeCode::kModelFailed,
                                    RuntimeCode::kCompletedWithError};
  return std::ranges::find(kOfFaults, code) != kOfFaults.end();
}

/// A client with a session and a model that is brought back whenever its device was lost.
class Holder {
 public:
  explicit Holder(Soak& soak) : soak_(soak) {}

  /// Until it works, or all is over.
  bool open() {
    while (!soak_.is_over) {
      const Status status = try_open();
      if (status.is_ok()) return true;
      give_up(status);
    }
    return false;
  }
  void recover(const Status& why) {
    soak_.note(why);
    if (terms::runtime_code_of(why) == RuntimeCode::kCompletedWithError) return;
    while (!soak_.is_over) {
      ++soak_.num_resets;
      const Status reset = client_->reset(model_);  // refused if another error was meant
      if (client_->start(model_).is_ok()) return;
      if (!reset.is_ok()) soak_.note(reset);
      const auto models = client_->list_models(model_);
      if (models.is_ok() && models->at(0).info.phase == terms::ModelPhase::kStarted) return;
      pause_for(kPace);
    }
  }

  rpc::client::Client& client() { return *client_; }
  std::uint64_t model() const { return model_; }
  int depth() const { return depth_; }

 private:
  Status try_open() {
    client_ = SLUICE_TRY(rpc::client::Client::create({.address = soak_.address}));
    SLUICE_TRY(client_->open_session("soak"));
    const auto model = SLUICE_TRY(client_->load({}, soak_.package));
    model_ = model.info.handle;
    depth_ = model.info.depth;
    ++soak_.num_loads;
    return ok_status();
  }
  void give_up(const Status& why) {
    soak_.note(why);
    client_ = nullptr;
    pause_for(kPace);
  }

  Soak& soak_;
  std::unique_ptr<rpc::client::Client> client_;
  std::uint64_t model_ = 0;
  int depth_ = 0;
};

Status check(float got, float value) {
  if (got == value + 1) return ok_status();
  return make_error(Code::kDataLoss, "a wrong answer: {} instead of {}", got, value + 1);
}

Status ask(Soak& soak, Holder& holder, float value) {
  const std::int64_t start_ns = system_clock().now_ns();
  const auto y = SLUICE_TRY(infer(holder.client(), holder.model(), value));
  const std::int64_t duration_ns = system_clock().now_ns() - start_ns;
  if (auto* times = soak.times.load(); times != nullptr) times->requests.add(duration_ns);
  ++soak.num_answered;
  return check(y.at(0), value);
}

/// `count` requests over one stream. A request that failed is an answer, too.
Status stream(Soak& soak, Holder& holder, std::uint64_t count) {
  const auto stream = SLUICE_TRY(holder.client().open_stream());
  Status first = ok_status();
  std::uint64_t num_sent = 0;
  for (std::uint64_t num_answered = 0; num_answered < count; ++num_answered) {
    const auto depth = static_cast<std::uint64_t>(holder.depth());
    for (; num_sent < count && num_sent - num_answered < depth; ++num_sent) {
      std::vector<float> x(4, static_cast<float>(num_sent));
      SLUICE_TRY(stream->send(num_sent, holder.model(),
                              {{"x", {x.data(), 16, ir::ElementType::kF32, {4}}}}));
    }
    const auto answer = SLUICE_TRY(stream->next());
    if (!answer) return make_error(Code::kDataLoss, "the stream ended early");
    if (!answer->reply.is_ok()) {
      if (first.is_ok()) first = answer->reply.status();
      continue;
    }
    ++soak.num_answered;
    SLUICE_TRY(check(*static_cast<const float*>(answer->reply->outputs.at(0).view.data),
                     static_cast<float>(answer->id)));
  }
  return first;
}

}  // namespace

void Soak::note(const Status& status) {
  const RuntimeCode code = terms::runtime_code_of(status);
  const std::lock_guard lock(mutex_);
  ++errors_[static_cast<std::int32_t>(code)];
  const bool is_right = is_of_a_fault(code) && status.code() != Code::kDataLoss;
  if (!is_right && first_wrong_.is_ok()) first_wrong_ = status;
}

std::map<std::int32_t, std::int64_t> Soak::errors() const {
  const std::lock_guard lock(mutex_);
  return errors_;
}

Status Soak::first_wrong() const {
  const std::lock_guard lock(mutex_);
  return first_wrong_;
}

void ask_one_by_one(Soak& soak, unsigned seed) {
  Holder holder(soak);
  if (!holder.open()) return;
  for (unsigned i = seed; !soak.is_over; ++i) {
    const Status status = ask(soak, holder, static_cast<float>(i % 1000));
    if (!status.is_ok()) holder.recover(status);
    pause_for(kPace);
  }
}

void ask_over_streams(Soak& soak, unsigned seed) {
  Holder holder(soak);
  if (!holder.open()) return;
  std::mt19937 random(seed);
  while (!soak.is_over) {
    const Status status = stream(soak, holder, random() % 40);
    if (!status.is_ok()) holder.recover(status);
    pause_for(10 * kPace);
  }
}

void echo_as_control(Soak& soak) {
  int ends[2] = {};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return;
  std::thread echo([end = ends[1]] {
    char byte = 0;
    while (read(end, &byte, 1) == 1 && write(end, &byte, 1) == 1) continue;
  });
  char byte = 0;
  while (!soak.is_over) {
    const std::int64_t start_ns = system_clock().now_ns();
    if (write(ends[0], &byte, 1) != 1 || read(ends[0], &byte, 1) != 1) break;
    const std::int64_t duration_ns = system_clock().now_ns() - start_ns;
    if (auto* times = soak.times.load(); times != nullptr) times->control.add(duration_ns);
    pause_for(kPace);
  }
  close(ends[0]);
  echo.join();
  close(ends[1]);
}

void come_and_go(Soak& soak, unsigned seed) {
  std::mt19937 random(seed);
  while (!soak.is_over) {
    Holder holder(soak);
    if (!holder.open()) return;
    for (auto count = random() % 8; count > 0 && !soak.is_over; --count) {
      const Status status = ask(soak, holder, static_cast<float>(count));
      if (!status.is_ok()) soak.note(status);
    }
    pause_for(10 * kPace);
  }
}

}  // namespace sluice::testing
