// More models than cores and memory: the first request loads a model, the least recently used one
// makes room for it, and a pinned one stays. A load's memory is known before it.
//
//   on_demand digits.sluice
#include "show.hpp"

static bool is_in_memory(const sluice::LoadedModel& model) {
  return must(model.info()).phase == SLUICE_MODEL_STARTED;
}

int main(int argc, char** argv) {
  const std::string path = argc > 1 ? argv[1] : "digits.sluice";
  std::int64_t one_bytes = 0;
  {
    auto probe = must(sluice::Runtime::create());
    one_bytes = must(probe.estimate({.path = path, .depth = 1})).total_bytes;
    show(one_bytes > 0 && must(probe.models()).empty(),
         "a load takes " + std::to_string(one_bytes) + " bytes: known without loading");
  }
  auto runtime = must(sluice::Runtime::create());
  const auto load = [&](const std::string& name, bool is_pinned) {
    return must(runtime.load(
        {.path = path, .name = name, .depth = 1, .is_on_demand = true, .is_pinned = is_pinned}));
  };
  auto pinned = load("pinned", true);
  std::vector<sluice::LoadedModel> models;
  for (int i = 0; i < 8; ++i) models.push_back(load("m" + std::to_string(i), false));
  show(!is_in_memory(pinned) && !is_in_memory(models[0]),
       "nine models are registered, none is loaded");
  must(pinned.infer(seven()));
  show(is_in_memory(pinned), "the first request loads its model");

  for (const auto& model : models) must(model.infer(seven()));
  const auto num_loaded = std::count_if(models.begin(), models.end(), is_in_memory);
  show(is_in_memory(models.back()), "all answer; the last one is in memory");
  show(is_in_memory(pinned), "and so is the pinned one");
  std::printf("       %td of the other eight are loaded\n", num_loaded);
  show(is_seven(must(models[0].infer(seven()))),
       "a model that was unloaded comes back by a request");
}
