// One model loaded twice, each copy on cores of its own: by hand, or combined to one model that
// gives its requests to the copy that is least busy and joins them to batches.
//
//   replicas digits.sluice [unix:/run/sluice.sock]
#include "show.hpp"
#include "sluice/parallel/data_parallel.hpp"
#include "sluice/statistics.hpp"

static void by_hand(const std::vector<sluice::LoadedModel>& copies) {
  std::vector<sluice::Request> requests;
  for (std::size_t i = 0; i < 8; ++i) {
    requests.push_back(must(copies[i % copies.size()].submit(seven())));
  }
  bool are_right = true;
  for (auto& request : requests) are_right = are_right && is_seven(must(request.wait()));
  show(are_right, "requests alternate between the copies");
}

static void combined(const sluice::Runtime& runtime,
                     const std::vector<sluice::LoadedModel>& copies) {
  auto all =
      must(runtime.combine({&copies[0], &copies[1]}, {.batch_rows = 8,
                                                      .max_delay = std::chrono::milliseconds(20),
                                                      .timeout = std::chrono::seconds(20)}));
  std::vector<sluice::Request> requests;
  for (int i = 0; i < 64; ++i) requests.push_back(must(all.submit(seven())));
  bool are_right = true;
  for (auto& request : requests) are_right = are_right && is_seven(must(request.wait()));
  show(are_right, "64 requests to the combined model are answered");
  const auto joined = must(sluice::statistics_of(runtime, copies[0])).joined +
                      must(sluice::statistics_of(runtime, copies[1])).joined;
  show(joined > 0, std::to_string(joined) + " of them ran together with others");
  show(is_seven(must(all.infer(seven()))), "it answers synchronously, too");
  const auto late = all.infer(seven(), {.timeout = sluice::Nanoseconds(1)});
  show(!late && late.error().code == sluice::Code::kDeadlineExceeded,
       "and a request has a time-out");
  must(all.unload());
}

/// Rows of one batch over both copies. `digits.sluice` takes any number of rows: a share for each.
static void divided(const std::vector<sluice::LoadedModel>& copies) {
  const auto parallel = must(sluice::DataParallel::create({&copies[0], &copies[1]}));
  std::vector<float> images;
  for (int i = 0; i < 7; ++i) images.insert(images.end(), std::begin(kSeven), std::end(kSeven));
  const auto outputs = must(parallel.run({sluice::tensor<float>("image", images, {7, 1, 8, 8})}));
  const auto values = outputs.front().values<float>();
  bool are_right = values.size() == 70;
  for (std::size_t row = 0; are_right && row < 7; ++row) {
    are_right = is_seven(values.subspan(row * 10, 10));
  }
  show(are_right, "a batch of 7 rows is divided over the copies, and joined again");
  const auto uneven = parallel.run({sluice::tensor<float>("image", images, {0, 1, 8, 8})});
  show(!uneven && uneven.error().code == sluice::Code::kInvalidArgument, "no rows are refused");
}

int main(int argc, char** argv) {
  const std::string path = argc > 1 ? argv[1] : "digits.sluice";
  auto runtime = open_runtime(argc, argv);
  std::vector<sluice::LoadedModel> copies;
  for (const char* name : {"left", "right"}) {
    auto group = must(runtime.create_group({.num_cores = 1}));
    static std::vector<sluice::CoreGroup> groups;
    copies.push_back(must(runtime.load({.path = path, .name = name, .group = group.id()})));
    must(copies.back().start());
    groups.push_back(std::move(group));
  }
  const auto all = must(runtime.groups());
  show(all.size() == 2 && (all[0].cores[0].core != all[1].cores[0].core ||
                           all[0].cores[0].device != all[1].cores[0].device),
       "two copies of the model have a core each");
  by_hand(copies);
  divided(copies);
  if (argc <= 2) combined(runtime, copies);
}
