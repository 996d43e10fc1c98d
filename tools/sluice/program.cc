// One file per kind of subcommand. Commands that talk to a daemon are in the program
// `sluice-remote`, which replaces this process, so that only these commands load gRPC's fifty
// libraries.
#include "sluice/program.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <utility>

#include "sluice/cli/command_table.h"
#include "sluice/cli/completion.h"
#include "sluice/cli/run_commands.h"

namespace sluice::tool {
namespace {

std::vector<std::unique_ptr<Command>> make_commands() {
  std::vector<std::unique_ptr<Command>> commands = make_compiler_commands();
  commands.push_back(make_generate_command());
  commands.push_back(make_chat_command());
  commands.push_back(make_embed_command());
  commands.push_back(make_inspect_command());
  commands.push_back(make_run_command());
  commands.push_back(make_bench_command());
  commands.push_back(make_tokenize_command());
  commands.push_back(make_operators_command());
  commands.push_back(make_discover_command());
  commands.push_back(make_ls_command());
  commands.push_back(make_doctor_command());
  for (auto& command : make_guest_commands()) commands.push_back(std::move(command));
  return commands;
}

/// Beside this program; absent from a build or an installation without the daemon.
std::filesystem::path remote_program() {
  std::error_code error;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", error);
  return self.parent_path() / "sluice-remote";
}

/// Returns only if it cannot.
int become_remote(char** argv) {
  const std::filesystem::path program = remote_program();
  execv(program.c_str(), argv);
  const char* why = errno == ENOENT
                        ? "it is not there; this build or installation is without the daemon"
                        : std::strerror(errno);
  std::fprintf(stderr, "sluice %s: %s: %s\n", argv[1], program.c_str(), why);
  return 1;
}

}  // namespace

int run_program(int argc, char** argv) {
  const CommandInfo* info = argc > 1 ? find_command(argv[1]) : nullptr;
  if (info != nullptr && info->program == CommandProgram::kRemote) return become_remote(argv);
  std::error_code error;
  const bool has_remote = std::filesystem::exists(remote_program(), error);
  const int code = run_commands(make_commands(), {CommandProgram::kSluice, has_remote}, argc, argv);
  const bool is_half_done = has_remote && code == 0 && argc == 3 &&
                            argv[1] == std::string_view("completion") && parse_shell(argv[2]);
  return is_half_done ? become_remote(argv) : code;
}

}  // namespace sluice::tool
