#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <sstream>

#include "probe/probe.h"

namespace sluice::cuda {

std::unique_ptr<Backend> Prober::start(Confine confine) {
  Driver driver;
  std::unique_ptr<Backend> backend;
  Status status = open_(confine, &driver);
  if (status.is_ok()) status = Backend::create(std::move(driver), "", &backend);
  if (status.is_ok()) status = backend->store().check_compiler();
  if (status.is_ok()) status = backend->enter(0);
  if (status.is_ok()) return backend;
  say("start", status.text);
  return nullptr;
}

void Prober::run_apart(const std::function<void(Prober&)>& probe) {
  int ends[2];
  if (pipe(ends) != 0) return say("process", "no pipe");
  std::fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    close(ends[0]);
    Prober own(open_);
    probe(own);
    std::string text;
    for (const std::string& line : own.lines_) text += line + "\n";
    const ssize_t written = write(ends[1], text.data(), text.size());
    _exit(written == static_cast<ssize_t>(text.size()) ? 0 : 1);
  }
  close(ends[1]);
  std::string text;
  char buffer[4096];
  for (ssize_t n = 0; (n = read(ends[0], buffer, sizeof(buffer))) > 0;) {
    text.append(buffer, static_cast<std::size_t>(n));
  }
  close(ends[0]);
  int status = 0;
  if (child < 0 || waitpid(child, &status, 0) != child || status != 0) say("process", "failed");
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) lines_.push_back(line);
}

void Prober::say(const std::string& subject, const std::string& answer) {
  lines_.push_back(subject + ": " + answer);
}

void Prober::say(const std::string& subject, CuResult answer) {
  const char* const name = result_name(answer);
  say(subject, name != nullptr ? name : std::to_string(static_cast<int>(answer)));
}

std::shared_ptr<const LoadedKernel> load_kernel(Backend& backend, const char* text) {
  std::shared_ptr<const LoadedKernel> kernel;
  const Status status = backend.store().load(0, text, &kernel);
  return status.is_ok() ? kernel : nullptr;
}

}  // namespace sluice::cuda
