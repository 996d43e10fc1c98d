#include "rpc/wire/fields.h"

#include "base/utf8.h"

namespace sluice::rpc::wire {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

const FieldDescriptor& field_of(const Message& message, const char* name) {
  return *message.GetDescriptor()->FindFieldByName(name);
}

}  // namespace

std::optional<std::int64_t> read_number(const Message& from, const char* name) {
  const FieldDescriptor& field = field_of(from, name);
  const google::protobuf::Reflection& reflection = *from.GetReflection();
  // Without "optional", a field is there unless it is 0.
  if (!reflection.HasField(from, &field)) return std::nullopt;
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT32: return reflection.GetInt32(from, &field);
    case FieldDescriptor::CPPTYPE_UINT32: return reflection.GetUInt32(from, &field);
    case FieldDescriptor::CPPTYPE_BOOL: return reflection.GetBool(from, &field) ? 1 : 0;
    case FieldDescriptor::CPPTYPE_UINT64:
      return static_cast<std::int64_t>(reflection.GetUInt64(from, &field));
    default: return reflection.GetInt64(from, &field);
  }
}

std::optional<double> read_real(const Message& from, const char* name) {
  const FieldDescriptor& field = field_of(from, name);
  const google::protobuf::Reflection& reflection = *from.GetReflection();
  if (!reflection.HasField(from, &field)) return std::nullopt;
  return reflection.GetDouble(from, &field);
}

std::string read_text(const Message& from, const char* name) {
  return from.GetReflection()->GetString(from, &field_of(from, name));
}

void write_number(Message& to, const char* name, std::int64_t number) {
  const FieldDescriptor& field = field_of(to, name);
  const google::protobuf::Reflection& reflection = *to.GetReflection();
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT32:
      return reflection.SetInt32(&to, &field, static_cast<std::int32_t>(number));
    case FieldDescriptor::CPPTYPE_UINT32:
      return reflection.SetUInt32(&to, &field, static_cast<std::uint32_t>(number));
    case FieldDescriptor::CPPTYPE_BOOL: return reflection.SetBool(&to, &field, number != 0);
    case FieldDescriptor::CPPTYPE_UINT64:
      return reflection.SetUInt64(&to, &field, static_cast<std::uint64_t>(number));
    default: return reflection.SetInt64(&to, &field, number);
  }
}

void write_real(Message& to, const char* name, double number) {
  to.GetReflection()->SetDouble(&to, &field_of(to, name), number);
}

void write_text(Message& to, const char* name, const std::string& text) {
  to.GetReflection()->SetString(&to, &field_of(to, name), valid_utf8(text));
}

}  // namespace sluice::rpc::wire
