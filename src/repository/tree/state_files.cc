#include "repository/tree/state_files.h"

#include <fmt/format.h>

#include <span>
#include <vector>

#include "base/file.h"
#include "base/system/folder.h"
#include "repository/tree/resolve.h"

namespace sluice::repository {
namespace {

namespace fs = std::filesystem;

// The name is Triton's.
fs::path path_of(const terms::SequenceState& state, const fs::path& folder) {
  return folder / "initial_state" / state.data_file;
}

}  // namespace

std::string first_states_fingerprint(const terms::SequenceRules& rules, const fs::path& folder,
                                     const fs::path& root) {
  std::string all;
  for (const terms::SequenceState& state : rules.states) {
    if (state.data_file.empty()) continue;
    const auto real = resolve(path_of(state, folder), root);
    all += fmt::format("state:{}\n", real.is_ok() ? file_version(*real) : real.status().message());
  }
  return all;
}

Status read_first_states(terms::SequenceRules& rules, const fs::path& folder,
                         const fs::path& root) {
  std::int64_t left_bytes = kMaxFirstStateBytes;
  for (terms::SequenceState& state : rules.states) {
    if (state.data_file.empty()) continue;
    const auto read = [&]() -> Status {
      const fs::path real = SLUICE_TRY(resolve(path_of(state, folder), root));
      const std::string text = SLUICE_TRY(read_real_text(real, left_bytes));
      left_bytes -= static_cast<std::int64_t>(text.size());
      const auto bytes = std::as_bytes(std::span(text));
      state.initial = Bytes::own(std::vector<std::byte>(bytes.begin(), bytes.end()));
      return ok_status();
    };
    SLUICE_TRY(read().with_context(fmt::format("config.pbtxt, line {}: data_file", state.line)));
  }
  return ok_status();
}

}  // namespace sluice::repository
