#include "plugin/step_log.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <sstream>

#include "testing/op_testing.h"

namespace sluice::cpu {
namespace {

std::string text_of(const std::string& path) {
  std::ifstream file(path);
  return (std::ostringstream() << file.rdbuf()).str();
}

TEST(StepLog, WritesOneLinePerStep) {
  const std::string path =
      ::testing::TempDir() + "step_times_" + std::to_string(::getpid()) + ".jsonl";
  TestOp op("MatMul");
  op.input({2, 3}, std::vector<float>(6)).input({3, 4}, std::vector<float>(12), true);
  op.output({2, 4}).step("Relu", {0});
  {
    StepLog log(path);
    log.add_step(op.op());
    log.add_copy(100);
    StepTimes times(2);
    times.begin_run(2);
    for (int run = 0; run < 3; ++run) log.add_run(times);
  }
  const std::string text = text_of(path);
  std::remove(path.c_str());
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 2) << text;
  for (const char* part :
       {R"("op":"MatMul+Relu")", R"("inputs":[[2,3],[3,4]],"outputs":[[2,4]],"bytes":104,)",
        R"("workers":2)", R"("runs":3)", R"("step":1)", R"("op":"copy")", R"("bytes":200,)"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << " in\n" << text;
  }
}

TEST(StepLog, EscapesNamesFromTheModel) {
  const std::string path =
      ::testing::TempDir() + "step_names_" + std::to_string(::getpid()) + ".jsonl";
  TestOp op("Relu");
  op.input({1}, std::vector<float>(1)).output({1});
  sluice_op named = op.op();
  named.name = "a\"b\\c\nd";
  {
    StepLog log(path);
    log.add_step(named);
    log.add_run(StepTimes(1));
  }
  const std::string text = text_of(path);
  std::remove(path.c_str());
  EXPECT_NE(text.find(R"("name":"a\"b\\c?d")"), std::string::npos) << text;
}

TEST(StepLog, WritesNothingForAListThatNeverRan) {
  const std::string path =
      ::testing::TempDir() + "step_none_" + std::to_string(::getpid()) + ".jsonl";
  StepLog(path).add_copy(100);
  EXPECT_EQ(text_of(path), "");
  std::remove(path.c_str());
}

}  // namespace
}  // namespace sluice::cpu
