#include "rpc/server/listen/late_numbers.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <mutex>

namespace sluice::rpc::server {
namespace {

constexpr int kLeastNumber = 64;
constexpr int kNumbersBeforeTheFirstAgain = 8192;

/// Where the numbers begin again. More may be open: then those above are used.
int last_number() {
  constexpr rlim_t kLast = kLeastNumber + kNumbersBeforeTheFirstAgain;
  rlimit limit = {};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return 1024;
  return static_cast<int>(std::min(limit.rlim_cur, kLast));
}

}  // namespace

int move_to_late_number(int fd) {
  static std::mutex mutex;
  static int next = kLeastNumber;
  const std::lock_guard lock(mutex);
  if (next >= last_number()) next = kLeastNumber;
  const int moved = fcntl(fd, F_DUPFD_CLOEXEC, next);
  if (moved >= 0) {
    close(fd);
    fd = moved;
  }
  next = fd + 1;
  return fd;
}

}  // namespace sluice::rpc::server
