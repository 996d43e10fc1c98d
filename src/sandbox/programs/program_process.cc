#include "sandbox/programs/program_process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "base/process/child.h"
#include "base/process/spawn_plan.h"
#include "base/utf8.h"
#include "sandbox/programs/reply_bytes.h"

namespace sluice::sandbox {
namespace {

constexpr int kStatusFd = 3;
constexpr std::size_t kPieceBytes = std::size_t{1} << 16;
constexpr std::size_t kKeptErrorBytes = 2000;
constexpr int kLookMs = 20;  ///< between two looks at the stop token

void make_non_blocking(const FileDescriptor& file) { fcntl(file.get(), F_SETFL, O_NONBLOCK); }

/// Everything until the end, of a writer that ends soon.
std::string read_all(const FileDescriptor& file) {
  std::string text;
  std::array<char, 512> piece = {};
  while (true) {
    const ssize_t size = read(file.get(), piece.data(), piece.size());
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) return text;
    if (text.size() < kKeptErrorBytes) text.append(piece.data(), static_cast<std::size_t>(size));
  }
}

Status check_wanted(std::int64_t deadline_ns, const std::stop_token& stop) {
  if (stop.stop_requested()) return make_error(Code::kCancelled, "the request was cancelled");
  if (system_clock().now_ns() < deadline_ns) return ok_status();
  return make_error(Code::kDeadlineExceeded, "the program took too long and was stopped");
}

}  // namespace

/// A request on its way, and its reply.
struct ProgramProcess::Talk {
  explicit Talk(bool stays_on) : stays(stays_on), reply(stays_on) {}

  const bool stays;
  std::vector<std::span<const std::byte>> unsent;
  ReplyBytes reply;
  bool has_output_ended = false;
};

Result<std::unique_ptr<ProgramProcess>> ProgramProcess::start(
    const std::vector<std::string>& words) {
  Pipe input = SLUICE_TRY(Pipe::create());
  Pipe output = SLUICE_TRY(Pipe::create());
  Pipe errors = SLUICE_TRY(Pipe::create());
  std::optional<Pipe> status = SLUICE_TRY(Pipe::create());
  SpawnPlan plan;
  posix_spawn_file_actions_adddup2(&plan.actions, input.read.get(), STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&plan.actions, output.write.get(), STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&plan.actions, errors.write.get(), STDERR_FILENO);
  posix_spawn_file_actions_adddup2(&plan.actions, status->write.get(), kStatusFd);
  const pid_t id = SLUICE_TRY(plan.start(words.front(), words));
  // The other ends of the pipes are the process's alone from here on.
  std::unique_ptr<ProgramProcess> process(
      new ProgramProcess(id, std::move(input), std::move(output), std::move(errors)));
  const FileDescriptor from_status = std::move(status->read);
  status.reset();
  const std::string problem = read_all(from_status);
  if (!problem.empty()) return make_error(Code::kUnavailable, "{}", valid_utf8(problem));
  return process;
}

ProgramProcess::ProgramProcess(pid_t id, Pipe input, Pipe output, Pipe errors)
    : id_(id),
      input_(std::move(input.write)),
      output_(std::move(output.read)),
      errors_(std::move(errors.read)) {
  make_non_blocking(*input_);
  make_non_blocking(output_);
  make_non_blocking(errors_);
}

ProgramProcess::~ProgramProcess() {
  kill(-id_, SIGKILL);  // its session, if it has one by now
  kill(id_, SIGKILL);
  take_end(id_);
}

bool ProgramProcess::has_ended() const {
  siginfo_t info = {};
  return waitid(P_PID, static_cast<id_t>(id_), &info, WEXITED | WNOHANG | WNOWAIT) != 0 ||
         info.si_pid != 0;
}

void ProgramProcess::read_errors() {
  std::array<char, 4096> piece = {};
  while (true) {
    const ssize_t size = read(errors_.get(), piece.data(), piece.size());
    if (size < 0 && errno == EINTR) continue;
    have_errors_ended_ = size == 0;
    if (size <= 0) return;
    last_errors_.append(piece.data(), static_cast<std::size_t>(size));
    if (last_errors_.size() > kKeptErrorBytes) {
      last_errors_.erase(0, last_errors_.size() - kKeptErrorBytes);
    }
  }
}

std::string ProgramProcess::errors() {
  read_errors();
  std::string_view text = last_errors_;
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.remove_suffix(1);
  return valid_utf8(text);
}

Status ProgramProcess::failure(std::string_view what) {
  const std::string said = errors();
  return make_error(Code::kInternal, "the program {}{}{}", what, said.empty() ? "" : ": ", said);
}

/// False once all is written, or the program reads no more.
bool ProgramProcess::write_some(Talk& talk) {
  while (!talk.unsent.empty()) {
    std::span<const std::byte>& next = talk.unsent.front();
    if (next.empty()) {
      talk.unsent.erase(talk.unsent.begin());
      continue;
    }
    const ssize_t size = write(input_->get(), next.data(), std::min(next.size(), kPieceBytes));
    if (size < 0 && errno == EINTR) continue;
    if (size < 0 && errno == EAGAIN) return true;
    if (size < 0) {  // a program need not read all
      talk.unsent.clear();
      return false;
    }
    next = next.subspan(static_cast<std::size_t>(size));
  }
  return false;
}

/// Takes what has come of the reply.
Status ProgramProcess::read_some(Talk& talk) {
  std::array<std::byte, kPieceBytes> piece;
  const ssize_t size = read(output_.get(), piece.data(), piece.size());
  if (size < 0 && (errno == EINTR || errno == EAGAIN)) return ok_status();
  talk.has_output_ended = size <= 0;
  if (talk.has_output_ended) return ok_status();
  return talk.reply.take(std::span<const std::byte>(piece).first(static_cast<std::size_t>(size)));
}

/// Writes and reads in turn: a program may answer before it has read all.
Status ProgramProcess::move_bytes(Talk& talk, std::int64_t deadline_ns,
                                  const std::stop_token& stop) {
  bool is_sending = true;
  while (!talk.reply.is_complete() && !talk.has_output_ended) {
    SLUICE_TRY(check_wanted(deadline_ns, stop));
    std::array<pollfd, 3> waiting = {pollfd{output_.get(), POLLIN, 0},
                                     pollfd{have_errors_ended_ ? -1 : errors_.get(), POLLIN, 0},
                                     pollfd{is_sending ? input_->get() : -1, POLLOUT, 0}};
    if (poll(waiting.data(), waiting.size(), kLookMs) <= 0) continue;
    if (waiting[2].revents != 0) {
      is_sending = write_some(talk);
      if (!is_sending && !talk.stays) input_.reset();  // the request ends here
    }
    if (waiting[1].revents != 0) read_errors();
    if (waiting[0].revents != 0) SLUICE_TRY(read_some(talk));
  }
  return ok_status();
}

/// A program may close its output and go on.
Status ProgramProcess::wait_for_end(std::int64_t deadline_ns, const std::stop_token& stop) const {
  while (!has_ended()) {
    SLUICE_TRY(check_wanted(deadline_ns, stop));
    poll(nullptr, 0, 1);
  }
  return ok_status();
}

Result<std::vector<std::byte>> ProgramProcess::ask(std::span<const std::byte> request, bool stays,
                                                   std::int64_t deadline_ns,
                                                   const std::stop_token& stop) {
  Talk talk(stays);
  const LengthBytes length = length_bytes(request.size());
  if (stays) talk.unsent.emplace_back(length);
  talk.unsent.push_back(request);
  SLUICE_TRY(move_bytes(talk, deadline_ns, stop));
  if (stays) {
    if (!talk.reply.is_complete()) return failure("ended before its reply did");
    // The rest would be taken for the next request.
    if (!talk.unsent.empty()) return failure("answered before it had read the request");
    return std::move(talk.reply.bytes());
  }
  SLUICE_TRY(wait_for_end(deadline_ns, stop));
  siginfo_t info = {};
  waitid(P_PID, static_cast<id_t>(id_), &info, WEXITED | WNOHANG | WNOWAIT);
  if (info.si_code == CLD_EXITED && info.si_status == 0) return std::move(talk.reply.bytes());
  const int status = info.si_code == CLD_EXITED ? W_EXITCODE(info.si_status, 0) : info.si_status;
  return failure(fmt::format("ended with {}", describe_end(status)));
}

}  // namespace sluice::sandbox
