#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <map>
#include <new>
#include <regex>

#include "sluice/cli/command.h"
#include "sluice/commands/conformance_case.h"

namespace sluice::tool {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> sorted_children(const fs::path& folder) {
  std::error_code ignored;
  std::vector<fs::path> children;
  for (const auto& entry : fs::directory_iterator(folder, ignored))
    children.push_back(entry.path());
  std::sort(children.begin(), children.end());
  return children;
}

/// A folder with model.onnx, or every such folder in it.
void find_cases(const fs::path& folder, std::vector<fs::path>& cases) {
  if (fs::exists(folder / "model.onnx")) {
    cases.push_back(folder);
    return;
  }
  for (const fs::path& child : sorted_children(folder)) {
    if (fs::is_directory(child)) find_cases(child, cases);
  }
}

class ConformanceCommand : public Command {
 public:
  const char* name() const override { return "conformance"; }

  void add_options(Options& options) override {
    options.add("folders", folders_, "Cases, or folders of cases").required();
    options.add("--backend", options_.model.backends, "Backends in order of preference")
        .separated_by_commas()
        .shows_default();
    options.add("--filter", filter_, "Run only cases whose name matches this regular expression");
    options.flag("!--no-optimize", options_.model.optimize,
                 "Leave graphs as they are in the files");
    options.flag("-v,--verbose", is_verbose_, "List passed cases, too");
    options.add("--tolerance", tolerances_,
                "Relative and absolute tolerance of a float type: f32=1e-4,1e-6 (repeatable)");
    options.add("--against", against_,
                "Compare with this backend instead of the stored outputs: results, and refusals");
    options
        .add("--executor", executor_,
             "How a run walks the graph; see `sluice compile --help` (default: as compiled)")
        .one_of({"linear", "dataflow", "parallel"});
    options.add_threads(options_.num_threads, "Cores to use; 0 takes all");
    options
        .add("--max-loop-iterations", options_.max_loop_iterations,
             "Fail a case in which a loop takes more iterations")
        .shows_default();
    options.flag("--any-values", options_.takes_any_values,
                 "With --against: compare refusals only");
  }

  Result<int> run() override {
    std::vector<fs::path> cases;
    for (const std::string& folder : folders_) find_cases(folder, cases);
    if (cases.empty()) return invalid_argument("no model.onnx below {}", folders_.front());
    options_.executor = SLUICE_TRY(exec::parse_executor(executor_));
    options_.tolerances = SLUICE_TRY(parse_tolerances(tolerances_));
    const std::regex filter = SLUICE_TRY(parse_filter());
    std::map<Outcome::Kind, int> counts;
    for (const fs::path& folder : cases) {
      const std::string case_name = folder.filename().string();
      if (!std::regex_search(case_name, filter)) continue;
      const Outcome outcome = run_one(folder);
      ++counts[outcome.kind];
      report(case_name, outcome);
    }
    fmt::print("{} passed, {} failed, {} skipped\n", counts[Outcome::Kind::kPassed],
               counts[Outcome::Kind::kFailed], counts[Outcome::Kind::kSkipped]);
    return counts[Outcome::Kind::kFailed] == 0 ? 0 : 1;
  }

 private:
  Result<std::regex> parse_filter() const {
    try {
      return std::regex(filter_);
    } catch (const std::regex_error& error) {
      return invalid_argument("--filter {}: {}", filter_, error.what());
    }
  }

  Outcome run_one(const fs::path& folder) const {
    try {
      return against_.empty() ? run_case(folder, options_)
                              : run_case_against(folder, options_, against_);
    } catch (
        const std::bad_alloc&) {  // backends refuse what is too large; copies of outputs are ours
      return {Outcome::Kind::kSkipped,
              "its outputs do not fit into memory once more, to be compared"};
    }
  }

  void report(const std::string& case_name, const Outcome& outcome) const {
    if (outcome.kind == Outcome::Kind::kPassed && is_verbose_) fmt::print("pass {}\n", case_name);
    if (outcome.kind == Outcome::Kind::kFailed)
      fmt::print("FAIL {}: {}\n", case_name, outcome.text);
    if (outcome.kind == Outcome::Kind::kSkipped)
      fmt::print("skip {}: {}\n", case_name, outcome.text);
    std::fflush(stdout);  // a crash in the next case does not take this verdict along
  }

  std::vector<std::string> folders_;
  CaseOptions options_;
  std::vector<std::string> tolerances_;
  std::string against_;
  std::string executor_;
  std::string filter_;
  bool is_verbose_ = false;
};

}  // namespace

std::unique_ptr<Command> make_conformance_command() {
  return std::make_unique<ConformanceCommand>();
}

}  // namespace sluice::tool
