// What a worker is told at its start, and the protocol that it and the daemon speak.
//
// Messages are JSON objects with an "op" and an "id", which the answer has too, beside "code"
// (gRPC's; 0: ok), and what is said here:
//     memory   with the file of an Arena            first of all
//     start    with the file of a JSON text, WorkerSetup
//     load     the fields of terms/load_json.h; a package
//                                                                --> model, name, mode, depth,
//     num_slots, ... start_model, stop, reset, unload              model; drain_ns, below 0: no
//     drain cancel   call                                  the load with that id; has no answer
//     start_profile  model (0: all), limit_ns, max_spans   --> profile
//     next_page      profile: ends its recording           --> a page of it (profile_pages.h)
//     drop_profile   profile
// Entries of the ring: one input and one output are a request, in a Bundle, and room for its
// answer; one output alone is room for an answer that was too long (`model`: of which request);
// none cancels the request `model`. A request's numbers: 1 for an answer with details, the longest
// run that its client may have in ns (0: any). An answer's numbers: queue, copy and compute time in
// ns, recorded bytes, 1 if the request was joined, copy time of outputs, rows of its run (0:
// another request of the run tells them), requests before it; its text: backends. A completion's
// status_code is 0 if the bundle is in the room, kOutOfRange if it needs the bytes that outputs[0]
// says.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace sluice::worker {

/// What a worker is made for.
struct WorkerSetup {
  std::string map;                ///< JSON of the daemon's devices
  std::string sim;                ///< JSON of the simulated devices; empty: real ones
  std::int32_t first_device = 0;  ///< where the group's run begins
  std::int32_t first_core = 0;
  std::int32_t num_cores = 0;
  std::int64_t memory_bytes = 0;   ///< 0: no limit
  std::int64_t usable_bytes = 0;   ///< limit_usable_memory
  std::vector<std::int32_t> cpus;  ///< its processors; empty: any
  std::int64_t hang_limit_ns = 0;
  std::int64_t user = -1;  ///< who it becomes; -1: stays who it is
  std::int64_t group = -1;
  bool is_filtered = true;  ///< filter_system_calls
};
std::string print_setup(const WorkerSetup& setup);
Result<WorkerSetup> parse_setup(const std::string& text);

}  // namespace sluice::worker
