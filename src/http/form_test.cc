#include "http/form.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

namespace sluice::http {
namespace {

using ::testing::HasSubstr;

std::string part(std::string_view head, std::string_view bytes) {
  return fmt::format("--b\r\n{}\r\n\r\n{}\r\n", head, bytes);
}
std::string named(std::string_view name, std::string_view bytes) {
  return part(fmt::format("Content-Disposition: form-data; name=\"{}\"", name), bytes);
}
std::string why(std::string_view body, std::size_t most = 8) {
  const auto read = read_form(body, most);
  return read.is_ok() ? "" : read.status().message();
}

TEST(Form, GivesBytesOfPartsByName) {
  const std::string photo("\x89PNG\r\n\x1a\n\0\r\n--\r\n--c", 18);
  const std::string body =
      "--b\r\nContent-Disposition: form-data; name=\"image\"; filename=\"a;b\\\"=.png\"\r\n"
      "Content-Type: image/png\r\n\r\n" +
      photo + "\r\n" + part("content-disposition:FORM-DATA;filename=x; name=empty", "") +
      named("a \\\"b\\\\", "text") + "--b--\r\n";
  const auto parts = read_form(body, 3);
  ASSERT_TRUE(parts.is_ok()) << parts.status().message();
  ASSERT_EQ(parts->size(), 3);
  EXPECT_EQ(parts->at(0).name, "image");
  EXPECT_EQ(parts->at(0).bytes, photo);
  EXPECT_EQ(parts->at(1).name, "empty");
  EXPECT_EQ(parts->at(1).bytes, "");
  EXPECT_EQ(parts->at(2).name, "a \"b\\");
  EXPECT_EQ(parts->at(2).bytes, "text");
}

TEST(Form, NeedsABoundary) {
  for (const std::string& line :
       {std::string("--"), std::string("-b"), "--" + std::string(71, 'b'), std::string("--b "),
        std::string("--b\tb"), std::string("--\xc3\xa4")}) {
    EXPECT_THAT(why(line + "\r\nContent-Disposition: form-data; name=a\r\n\r\n\r\n" + line + "--"),
                HasSubstr("its boundary"))
        << line;
  }
  EXPECT_THAT(why(std::string(1 << 20, '-')), HasSubstr("its boundary"));
  EXPECT_THAT(why("--b"), HasSubstr("its boundary"));
}

TEST(Form, RefusesPartsByTheirHead) {
  const std::string longer(5000, 'x');
  const std::pair<std::string, std::string_view> cases[] = {
      {"Content-Type: image/png", "part 1 of the form: it has no Content-Disposition"},
      {"Content-Disposition: form-data", "it has no name"},
      {"Content-Disposition: form-data; name=", "it has no name"},
      {"Content-Disposition: form-data; name=\"\"", "it has no name"},
      {"Content-Disposition: form-data; name=a; name=b", "two names"},
      {"Content-Disposition: form-data; name=a\r\nContent-Disposition: form-data; name=a",
       "two Content"},
      {"Content-Disposition: form-data; name=\"a", "no closing quote"},
      {"Content-Disposition: form-data; name=\"a\"b", "is broken"},
      {"Content-Disposition: form-data; x; name=a", "is broken"},
      {"Content-Disposition: attachment; name=a", "not form-data"},
      {"Content-Disposition: form-data; name=\"\xff\"", "cannot be printed"},
      {"Content-Disposition: form-data; name=" + longer, "does not end within"},
      {"Content-Disposition: form-data; name=" + longer.substr(0, 300), "has 300 bytes"},
      {"Content-Disposition: form-data; name=a\r\nContent-Type: Multipart/mixed; boundary=c",
       "a form itself"},
      {"Content-Disposition: form-data; name=a\r\nContent-Transfer-Encoding: base64", "not binary"},
      {"Content-Disposition: form-data; name=a;\r\n filename=b", "is no field"},
      {"Content-Disposition : form-data; name=a", "is no field"},
      {"Content-Disposition: form-data; name=a\nX: y", "is no field"},
      {"name=a", "is no field"},
  };
  for (const auto& [head, message] : cases) {
    EXPECT_THAT(why(part(head, "1") + "--b--"), HasSubstr(message)) << head;
  }
}

TEST(Form, EndsWithItsDelimiterAlone) {
  const std::string one = named("a", "1");
  EXPECT_EQ(why(one + "--b--"), "");
  EXPECT_EQ(why(one + "--b--\r\n"), "");
  EXPECT_THAT(why(one), HasSubstr("no delimiter ends it"));
  EXPECT_THAT(why(one + "--b"), HasSubstr("does not end"));
  EXPECT_THAT(why(one + "--bc--"), HasSubstr("does not end"));
  EXPECT_THAT(why(one + "--b--\r\nmore"), HasSubstr("does not end"));
  EXPECT_THAT(why(one + "--b\n--b--"), HasSubstr("does not end"));
  EXPECT_THAT(why("--b\r\n--b--\r\n"), HasSubstr("part 1 of the form"));
}

TEST(Form, HasFewPartsOfDifferentNames) {
  const std::string two = named("a", "1") + named("b", "2");
  EXPECT_EQ(why(two + "--b--", 2), "");
  EXPECT_THAT(why(two + "--b--", 1), HasSubstr("more than 1 parts"));
  EXPECT_THAT(why(two + named("a", "3") + "--b--"),
              HasSubstr("two parts of the form have the name \"a\""));
}

}  // namespace
}  // namespace sluice::http
