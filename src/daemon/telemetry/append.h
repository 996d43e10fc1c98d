// Bytes behind the end of a file, and lines into a pipe.
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>

#include "base/file.h"
#include "base/result.h"

namespace sluice::daemon {

/// Makes the file with `mode` if there is none. Fails: kUnavailable, naming the file.
Result<FileDescriptor> open_to_append(const std::string& path, mode_t mode);

/// Writes from the front, and leaves what it could not. `path` is for messages.
/// Fails: kUnavailable, naming the file.
Status append(const FileDescriptor& file, const std::string& path, std::string_view& bytes);

/// A pipe that nobody empties gets a line that fits at once, or none: the caller waits for room for
/// `patience_ms` and no longer. `fd` is stderr, for messages. `is_torn`: the last call left a half
/// line, on a disk that is full, behind which the next one begins a new line.
/// Requires: at most PIPE_BUF bytes, which a pipe takes as a whole. Fails: kUnavailable.
Status write_line(int fd, std::string_view line, int patience_ms, bool& is_torn);

}  // namespace sluice::daemon
