// A client with a daemon of an older release, which ignores what it does not know.
#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <atomic>

#include "proto/sluice/v1/runtime.grpc.pb.h"
#include "rpc/client/client.h"
#include "rpc/client/ring_entry.h"
#include "rpc/client/shared_tensors.h"
#include "support/paths.h"

namespace sluice::rpc {
namespace {

using ::testing::HasSubstr;

/// Deploys every function without joining requests, as daemons before minor version 7 do.
class OlderDaemon final : public v1::Runtime::Service {
 public:
  grpc::Status LoadModel(grpc::ServerContext* /*context*/,
                         grpc::ServerReader<v1::LoadModelRequest>* reader,
                         v1::LoadModelResponse* response) override {
    v1::LoadModelRequest request;
    while (reader->Read(&request)) continue;
    response->mutable_model()->set_handle(17);
    response->mutable_model()->mutable_function()->mutable_options()->set_share(1);
    return grpc::Status::OK;
  }
  grpc::Status GetServer(grpc::ServerContext* /*context*/, const v1::GetServerRequest* /*request*/,
                         v1::GetServerResponse* response) override {
    response->set_protocol_minor(6);
    return grpc::Status::OK;
  }
  grpc::Status UnloadModel(grpc::ServerContext* /*context*/, const v1::UnloadModelRequest* request,
                           v1::UnloadModelResponse* /*response*/) override {
    unloaded = request->model();
    return grpc::Status::OK;
  }

  grpc::Status Infer(grpc::ServerContext* /*context*/, const v1::InferRequest* /*request*/,
                     v1::InferResponse* /*response*/) override {
    ++num_inferences;
    return grpc::Status::OK;
  }

  std::atomic<std::uint64_t> unloaded = 0;
  std::atomic<int> num_inferences = 0;
};

TEST(OlderDaemon, ThatJoinsNoRequestsIsReported) {
  const sluice::testing::TempDir folder;
  const std::string address = "unix:" + (folder / "s").string();
  OlderDaemon daemon;
  grpc::ServerBuilder builder;
  builder.AddListeningPort(address, grpc::InsecureServerCredentials());
  builder.RegisterService(&daemon);
  const auto server = builder.BuildAndStart();
  ASSERT_NE(server, nullptr);
  const auto client = client::Client::create({.address = address});
  ASSERT_TRUE(client.is_ok()) << client.status().to_string();

  terms::LoadOptions options;
  options.function = terms::FunctionOptions();
  const auto alone = (*client)->load(options, "/m.sluice");
  ASSERT_TRUE(alone.is_ok()) << alone.status().to_string();
  EXPECT_EQ(daemon.unloaded, 0U);
  options.function->batch_rows = 16;
  const auto joined = (*client)->load(options, "/m.sluice");
  EXPECT_EQ(joined.status().code(), Code::kUnimplemented);
  EXPECT_THAT(joined.status().message(), HasSubstr("batch_rows"));
  EXPECT_EQ(daemon.unloaded, 17U) << "nothing stays behind";

  terms::LoadOptions batched;
  batched.batching = terms::BatchOptions{16, 0};
  const auto plain = (*client)->load(batched, "/m.sluice");
  EXPECT_EQ(plain.status().code(), Code::kUnimplemented);
  EXPECT_THAT(plain.status().message(), HasSubstr("takes no batch_rows"));
  terms::LoadOptions limited;
  limited.max_run_ns = 1;
  EXPECT_THAT((*client)->load(limited, "/m.sluice").status().message(), HasSubstr("max_run"));
  terms::LoadOptions timed;
  timed.request_timeout_ns = 1;
  EXPECT_THAT((*client)->load(timed, "/m.sluice").status().message(),
              HasSubstr("takes no request_timeout:"));
  terms::LoadOptions wide;
  wide.cores = 0;
  EXPECT_THAT((*client)->load(wide, "/m.sluice").status().message(), HasSubstr("takes no cores"));
  terms::LoadOptions strict;
  strict.nan_policy = terms::NanPolicy::kFail;
  EXPECT_THAT((*client)->load(strict, "/m.sluice").status().message(), HasSubstr("nan_policy"));

  const auto posted = (*client)->post(17, {}, {});
  EXPECT_EQ(posted.status().code(), Code::kUnimplemented);
  EXPECT_THAT(posted.status().message(), HasSubstr("keeps no replies"));
  EXPECT_EQ(daemon.num_inferences, 0) << "it would run the request and drop its outputs";
  server->Shutdown();
}

TEST(OlderDaemon, RingsCarryNoSpanToIt) {
  const terms::ModelEntry model;
  const client::SharedTable shared;
  client::InferOptions options;
  options.traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
  client::RingEntry entry;
  ASSERT_TRUE(client::fill(entry, model, {}, options, shared));
  EXPECT_EQ(entry.submission.head.trace_flags, 1);
  EXPECT_EQ(entry.submission.head.span_id[0], 0xB7);
  entry.takes_span = false;
  ASSERT_TRUE(client::fill(entry, model, {}, options, shared));
  EXPECT_EQ(entry.submission.head.trace_flags, 0) << "it reads kind and flags as one number";
  EXPECT_EQ(entry.submission.head.span_id[0], 0);
  EXPECT_EQ(entry.submission.head.trace_id[0], 0);
}

}  // namespace
}  // namespace sluice::rpc
