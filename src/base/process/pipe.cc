#include "base/process/pipe.h"

#include <fcntl.h>
#include <string.h>  // NOLINT: strerror
#include <unistd.h>

#include <array>
#include <cerrno>

namespace sluice {

Result<Pipe> Pipe::create() {
  std::array<int, 2> ends = {-1, -1};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) {
    return make_error(Code::kUnavailable, "no pipe to a program: {}", strerror(errno));
  }
  return Pipe{FileDescriptor(ends[0]), FileDescriptor(ends[1])};
}

}  // namespace sluice
