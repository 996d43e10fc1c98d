#include "onnx_model.h"

#include <cstdint>
#include <cstring>
#include <set>
#include <string_view>

namespace sluice::testing {
namespace {

/// A message of protobuf: fields of its wire format, one after the other.
class Message {
 public:
  Message& add(int field, std::uint64_t value) {
    put(static_cast<std::uint64_t>(field) << 3);
    put(value);
    return *this;
  }
  Message& add(int field, std::string_view bytes) {
    put((static_cast<std::uint64_t>(field) << 3) | 2);
    put(bytes.size());
    bytes_ += bytes;
    return *this;
  }
  Message& add(int field, const Message& message) { return add(field, message.bytes_); }
  Message& add_float(int field, float value) {
    put((static_cast<std::uint64_t>(field) << 3) | 5);
    char raw[sizeof(value)];
    std::memcpy(raw, &value, sizeof(value));
    bytes_.append(raw, sizeof(raw));
    return *this;
  }
  const std::string& bytes() const { return bytes_; }

 private:
  void put(std::uint64_t value) {
    for (; value >= 128; value >>= 7) bytes_ += static_cast<char>((value & 127) | 128);
    bytes_ += static_cast<char>(value);
  }
  std::string bytes_;
};

// Field numbers are those of onnx.proto.
Message value_info(const OnnxValue& value) {
  Message shape;
  for (const std::string& dim : value.dims) {
    const bool is_number = dim.find_first_not_of("0123456789") == std::string::npos;
    Message one;
    is_number ? one.add(1, std::stoull(dim)) : one.add(2, std::string_view(dim));
    shape.add(1, one);
  }
  Message tensor;
  tensor.add(1, static_cast<std::uint64_t>(value.element_type)).add(2, shape);
  return Message().add(1, std::string_view(value.name)).add(2, Message().add(1, tensor));
}

Message node_proto(const OnnxNode& node) {
  Message made;
  for (const std::string& input : node.inputs) made.add(1, std::string_view(input));
  for (const std::string& output : node.outputs) made.add(2, std::string_view(output));
  made.add(3, std::string_view(node.outputs.front())).add(4, std::string_view(node.kind));
  for (const auto& [name, value] : node.floats) {
    constexpr std::uint64_t kFloat = 1;
    made.add(5, Message().add(1, std::string_view(name)).add_float(2, value).add(20, kFloat));
  }
  return made.add(7, std::string_view(node.domain));
}

Message opset(std::string_view domain, std::uint64_t version) {
  return Message().add(1, domain).add(2, version);
}

}  // namespace

std::vector<std::byte> onnx_model(const std::vector<OnnxNode>& nodes,
                                  const std::vector<OnnxValue>& inputs,
                                  const std::vector<OnnxValue>& outputs) {
  Message graph;
  std::set<std::string> domains;
  for (const OnnxNode& node : nodes) {
    graph.add(1, node_proto(node));
    if (!node.domain.empty()) domains.insert(node.domain);
  }
  graph.add(2, std::string_view("test"));
  for (const OnnxValue& input : inputs) graph.add(11, value_info(input));
  for (const OnnxValue& output : outputs) graph.add(12, value_info(output));
  Message model;
  model.add(1, std::uint64_t{8}).add(7, graph).add(8, opset("", 17));
  for (const std::string& domain : domains) model.add(8, opset(domain, 1));
  const auto* bytes = reinterpret_cast<const std::byte*>(model.bytes().data());
  return {bytes, bytes + model.bytes().size()};
}

}  // namespace sluice::testing
