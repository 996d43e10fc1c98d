// A terminal taken over for a view that is redrawn.
#pragma once

#include <termios.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/result.h"
#include "sluice/remote/watch/top_frame.h"

namespace sluice::tool {

struct TerminalSize {
  std::size_t width = 80;
  std::size_t height = 24;
};

/// Size of the terminal on stdout; 80 x 24, or what COLUMNS and LINES say, where stdout is none. At
/// least as large as draw_frame requires.
TerminalSize terminal_size();

/// Shows frames on a screen of its own and reads keys; restores the terminal on every end that a
/// process can handle. One at a time; used by one thread.
class Terminal {
 public:
  /// Takes SIGINT, SIGTERM, SIGHUP and SIGWINCH for this thread and those that it starts later.
  /// Fails: kFailedPrecondition if stdin or stdout is no terminal.
  static Result<std::unique_ptr<Terminal>> open();
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;
  ~Terminal();

  /// Writes the frame with one call, each line over the previous one, so the screen does not
  /// flicker.
  void show(const std::vector<FrameLine>& frame) const;

  enum class Event { kTimeout, kResized, kQuit };
  /// kQuit for q, Escape, Ctrl-C, the end of input, and signals that end a program.
  Event wait(std::int64_t timeout_ns) const;

 private:
  Terminal() = default;

  termios before_ = {};
  int signal_fd_ = -1;
};

}  // namespace sluice::tool
