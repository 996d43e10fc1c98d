// The commands that talk to a daemon, as a user runs them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "daemon/fixture.h"

namespace sluice {
namespace {

using nlohmann::json;
using sluice::testing::build_path;
using sluice::testing::run_program;
using sluice::testing::RunResult;
using ::testing::HasSubstr;

class CliTest : public sluice::testing::DaemonTest {
 protected:
  RunResult run(std::vector<std::string> words) const {
    words.insert(words.begin(), build_path("bin/sluice").string());
    words.insert(words.end(), {"--address", daemon_->address()});
    return run_program(words);
  }

  /// Requires: the command succeeds and prints JSON.
  json run_json(std::vector<std::string> words) const {
    words.push_back("--json");
    const RunResult result = run(std::move(words));
    EXPECT_EQ(result.exit_code, 0) << result.output;
    const json printed = json::parse(result.output, nullptr, /*allow_exceptions=*/false);
    EXPECT_FALSE(printed.is_discarded()) << result.output;
    return printed;
  }
};

TEST_F(CliTest, GoesThroughTheExplicitFlow) {
  const json group = run_json({"groups", "--create", "3"});
  EXPECT_EQ(group["cores"].size(), 3U);
  const std::string handle = group["group"].dump();
  EXPECT_EQ(run_json({"load", three_cores_, "--group", handle, "--name", "a"})["phase"], "loaded");
  EXPECT_EQ(run_json({"load", one_core_, "--group", handle, "--name", "b"})["mode"], "normal");
  run_json({"start", "a"});
  const json reply = run_json({"infer", "a", "--input", "x=zeros"});
  EXPECT_EQ(reply["code"], 0);
  EXPECT_EQ(reply["outputs"][0]["type"], "f32[4]");
  EXPECT_EQ(reply["backends"], json({"sim", "sim"}));
  const RunResult second = run({"start", "b"});
  EXPECT_EQ(second.exit_code, 1);
  EXPECT_THAT(second.output, HasSubstr("\"a\""));
  run_json({"stop", "a", "--drain", "1"});
  run_json({"start", "b"});
  EXPECT_EQ(run_json({"models"}).size(), 2U);
  run_json({"unload", "a"});
  run_json({"unload", "b"});
  run_json({"groups", "--destroy", handle});
  EXPECT_TRUE(run_json({"groups"}).empty());
}

TEST_F(CliTest, GoesThroughTheImplicitFlow) {
  const RunResult loaded = run({"load", five_cores_});
  EXPECT_EQ(loaded.exit_code, 0) << loaded.output;
  EXPECT_THAT(loaded.output, HasSubstr("five, started on group"));
  const RunResult shown = run({"infer", "five", "--input", "x=zeros"});
  EXPECT_EQ(shown.exit_code, 0) << shown.output;
  EXPECT_THAT(shown.output, HasSubstr("f32[4], min 0, max 3"));
  const json statistics = run_json({"stats", "five"});
  EXPECT_EQ(statistics[0]["answered"]["ok"], 1);
  const json server = run_json({"server"});
  EXPECT_EQ(server["free_cores"], 11);
  EXPECT_EQ(server["devices"].size(), 4U);
  EXPECT_EQ(server["health"]["ready"], true);
  EXPECT_EQ(run({"unload", "five"}).exit_code, 0);
}

TEST_F(CliTest, ListsAndEndsSessions) {
  const auto client = daemon_->client("somebody");
  const json sessions = run_json({"sessions"});
  ASSERT_EQ(sessions.size(), 1U);
  EXPECT_EQ(sessions[0]["client"], "somebody");
  run_json({"sessions", "--kill", sessions[0]["session"].dump()});
  EXPECT_TRUE(run_json({"sessions"}).empty());
}

TEST_F(CliTest, TablesHaveAHeaderAndALinePerEntry) {
  ASSERT_EQ(run({"load", one_core_}).exit_code, 0);
  EXPECT_THAT(run({"models"}).output, HasSubstr("MODEL        NAME  PHASE"));
  EXPECT_THAT(run({"groups"}).output, HasSubstr("load     device 0: 0"));
  EXPECT_THAT(run({"sessions"}).output, HasSubstr("SESSION  CLIENT"));
  EXPECT_THAT(run({"stats"}).output, HasSubstr("QUEUE P99"));
  EXPECT_THAT(run({"server"}).output, HasSubstr("15 of 16 cores free"));
  EXPECT_THAT(run({"load", one_core_, "--estimate"}).output, HasSubstr("KiB"));
}

TEST_F(CliTest, FailuresAreOneLineThatSaysWhatToDo) {
  const auto fails = [&](std::vector<std::string> words, int exit_code, const char* says) {
    const RunResult result = run(std::move(words));
    EXPECT_EQ(result.exit_code, exit_code) << result.output;
    EXPECT_THAT(result.output, HasSubstr(says));
  };
  fails({"infer", "nobody", "--input", "x=zeros"}, 1, "`sluice models` lists them");
  fails({"unload", "0x12345"}, 1, "no model has handle 0x12345");
  fails({"groups", "--destroy", "frog"}, 1, "\"frog\" is no handle");
  fails({"groups", "--create", "17"}, 1, "17 cores");
  fails({"load", (folder_ / "missing.sluice").string()}, 1, "missing.sluice");
  fails({"load", "/etc/passwd"}, 1, "package");
  fails({"load", "/etc/passwd", "--by-path"}, 1, "model folder");
  fails({"sessions", "--kill", "99"}, 1, "no session 99");
  fails({"stop", "a", "--drain", "-1"}, 2, "drain");
  ASSERT_EQ(run({"load", one_core_, "--name", "m"}).exit_code, 0);
  ASSERT_EQ(run({"load", one_core_, "--name", "m"}).exit_code, 0);
  fails({"unload", "m"}, 1, "2 models are called \"m\"");
  const RunResult nobody =
      run_program({build_path("bin/sluice").string(), "server", "--address", "unix:/nowhere.sock"});
  EXPECT_EQ(nobody.exit_code, 1);
  EXPECT_THAT(nobody.output, HasSubstr("no daemon answers at unix:/nowhere.sock"));
}

}  // namespace
}  // namespace sluice
