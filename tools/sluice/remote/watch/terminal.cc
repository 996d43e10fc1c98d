#include "sluice/remote/watch/terminal.h"

#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <cstring>

#include "base/clock.h"

namespace sluice::tool {
namespace {

// Control sequences of ECMA-48 and of DEC's terminals, which all others understand.
constexpr std::string_view kEnter = "\x1b[?1049h\x1b[?25l";  // another screen, no cursor
constexpr std::string_view kLeave = "\x1b[?25h\x1b[?1049l";
constexpr std::string_view kHome = "\x1b[H";
constexpr std::string_view kToLineEnd = "\x1b[K";
constexpr std::string_view kToScreenEnd = "\x1b[J";
constexpr std::string_view kPlain = "\x1b[0m";
constexpr std::string_view kBold = "\x1b[1m";
constexpr std::string_view kRed = "\x1b[31m";

constexpr std::int64_t kNsPerMs = 1'000'000;
constexpr char kCtrlC = 3;
constexpr char kEscape = 27;

void write_all(std::string_view text) {
  while (!text.empty()) {
    const ssize_t size = write(STDOUT_FILENO, text.data(), text.size());
    if (size < 0 && errno != EINTR) return;  // the terminal is gone; wait() reports it
    text.remove_prefix(static_cast<std::size_t>(std::max<ssize_t>(size, 0)));
  }
}

std::size_t number_in(const char* name, std::size_t otherwise) {
  const char* text = std::getenv(name);
  std::size_t number = 0;
  if (text != nullptr) std::from_chars(text, text + std::strlen(text), number);
  return number > 0 && number < 10'000 ? number : otherwise;
}

bool is_quit(std::string_view keys) {
  return std::ranges::any_of(keys, [](char c) { return c == 'q' || c == 'Q' || c == kCtrlC; }) ||
         keys == std::string_view(&kEscape, 1);  // alone: arrows start with it
}

}  // namespace

TerminalSize terminal_size() {
  TerminalSize size = {number_in("COLUMNS", 80), number_in("LINES", 24)};
  winsize window = {};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &window) == 0 && window.ws_col > 0 && window.ws_row > 0) {
    size = {window.ws_col, window.ws_row};
  }
  return {std::max<std::size_t>(size.width, 20), std::max<std::size_t>(size.height, 10)};
}

Result<std::unique_ptr<Terminal>> Terminal::open() {
  std::unique_ptr<Terminal> terminal(new Terminal());
  if (isatty(STDOUT_FILENO) == 0 || tcgetattr(STDIN_FILENO, &terminal->before_) != 0) {
    return make_error(
        Code::kFailedPrecondition,
        "stdout is not a terminal; use --once for one frame, or `sluice monitor` for JSON");
  }
  // Signals come as bytes of a descriptor: no handler runs while a frame is half written. Threads
  // that start later inherit the mask, so the terminal is opened first.
  sigset_t signals;
  sigemptyset(&signals);
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGWINCH}) sigaddset(&signals, number);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  terminal->signal_fd_ = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
  // Keys come at once and unseen. Ctrl-C is a key as well, so the screen is restored on every way
  // out.
  termios raw = terminal->before_;
  raw.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO | ISIG);
  raw.c_cc[VMIN] = 0;
  raw.c_cc[VTIME] = 0;
  tcsetattr(STDIN_FILENO, TCSANOW, &raw);
  write_all(kEnter);
  return terminal;
}

Terminal::~Terminal() {
  if (signal_fd_ < 0) return;
  write_all(kLeave);
  tcsetattr(STDIN_FILENO, TCSANOW, &before_);
  close(signal_fd_);
}

void Terminal::show(const std::vector<FrameLine>& frame) const {
  std::string text(kHome);
  for (std::size_t i = 0; i < frame.size(); ++i) {
    const FrameLine& line = frame[i];
    if (line.style == FrameLine::Style::kTitle) text += kBold;
    if (line.style == FrameLine::Style::kBad) text += kRed;
    text += line.text;
    text += kPlain;
    text += kToLineEnd;
    if (i + 1 < frame.size()) text += "\r\n";
  }
  text += kToScreenEnd;
  write_all(text);
}

Terminal::Event Terminal::wait(std::int64_t timeout_ns) const {
  const std::int64_t end_ns = system_clock().now_ns() + timeout_ns;
  while (true) {
    const std::int64_t left_ns = end_ns - system_clock().now_ns();
    if (left_ns <= 0) return Event::kTimeout;
    pollfd waits[] = {{STDIN_FILENO, POLLIN, 0}, {signal_fd_, POLLIN, 0}};
    // Rounded up: with 0 ms the loop would spin until the time is over.
    if (poll(waits, 2, static_cast<int>(left_ns / kNsPerMs) + 1) < 0 && errno != EINTR) {
      return Event::kQuit;
    }
    signalfd_siginfo info = {};
    if (read(signal_fd_, &info, sizeof(info)) == sizeof(info)) {
      return info.ssi_signo == SIGWINCH ? Event::kResized : Event::kQuit;
    }
    if (waits[0].revents == 0) continue;
    std::array<char, 64> keys = {};
    const ssize_t size = read(STDIN_FILENO, keys.data(), keys.size());
    if (size <= 0) return Event::kQuit;  // the terminal's other end has closed
    if (is_quit({keys.data(), static_cast<std::size_t>(size)})) return Event::kQuit;
  }
}

}  // namespace sluice::tool
