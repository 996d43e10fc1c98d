#include "sandbox/programs/device_proxy.h"

#include <poll.h>
#include <string.h>  // NOLINT: strerror
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

#include "base/process/start_thread.h"

namespace sluice::sandbox {

namespace fs = std::filesystem;

namespace {

bool accepts(const fs::path& path) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  if (path.native().size() >= sizeof(address.sun_path)) return false;
  memcpy(address.sun_path, path.c_str(), path.native().size());
  const FileDescriptor file(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  return connect(file.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0;
}

}  // namespace

Result<std::shared_ptr<DeviceProxy>> DeviceProxy::start(ProxyStart start) {
  std::shared_ptr<DeviceProxy> proxy(new DeviceProxy(std::move(start)));
  proxy->thread_ = SLUICE_TRY(start_thread([held = proxy.get()] { held->hold(); }));
  {
    std::unique_lock lock(proxy->mutex_);
    proxy->changed_.wait(lock, [&] { return proxy->is_started_; });
    if (!proxy->started_.is_ok()) return proxy->started_;
  }
  SLUICE_TRY(proxy->wait_for_socket());
  return proxy;
}

DeviceProxy::~DeviceProxy() {
  {
    const std::lock_guard lock(mutex_);
    is_closed_ = true;
    changed_.notify_all();
  }
  if (thread_.joinable()) thread_.join();
  process_ = nullptr;
  std::error_code ignored;
  fs::remove(start_.socket, ignored);
}

void DeviceProxy::hold() {
  auto process = ProgramProcess::start(start_.words);
  std::unique_lock lock(mutex_);
  started_ = process.status();
  if (process.is_ok()) process_ = std::move(*process);
  is_started_ = true;
  changed_.notify_all();
  changed_.wait(lock, [this] { return is_closed_; });
}

/// The process listens before it opens the device.
Status DeviceProxy::wait_for_socket() const {
  constexpr std::int64_t kLimitNs = 30'000'000'000;
  const std::int64_t deadline_ns = deadline_after(system_clock(), kLimitNs);
  while (!accepts(start_.socket)) {
    if (has_ended()) return make_error(Code::kUnavailable, "the proxy has ended: {}", errors());
    if (system_clock().now_ns() >= deadline_ns) {
      return make_error(Code::kUnavailable, "the proxy does not listen at {}",
                        start_.socket.string());
    }
    poll(nullptr, 0, 1);
  }
  if (chown(start_.socket.c_str(), start_.user, start_.group) == 0) return ok_status();
  return make_error(Code::kUnavailable, "socket {}: {}", start_.socket.string(), strerror(errno));
}

bool DeviceProxy::has_ended() const {
  const std::lock_guard lock(mutex_);
  return process_->has_ended();
}

std::string DeviceProxy::errors() const {
  const std::lock_guard lock(mutex_);
  return process_->errors();
}

}  // namespace sluice::sandbox
