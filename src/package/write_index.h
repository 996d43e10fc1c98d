// The index of a `.sluice` file that is written.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "package/executable.h"
#include "package/index_generated.h"

namespace sluice::package {

/// Where the parts of a file are.
struct IndexParts {
  std::vector<std::pair<std::string, schema::Extent>> sections;
  std::vector<schema::Extent> constants;  ///< by number in the graph's text
  std::vector<schema::Extent> packed;     ///< by number in Executable::packed
  /// By number in Executable::code: the source, then the images.
  std::vector<std::vector<schema::Extent>> code;
};

/// Makes the table `Index` in `builder`.
void write_index(const Executable& executable, const IndexParts& parts,
                 flatbuffers::FlatBufferBuilder& builder);

}  // namespace sluice::package
