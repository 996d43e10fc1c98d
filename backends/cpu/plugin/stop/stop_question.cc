#include "plugin/stop/stop_question.h"

namespace sluice::cpu {
namespace {

/// Set by the thread that submits lists.
struct Question {
  sluice_stop_question ask = nullptr;
  void* user = nullptr;
};
thread_local Question t_question;

/// Set by each thread that works on a run.
struct Current {
  Stop* stop = nullptr;
  bool may_ask = false;
};
thread_local Current t_current;

void watch(sluice_backend* /*backend*/, sluice_stop_question question, void* user) {
  t_question = {question, user};
}

}  // namespace

const sluice_stop kStop = {sizeof(sluice_stop), 0, watch};

StopScope::StopScope(Stop* stop, bool may_ask) { t_current = {stop, may_ask}; }
StopScope::~StopScope() { t_current = {}; }

bool is_stopped() {
  const Current current = t_current;
  if (current.stop == nullptr) return false;
  return current.may_ask ? current.stop->ask_now_and_then() : current.stop->is_set();
}

void start_stop(Stop* stop) { stop->start(t_question.ask, t_question.user); }

}  // namespace sluice::cpu
