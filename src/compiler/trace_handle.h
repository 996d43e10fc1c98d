// What a handle of sluice/trace/trace.h is.
#pragma once

#include <string>
#include <vector>

#include "sluice/trace/trace.h"
#include "trace/recorder.h"

struct sluice_trace {
  sluice::trace::Recorder recorder = {};
  // What the last sluice_trace_describe points to.
  std::string type = {};
  std::vector<std::int64_t> dims = {};
  sluice_tensor_spec spec = {};
};
