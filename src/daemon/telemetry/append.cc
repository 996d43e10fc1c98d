#include "daemon/telemetry/append.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace sluice::daemon {
namespace {

/// Requires: errno is set.
Status failed(const std::string& path) {
  return make_error(Code::kUnavailable, "{}: {}", path, std::strerror(errno));
}

}  // namespace

Result<FileDescriptor> open_to_append(const std::string& path, mode_t mode) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, mode);
  if (fd < 0) return failed(path);
  return FileDescriptor(fd);
}

Status append(const FileDescriptor& file, const std::string& path, std::string_view& bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(file.get(), bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return failed(path);
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return ok_status();
}

Status write_line(int fd, std::string_view line, int patience_ms, bool& is_torn) {
  pollfd waiting{.fd = fd, .events = POLLOUT, .revents = 0};
  if (poll(&waiting, 1, patience_ms) == 0) {  // an error is the write's to meet
    return make_error(Code::kUnavailable, "stderr has had no room for {} ms", patience_ms);
  }
  if (is_torn && ::write(fd, "\n", 1) != 1) return failed("stderr");
  is_torn = false;
  const ssize_t written = ::write(fd, line.data(), line.size());
  if (written < 0) return failed("stderr");
  if (std::cmp_equal(written, line.size())) return ok_status();
  is_torn = written > 0;
  return make_error(Code::kUnavailable, "stderr took a part of a line");
}

}  // namespace sluice::daemon
