// A joined run of a model that mixes rows would answer one user with another user's data. No door
// of the daemon takes such a model.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "exec/testing/exec_testing.h"
#include "rpc/client/client.h"
#include "rpc/testing/serving.h"
#include "runtime/inference/thread_driver.h"

namespace sluice::rpc {
namespace {

using ::testing::HasSubstr;

struct Attack {
  std::string_view name;
  std::string_view mixer;       ///< the operator that a refusal names
  std::string_view operations;  ///< from x : f32[N,4] to y
};

constexpr Attack kAttacks[] = {
    {"Reverse", "Slice",
     "const %s : i64[1] = [-1]\nconst %e : i64[1] = [-9223372036854775807]\n"
     "const %a : i64[1] = [0]\n[%y : f32[N,4]] = Slice.13[%x, %s, %e, %a, %s]"},
    {"Softmax", "Softmax", "[%y : f32[N,4]] = Softmax.13[%x] {axis = 0}"},
    {"CumulativeSum", "CumSum",
     "const %a : i64[] = [0]\n[%y : f32[N,4]] = CumSum.14[%x, %a] {exclusive = 0, reverse = 0}"},
    {"SumOfAll", "ReduceSum",
     "const %a : i64[1] = [0]\n[%s : f32[1,4]] = ReduceSum.13[%x, %a] {keepdims = 1, "
     "noop_with_empty_axes = 0}\n[%y : f32[N,4]] = Add.14[%x, %s]"},
    {"ProductWithOthers", "MatMul",
     "[%t : f32[4,N]] = Transpose.25[%x] {perm = [1, 0]}\n"
     "[%p : f32[N,N]] = MatMul.13[%x, %t]\n[%y : f32[N,4]] = MatMul.13[%p, %x]"},
    {"DynamicScale", "DynamicQuantizeLinear",
     "[%q : u8[N,4], %s : f32[], %z : u8[]] = DynamicQuantizeLinear.11[%x]\n"
     "[%y : f32[N,4]] = DequantizeLinear.25[%q, %s, %z] {axis = 1, block_size = 0, output_dtype = "
     "0}"},
};

class MixedRowsTest : public testing::ServingTest<runtime::ThreadDrivers>,
                      public ::testing::WithParamInterface<Attack> {
 protected:
  MixedRowsTest() : ServingTest({}) {
    client_ = client::Client::create({.address = address()}).value();
    const std::string text =
        fmt::format("subgraph @0 \"main\" {{\n  input %x : f32[N,4]\n{}\n  output [%y]\n}}\n",
                    GetParam().operations);
    path_ = (folder_ / "own.sluice").string();
    EXPECT_TRUE(package::write_package(exec::testing::executable_of(text), path_).is_ok());
  }
  ~MixedRowsTest() override { stop(); }

  void expect_refusal(const Status& status) {
    EXPECT_EQ(terms::runtime_code_of(status), RuntimeCode::kInvalid) << status.to_string();
    EXPECT_THAT(std::string(status.message()), HasSubstr(GetParam().mixer));
    EXPECT_THAT(service_.list_models(0).value(), ::testing::IsEmpty());
  }

  std::unique_ptr<client::Client> client_;
  std::string path_;
};

INSTANTIATE_TEST_SUITE_P(Attacks, MixedRowsTest, ::testing::ValuesIn(kAttacks),
                         [](const auto& attack) { return std::string(attack.param.name); });

TEST_P(MixedRowsTest, ModelsAreRefused) {
  terms::LoadOptions options;
  options.batching = terms::BatchOptions{16, 0};
  expect_refusal(client_->load(options, path_).status());
}

TEST_P(MixedRowsTest, FunctionsAreRefused) {
  terms::LoadOptions options;
  options.function = terms::FunctionOptions{.batch_rows = 16};
  expect_refusal(client_->load(options, path_).status());
}

TEST_P(MixedRowsTest, RunsAloneAreAllowed) { EXPECT_TRUE(client_->load({}, path_).is_ok()); }

}  // namespace
}  // namespace sluice::rpc
