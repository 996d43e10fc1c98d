// A subcommand: its name, its options and its action. Its summary and examples are in
// command_table.h.
#pragma once

#include <memory>
#include <vector>

#include "base/result.h"
#include "sluice/cli/options.h"

namespace sluice::tool {

/// Options are members that `add_options` binds; `run` is called once, after parsing.
class Command {
 public:
  virtual ~Command() = default;
  virtual const char* name() const = 0;
  virtual void add_options(Options& options) = 0;
  /// The exit code: 0 for success, 1 for a result that is a failure. An error prints and gives 1.
  virtual Result<int> run() = 0;
};

std::unique_ptr<Command> make_bench_command();
std::unique_ptr<Command> make_chat_command();
std::unique_ptr<Command> make_compile_command();
std::unique_ptr<Command> make_conformance_command();
std::unique_ptr<Command> make_discover_command();
std::unique_ptr<Command> make_doctor_command();
std::unique_ptr<Command> make_embed_command();
std::unique_ptr<Command> make_explain_command();
std::unique_ptr<Command> make_generate_command();
std::unique_ptr<Command> make_inspect_command();
std::unique_ptr<Command> make_link_command();
std::unique_ptr<Command> make_ls_command();
std::unique_ptr<Command> make_operators_command();
std::unique_ptr<Command> make_operator_times_command();
std::unique_ptr<Command> make_quantize_command();
std::unique_ptr<Command> make_run_command();
std::unique_ptr<Command> make_tokenize_command();
std::unique_ptr<Command> make_tune_command();

/// The commands that only a build with the compiler has.
std::vector<std::unique_ptr<Command>> make_compiler_commands();

/// `guest`, in a build with the backend cuda and shared memory.
std::vector<std::unique_ptr<Command>> make_guest_commands();

}  // namespace sluice::tool
