// The table of docs/api.md that compares a runtime of this process with one over a daemon. Each row
// is tried in both places: what a place lacks, it refuses with UNIMPLEMENTED.
#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <fstream>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "sluice/session.hpp"
#include "two_places.h"

namespace sluice::testing {
namespace {

using Codes = std::vector<Code>;

template <typename T>
Code code_of(const Expected<T>& result) {
  return result ? Code::kOk : result.error().code;
}

class Parity : public TwoPlaces {
 protected:
  Code infer(const RequestOptions& options = {}) { return code_of(load().infer(image(), options)); }
  Code infer_into_own_memory() {
    alignas(64) std::array<float, 10> memory = {};
    return infer({.outputs = {{"probabilities", std::as_writable_bytes(std::span(memory))}}});
  }
  /// Codes of a group, and of a load without one, while a group has all cores.
  Codes wait_for_cores() {
    const auto all = runtime_.create_group();
    EXPECT_TRUE(all) << all.error().message;
    const auto timeout = std::chrono::milliseconds(1);
    return {code_of(runtime_.create_group({.num_cores = 1, .timeout = timeout})),
            code_of(runtime_.load({.path = digits_package(), .timeout = timeout}))};
  }
  Code post() {
    const auto model = load();
    auto request = model.submit(image(), {.is_posted = true});
    return request ? code_of(request->wait()) : request.error().code;
  }
  Code combine() {
    const auto model = load();
    return code_of(runtime_.combine({&model}));
  }

  /// By the first cell of a row.
  std::map<std::string, std::function<Codes()>> rows_ = {
      {"`infer`, `submit`, groups, states, functions and graphs of them, footprint, statistics, "
       "profiles, `share`",
       [this] { return Codes{infer()}; }},  // and the other tests of two places
      {"waiting for cores", [this] { return wait_for_cores(); }},
      {"load on demand",
       [this] {
         return Codes{code_of(runtime_.load({.path = digits_package(), .is_on_demand = true}))};
       }},
      {"groups in worker processes (`SLUICE_ISOLATION_PROCESS`)",
       [this] {
         return Codes{code_of(
             runtime_.create_group({.num_cores = 1, .isolation = SLUICE_ISOLATION_PROCESS}))};
       }},
      {"`combine`", [this] { return Codes{combine()}; }},
      {"queues", [this] { return Codes{code_of(Queues::open(runtime_, load()))}; }},
      {"the exchange", [this] { return Codes{code_of(runtime_.put_tensor(image()[0]))}; }},
      {"requests with `is_posted`", [this] { return Codes{post()}; }},
      {"caller's memory for outputs", [this] { return Codes{infer_into_own_memory()}; }}};
};

INSTANTIATE_TEST_SUITE_P(Places, Parity,
                         ::testing::Values(Place::kLocal, Place::kRing, Place::kGrpc));

/// The rows below the table's head, as cells.
std::vector<std::vector<std::string>> table() {
  std::ifstream file(source_path("docs/api.md"));
  std::vector<std::vector<std::string>> rows;
  bool is_inside = false;
  for (std::string line; std::getline(file, line);) {
    if (line == "| | local | daemon |") {
      is_inside = true;
      std::getline(file, line);  // |---|
      continue;
    }
    if (is_inside && (line.empty() || line.front() != '|')) break;
    if (!is_inside) continue;
    std::vector<std::string>& cells = rows.emplace_back();
    for (std::size_t at = 2; at < line.size();) {
      const std::size_t end = line.find(" |", at);
      cells.push_back(line.substr(at, end - at));
      at = end + 3;
    }
  }
  return rows;
}

TEST_P(Parity, EachRowOfTheTableIsWhatThePlaceDoes) {
  const auto rows = table();
  EXPECT_EQ(rows.size(), rows_.size()) << "rows of docs/api.md and of this test";
  for (const auto& cells : rows) {
    ASSERT_EQ(cells.size(), 3U) << cells.front();
    const auto found = rows_.find(cells[0]);
    ASSERT_NE(found, rows_.end()) << cells[0];
    const std::string& says = cells[GetParam() == Place::kLocal ? 1 : 2];
    const Codes codes = found->second();
    if (cells[0] == "waiting for cores") {
      const bool is_local = GetParam() == Place::kLocal;
      EXPECT_EQ(codes, (Codes{Code::kDeadlineExceeded,
                              is_local ? Code::kDeadlineExceeded : Code::kUnimplemented}));
      continue;
    }
    const bool is_lacking = says.starts_with("`UNIMPLEMENTED`");
    EXPECT_TRUE(!is_lacking || says.starts_with("`UNIMPLEMENTED`: ")) << "no reason: " << cells[0];
    EXPECT_EQ(codes, Codes{is_lacking ? Code::kUnimplemented : Code::kOk}) << cells[0];
  }
}

TEST_P(Parity, PostedRequestIsTakenByAnotherConnectionOfTheSession) {
  if (GetParam() == Place::kLocal) {
    EXPECT_EQ(runtime_.session_token(), "");
    return;
  }
  const auto model = load();
  std::uint64_t id = 0;
  {
    const auto request = model.submit(image(), {.is_posted = true});
    ASSERT_TRUE(request) << request.error().message;
    id = request->id();
  }  // it goes on without its object
  const auto second =
      Runtime::connect(daemon_->address(), {.session_token = runtime_.session_token()});
  ASSERT_TRUE(second) << second.error().message;
  const auto reply = second->posted(id).wait();
  ASSERT_TRUE(reply) << reply.error().message;
  EXPECT_EQ(reply->output<float>("probabilities")->values.size(), 10U);
  auto spent = runtime_.posted(id);
  EXPECT_EQ(code_of(spent.wait()), Code::kNotFound) << "its reply was taken";
  EXPECT_EQ(spent.id(), id) << "an error may be the connection's, so the id stays";
  EXPECT_EQ(runtime_.posted(id).cancel()->code, Code::kNotFound);
}

}  // namespace
}  // namespace sluice::testing
