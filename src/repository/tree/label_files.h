// The files of labels that a model's configuration names.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

#include "base/result.h"
#include "terms/server/declared_model.h"

namespace sluice::repository {

/// What the labels of a model may take.
struct LabelLimits {
  std::int64_t memory_bytes = std::int64_t{64} << 20;  ///< of all files together
};

/// Differs after a change of one of the files. Reads none of them.
/// `folder`: that of the configuration. `root`: what its files must not lead out of.
std::string labels_fingerprint(const terms::DeclaredModel& model,
                               const std::filesystem::path& folder,
                               const std::filesystem::path& root);

/// `model` with its labels. Each file is read once, and outputs that name it share what it has.
/// Fails: naming the output's line: as opening the file and parse_labels; kInvalidArgument for a
///        file outside of `root`, and for more than `limits`.
Result<std::shared_ptr<const terms::DeclaredModel>> with_labels(const terms::DeclaredModel& model,
                                                                const std::filesystem::path& folder,
                                                                const std::filesystem::path& root,
                                                                const LabelLimits& limits = {});

}  // namespace sluice::repository
