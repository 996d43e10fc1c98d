// Requests that belong together: each continues where the one before it left off.
#pragma once

#include <cstdint>
#include <string>

namespace sluice::terms {

/// Which sequence a request is a part of.
struct SequencePart {
  std::string id;            ///< of the client's; a number in decimal
  bool is_number = false;    ///< 7 and "7" are two sequences
  std::uint64_t number = 0;  ///< the id as a number; else 0
  bool is_start = false;     ///< the first request: the sequence begins anew
  bool is_end = false;       ///< the last one
};

}  // namespace sluice::terms
