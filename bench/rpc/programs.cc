#include "programs.h"

#include <fcntl.h>
#include <grpcpp/grpcpp.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <filesystem>

#include "proto/sluice/v1/runtime.grpc.pb.h"

namespace sluice::bench {
namespace {

class Echo final : public v1::Runtime::CallbackService {
 public:
  grpc::ServerUnaryReactor* Infer(grpc::CallbackServerContext* context,
                                  const v1::InferRequest* request,
                                  v1::InferResponse* response) override {
    *response->mutable_outputs() = request->inputs();
    auto* reactor = context->DefaultReactor();
    reactor->Finish(grpc::Status::OK);
    return reactor;
  }
};

[[noreturn]] void serve_echo(const std::string& path) {
  Echo echo;
  grpc::ServerBuilder builder;
  builder.AddListeningPort("unix:" + path, grpc::InsecureServerCredentials());
  builder.RegisterService(&echo);
  const auto server = builder.BuildAndStart();
  if (server == nullptr) std::_Exit(1);
  server->Wait();
  std::_Exit(0);
}

pid_t fork_child() {
  const pid_t child = fork();
  if (child == 0) prctl(PR_SET_PDEATHSIG, SIGKILL);
  return child;
}

}  // namespace

Process::~Process() {
  if (id_ < 0) return;
  kill(id_, SIGKILL);
  waitpid(id_, nullptr, 0);
}

Process start_echo(const std::string& path) {
  const pid_t child = fork_child();
  if (child == 0) serve_echo(path);
  return Process(child);
}

Process start_daemon(const std::string& folder, const std::vector<std::string>& flags) {
  const auto build = std::filesystem::canonical("/proc/self/exe").parent_path().parent_path();
  const std::string program = (build / "bin/sluiced").string();
  const std::string address = "unix:" + folder + "/sluice.sock";
  const pid_t child = fork_child();
  if (child != 0) return Process(child);
  const int log = open((folder + "/log").c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
  dup2(log, STDOUT_FILENO);
  dup2(log, STDERR_FILENO);
  std::vector<std::string> words = {program, "-x", "-g", address, "--lock-folder", folder};
  words.insert(words.end(), flags.begin(), flags.end());
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  execv(program.c_str(), arguments.data());
  std::_Exit(127);
}

}  // namespace sluice::bench
