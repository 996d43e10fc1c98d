#include "rpc/wire/error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sluice::rpc::wire {
namespace {

using ::testing::HasSubstr;

TEST(Error, EveryRuntimeCodeRoundTrips) {
  for (const terms::RuntimeCodeInfo& info : terms::runtime_codes()) {
    if (info.code == RuntimeCode::kOk) continue;
    const Status sent = terms::runtime_error(info.code, "what {}", info.name);
    const Status came = from_grpc(to_grpc(sent));
    EXPECT_EQ(came.code(), sent.code());
    EXPECT_EQ(terms::runtime_code_of(came), info.code);
    EXPECT_EQ(came.message(), sent.message());
  }
  EXPECT_TRUE(from_grpc(to_grpc(ok_status())).is_ok());
}

TEST(Error, ForeignDetailsAreIgnored) {
  for (const std::string& bytes : {std::string("\xFF\xFF\xFF"), std::string(1000, 'x')}) {
    const Status status = from_grpc(grpc::Status(grpc::StatusCode::NOT_FOUND, "gone", bytes));
    EXPECT_EQ(status.code(), Code::kNotFound);
    EXPECT_EQ(status.message(), "gone");
  }
}

TEST(Error, LongMessagesFitATrailer) {
  const grpc::Status status =
      to_grpc(terms::runtime_error(RuntimeCode::kFailed, "{}", std::string(1 << 20, 'x')));
  EXPECT_LT(status.error_message().size() + status.error_details().size(), 8000U);
}

TEST(Error, InvalidUtf8KeepsTheDetailReadable) {
  const Status came = from_grpc(to_grpc(terms::runtime_error(RuntimeCode::kQueueFull, "a\xFF")));
  EXPECT_EQ(terms::runtime_code_of(came), RuntimeCode::kQueueFull);
  EXPECT_THAT(came.message(), HasSubstr("a?"));
}

}  // namespace
}  // namespace sluice::rpc::wire
