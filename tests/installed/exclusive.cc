// Core groups: one active model at a time, explicit groups beside implicit ones, and loads and
// unloads that do not disturb running inferences.
//
//   exclusive digits.sluice [unix:/run/sluice.sock]
#include <atomic>
#include <thread>

#include "show.hpp"

int main(int argc, char** argv) {
  const std::string path = argc > 1 ? argv[1] : "digits.sluice";
  auto runtime = open_runtime(argc, argv);

  auto group = must(runtime.create_group({.num_cores = 1}));  // explicit: first the cores
  auto day = must(runtime.load({.path = path, .name = "day", .group = group.id()}));
  auto night = must(runtime.load({.path = path, .name = "night", .group = group.id()}));
  show(day.infer(seven()).error().code == sluice::Code::kFailedPrecondition,
       "a loaded model takes no requests");
  must(day.start());
  show(is_seven(must(day.infer(seven()))), "a started one does");
  show(night.start()->code == sluice::Code::kFailedPrecondition,
       "no second model of the group starts");
  must(day.stop());
  must(night.start());
  show(is_seven(must(night.infer(seven()))), "it starts once the first has stopped");
  for (const sluice::GroupInfo& info : must(runtime.groups())) {
    if (info.group != group.id()) continue;
    show(info.active_model == "night" && info.num_switches == 1, "the group counts the switch");
  }
  show(sluice_runtime_destroy_group(runtime.get(), group.id()) == SLUICE_FAILED_PRECONDITION,
       "a group with models cannot be destroyed");

  std::atomic<bool> is_over = false;
  std::atomic<int> num_wrong = 0, num_answers = 0;
  std::thread client([&] {
    while (!is_over) {
      const auto reply = night.infer(seven());
      if (!reply || !is_seven(*reply)) ++num_wrong;
      ++num_answers;
    }
  });
  for (int i = 0; i < 10; ++i) {
    auto other = must(runtime.load({.path = path, .name = "other", .group = group.id()}));
    must(other.unload());
  }
  while (num_answers < 100) std::this_thread::yield();
  is_over = true;
  client.join();
  show(num_wrong == 0, "ten loads and unloads disturb none of " + std::to_string(num_answers) +
                           " inferences beside them");
  must(night.unload());
  must(day.unload());

  auto implicit = must(runtime.load({.path = path, .name = "alone"}));
  show(must(implicit.info()).is_implicit, "a load without a group makes one and starts the model");
  const auto alone = must(implicit.info()).group;
  must(implicit.unload());
  for (const sluice::GroupInfo& info : must(runtime.groups())) {
    show(info.group != alone, "which ends with its model");
  }
}
