#pragma once

#include <chrono>

#include "backend/handle.h"

namespace sluice::backend {

class CommandList;

/// Cores of one device reserved together. Streams and command lists keep it alive.
class Group {
 public:
  /// Requires: `device` is one of the backend's.
  /// Fails: as the plug-in says (no such core, core taken).
  static Result<std::shared_ptr<const Group>> create(std::shared_ptr<const Backend> backend,
                                                     int device,
                                                     std::span<const std::int32_t> cores);

  const Backend& backend() const { return *handle_.parent(); }
  const std::shared_ptr<const Backend>& shared_backend() const { return handle_.parent(); }
  int device() const { return device_; }
  sluice_group* get() const { return handle_.get(); }

 private:
  Group(int device, Handle<sluice_group, Backend> handle)
      : device_(device), handle_(std::move(handle)) {}

  int device_;
  Handle<sluice_group, Backend> handle_;
};

/// A queue of submitted command lists, run in order. Used by one thread at a time. The destructor
/// waits for submitted work.
class Stream {
 public:
  static Result<Stream> create(std::shared_ptr<const Group> group);

  /// Runs `list` after all work submitted before, possibly on this thread. `bindings[i]` is the
  /// buffer that arguments of binding i are offsets into; the buffers stay valid until the work is
  /// done. Errors of the run are returned by `wait`.
  /// Requires: `list` is finished, of the same group, and its last run is done.
  Status submit(const CommandList& list, std::span<void* const> bindings);

  /// Blocks until all submitted work is done, and returns its first error. Without a timeout it
  /// waits indefinitely.
  /// Fails: kDeadlineExceeded, the work going on; any error of the work.
  Status wait(std::optional<std::chrono::nanoseconds> timeout = std::nullopt);

  sluice_stream* get() const { return handle_.get(); }

 private:
  explicit Stream(Handle<sluice_stream, Group> handle) : handle_(std::move(handle)) {}
  Handle<sluice_stream, Group> handle_;
};

}  // namespace sluice::backend
