#include "onnx/tensors/external_locations.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "onnx/proto/proto.h"

namespace sluice::onnx {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::set<std::string> locations_of(const std::string& bytes) {
  return external_locations(std::as_bytes(std::span(bytes)));
}

void add_entry(pb::TensorProto& tensor, const std::string& key, const std::string& value) {
  auto* entry = tensor.add_external_data();
  entry->set_key(key);
  entry->set_value(value);
}

TEST(ExternalLocations, AreThoseOfInitializersAndOfAttributesInBodies) {
  pb::ModelProto model;
  add_entry(*model.mutable_graph()->add_initializer(), "location", "weights.bin");
  add_entry(*model.mutable_graph()->add_initializer(), "location", "weights.bin");
  auto* body = model.mutable_graph()->add_node()->add_attribute()->mutable_g();
  add_entry(*body->add_node()->add_attribute()->mutable_t(), "location", "data/more.onnx_data");
  EXPECT_THAT(locations_of(model.SerializeAsString()),
              ElementsAre("data/more.onnx_data", "weights.bin"));
}

TEST(ExternalLocations, OtherEntriesAreNoLocations) {
  pb::ModelProto model;
  add_entry(*model.mutable_graph()->add_initializer(), "offset", "4096");
  EXPECT_THAT(locations_of(model.SerializeAsString()), IsEmpty());
}

TEST(ExternalLocations, KeepNamesOfMoreThan127Bytes) {
  pb::ModelProto model;
  const std::string name(300, 'x');
  add_entry(*model.mutable_graph()->add_initializer(), "location", name);
  EXPECT_THAT(locations_of(model.SerializeAsString()), ElementsAre(name));
}

TEST(ExternalLocations, BytesThatEndEarlyAreNotRead) {
  const std::string start = "\x0A\x08location\x12";
  EXPECT_THAT(locations_of(start), IsEmpty());
  EXPECT_THAT(locations_of(start + "\x05" + "abc"), IsEmpty());
  EXPECT_THAT(locations_of(start + "\xFF"), IsEmpty());
  EXPECT_THAT(locations_of(start + "\xFF\xFF\xFF"), IsEmpty());
  EXPECT_THAT(locations_of(start + std::string(1, '\0')), IsEmpty());
}

}  // namespace
}  // namespace sluice::onnx
