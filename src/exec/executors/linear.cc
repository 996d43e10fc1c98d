#include "exec/executors/list_run.h"

namespace sluice::exec {

Status run_linear(const ListRun& run) {
  Submission submission;
  for (std::size_t i = 0; i < run.tasks.size(); ++i) {
    if (i > 0) SLUICE_TRY(run.check());
    SLUICE_TRY(submission.submit(run, i));
    SLUICE_TRY(run.streams[run.tasks[i].group]->wait());
    submission.end(run);
  }
  return ok_status();
}

}  // namespace sluice::exec
