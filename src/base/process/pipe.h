// The two ends of a pipe.
#pragma once

#include "base/file.h"
#include "base/result.h"

namespace sluice {

/// Programs that this process starts inherit neither end.
struct Pipe {
  FileDescriptor read;
  FileDescriptor write;

  /// Fails: kUnavailable.
  static Result<Pipe> create();
};

}  // namespace sluice
