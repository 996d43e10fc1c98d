// The files of first values that a model's sequences begin with, as its configuration names them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "base/result.h"
#include "terms/server/declared_model.h"

namespace sluice::repository {

/// Limit of all files of a model together.
inline constexpr std::int64_t kMaxFirstStateBytes = std::int64_t{256} << 20;

/// Differs after a change of one of the files. Reads none of them.
/// `folder`: that of the configuration. `root`: what its files must not lead out of.
std::string first_states_fingerprint(const terms::SequenceRules& rules,
                                     const std::filesystem::path& folder,
                                     const std::filesystem::path& root);

/// Reads initial_state/FILE of the folder into the states that name one.
/// Fails: naming the state's line: as opening the file; kInvalidArgument for a file outside of
///        `root`, and over kMaxFirstStateBytes.
Status read_first_states(terms::SequenceRules& rules, const std::filesystem::path& folder,
                         const std::filesystem::path& root);

}  // namespace sluice::repository
