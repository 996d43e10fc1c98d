// A forked child has the parent's memory and socket, but is no guest: its calls fail, as CUDA's do.
// The child's threads cannot take the parent's lock either, so the flag is looked at first.
#include "guest/runtime/connection.h"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "guest/wire/hello.h"

namespace sluice::guest {
namespace {

std::atomic<bool>& is_forked() {
  static std::atomic<bool> forked = false;
  return forked;
}

}  // namespace

Connection& Connection::get() {
  static auto* const kConnection = new Connection;  // lives on for threads that outlast main
  return *kConnection;
}

Connection::Connection() {
  pthread_atfork(nullptr, nullptr, [] { is_forked() = true; });
  const auto connect = [this]() -> Status {
    const char* const path = std::getenv(kSocketVariable);
    if (path == nullptr) {
      return make_error(Code::kFailedPrecondition,
                        "no proxy: start the program with `sluice guest run`");
    }
    socket_ = SLUICE_TRY(shm::connect_unix(path));
    Hello hello;
    const shm::Fd memory = SLUICE_TRY(receive_hello(socket_.get(), hello));
    memory_ = SLUICE_TRY(shm::Region::adopt(memory.get(), hello.shared_bytes));
    sender_.emplace(SLUICE_TRY(CallSender::create(memory_->mapped(), socket_.get())));
    return take_cores();
  };
  if (const Status status = connect(); !status.is_ok()) {
    std::fprintf(stderr, "sluice guest: %s\n", status.message().c_str());
  }
}

/// Where the proxy refuses them, the program gets no device.
Status Connection::take_cores() {
  const char* const text = std::getenv(kCoresVariable);
  if (text == nullptr) return ok_status();
  const HandleBody body = {.value = std::atoi(text)};
  Words words = {};
  if (ask(CallKind::kCoresTake, to_body(body), {}, &words) == Error::kSuccess) return ok_status();
  sender_.reset();
  return make_error(Code::kResourceExhausted,
                    "the proxy has no {} multiprocessors that are free: run with fewer --cores, or "
                    "when other programs have ended",
                    text);
}

Error Connection::state() const {
  if (!sender_) return Error::kNoDevice;
  return is_lost_ ? Error::kDevicesUnavailable : Error::kSuccess;
}

Error Connection::take_latched() {
  if (is_forked()) return Error::kInitialization;
  return sender_ ? static_cast<Error>(sender_->take_latched()) : Error::kSuccess;
}

template <typename UseReply>
Error Connection::call(CallKind kind, const Body& body, std::span<const std::byte> payload,
                       bool takes_earlier, const UseReply& use) {
  if (is_forked()) return Error::kInitialization;
  const std::lock_guard lock(mutex_);
  if (const Error error = state(); error != Error::kSuccess) return error;
  if (++sequence_ == 0) ++sequence_;
  std::optional<Reply> reply;
  if (sender_->send(kind, body, payload, sequence_)) reply = sender_->receive(sequence_);
  if (!reply) {
    is_lost_ = true;
    return state();
  }
  const auto earlier =
      takes_earlier ? static_cast<Error>(sender_->take_latched()) : Error::kSuccess;
  const auto result = static_cast<Error>(reply->result);
  if (result == Error::kSuccess) use(reply->words, sender_->reply_payload(*reply));
  return earlier != Error::kSuccess ? earlier : result;
}

Error Connection::ask(CallKind kind, const Body& body, std::span<const std::byte> payload,
                      Words* words, std::vector<std::byte>* payload_back) {
  const bool takes_earlier = words == nullptr && payload_back == nullptr;
  return call(kind, body, payload, takes_earlier,
              [&](const Words& given, std::span<const std::byte> bytes) {
                if (words != nullptr) *words = given;
                if (payload_back != nullptr) payload_back->assign(bytes.begin(), bytes.end());
              });
}

Error Connection::ask_into(CallKind kind, const Body& body, std::span<std::byte> to) {
  return call(kind, body, {}, /*takes_earlier=*/true,
              [to](const Words& /*given*/, std::span<const std::byte> bytes) {
                if (to.empty()) return;
                std::memcpy(to.data(), bytes.data(), std::min(to.size(), bytes.size()));
              });
}

Error Connection::post(CallKind kind, const Body& body, std::span<const std::byte> payload) {
  if (is_forked()) return Error::kInitialization;
  const std::lock_guard lock(mutex_);
  if (const Error error = state(); error != Error::kSuccess) return error;
  if (!sender_->send(kind, body, payload, /*sequence=*/0)) {
    is_lost_ = true;
    return state();
  }
  return static_cast<Error>(sender_->take_latched());
}

}  // namespace sluice::guest
