#include "generate/ports.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "terms/tensors/signature.h"

namespace sluice::generate {
namespace {

using ::testing::HasSubstr;

terms::Signature signature_of(const char* logits) {
  terms::Signature signature;
  for (const char* name : {"ids", "positions", "sequences"}) {
    signature.inputs.push_back({name, ir::parse_type("i64[S]").value()});
  }
  signature.inputs.push_back({"tables", ir::parse_type("i64[N,B]").value()});
  signature.inputs.push_back({"last", ir::parse_type("i64[N]").value()});
  signature.outputs.push_back({"logits", ir::parse_type(logits).value()});
  return signature;
}

TEST(Ports, AreThoseOfAModelWithARowForEachSequence) {
  const auto ports = find_ports(signature_of("f32[N,3]"));
  ASSERT_TRUE(ports.is_ok()) << ports.status().message();
  EXPECT_EQ(ports->last, 4U);
  EXPECT_EQ(ports->vocabulary, 3);
}

TEST(Ports, RefuseLogitsWithoutARowForEachSequence) {
  for (const char* logits : {"f32[1,3]", "f32[0,3]", "f32[M,3]", "f32[S,3]", "f32[N,0]", "f32[N,V]",
                             "f32[3]", "f32[?]", "f16[N,3]"}) {
    const auto ports = find_ports(signature_of(logits));
    ASSERT_FALSE(ports.is_ok()) << logits;
    EXPECT_EQ(ports.status().code(), Code::kInvalidArgument);
    EXPECT_THAT(ports.status().message(), HasSubstr(logits));
  }
}

}  // namespace
}  // namespace sluice::generate
