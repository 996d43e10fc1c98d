#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "text/chat_template.h"

namespace sluice::text {
namespace {

using ::testing::HasSubstr;

Result<std::string> rendered(const std::string& source) {
  const auto chat_template = ChatTemplate::read({.template_file = source});
  if (!chat_template.is_ok()) return chat_template.status();
  Chat chat;
  chat.messages = nlohmann::ordered_json::parse(R"([{"role": "user", "content": "Grüße"}])");
  return chat_template->render(chat);
}

std::string text_of(const std::string& source) {
  const auto text = rendered(source);
  return text.is_ok() ? *text : text.status().to_string();
}

TEST(Jinja, WhiteSpaceAroundTagsGoesAsTrimAndLstripSay) {
  EXPECT_EQ(text_of("a\n  {% if true %}\n  b\n  {% endif %}\nc\n"), "a\n  b\nc");
  EXPECT_EQ(text_of("a {%- if true -%} b {%- endif %}"), "ab");
  EXPECT_EQ(text_of("a\n  {{ 1 }}\n{# x #}\nb"), "a\n  1\nb");
  EXPECT_EQ(text_of("{%+ if true +%}\na{% endif %}"), "\na");
}

TEST(Jinja, PrecedenceFollowsJinjaNotPython) {
  EXPECT_EQ(text_of("{{ 'a' + 2 ~ 3 }}"), "a23");
  EXPECT_EQ(text_of("{{ 2 * 3 ~ 4 }}"), "64");
  EXPECT_EQ(text_of("{{ not 1 == 2 }}"), "True");
}

TEST(Jinja, TextsAreCountedAndCutInCharacters) {
  EXPECT_EQ(text_of("{% set s = messages[0].content %}{{ s | length }}{{ s[2] }}{{ s[-2:] }}"),
            "5üße");
}

TEST(Jinja, UndefinedIsASequenceOfNothing) {
  EXPECT_EQ(
      text_of("{{ x is sequence }} {{ x is iterable }} {{ x | length }} {{ none is sequence }}"),
      "True True 0 False");
}

TEST(Jinja, LoopsHaveAScopeOfTheirOwn) {
  EXPECT_EQ(
      text_of("{% set x = 1 %}{% for i in [1, 2] %}{% set x = x + i %}{{ x }}{% endfor %}{{ x }}"),
      "231");
  EXPECT_EQ(text_of("{% set n = namespace(x=1) %}{% for i in [1, 2] %}{% set n.x = n.x + i %}"
                    "{% endfor %}{{ n.x }}"),
            "4");
}

TEST(Jinja, MacroSeesWhereItStandsNotWhereItIsCalled) {
  EXPECT_EQ(text_of("{% macro m() %}{{ x }}{% endmacro %}{% for x in [1] %}{{ m() }}{% endfor %}|"),
            "|");
}

TEST(Jinja, MistakesAreReportedWithTheirLine) {
  EXPECT_THAT(text_of("\n\n{{ messages[0].role + 1 }}"),
              HasSubstr("line 3 of the chat template: str + int has no meaning"));
  EXPECT_THAT(text_of("\n{% if %}"), HasSubstr("line 2 of the template"));
  EXPECT_THAT(text_of("{% include 'x' %}"), HasSubstr("the tag \"include\" is not supported"));
  EXPECT_THAT(text_of("{{ 1 | wordwrap }}"), HasSubstr("the filter \"wordwrap\" is not supported"));
  EXPECT_THAT(text_of("{{ raise_exception('Roles must alternate') }}"),
              HasSubstr("the template refuses the messages: Roles must alternate"));
}

TEST(Jinja, WorkAndMemoryOfATemplateAreBounded) {
  for (const char* source : {
           "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}",
           "{% set n = namespace(s='xx') %}{% for i in range(99) %}{% set n.s = n.s ~ n.s %}{% "
           "endfor %}",
           "{% set n = namespace(s=[1]) %}{% for i in range(99) %}{% set n.s = n.s + n.s %}{% "
           "endfor %}",
           "{% set n = namespace(s=[]) %}{% for i in range(999) %}{% set n.s = [n.s, n.s] %}{% "
           "endfor %}",
           "{% set n = namespace(s=[]) %}{% for i in range(90) %}{% set n.s = [n.s, n.s] %}{% "
           "endfor %}"
           "{{ n.s | tojson }}",
           "{% macro m(x) %}{{ m(x) }}{% endmacro %}{{ m(1) }}",
           "{{ 'x' * 99999999999 }}",
           "{{ [1] * 99999999999 }}",
           "{{ ('a' * 9999999).replace('', 'b' * 9999) }}",
           "{% set s = 'a' * 999999 ~ 'b' %}{% set t = 'a' * 9999999 %}"
           "{% for i in range(9999) %}{{ s in t }}{% endfor %}",
           "{{ ('a' * 9999999).rfind('b' ~ 'a' * 999999) }}",
           "{% set s = 'a' * 9999999 %}{% for i in range(9999) %}{{ s in s ~ 'b' }}{% endfor %}",
           "{% set s = 'a' * 9999999 %}{% for i in range(99) %}{% set t = s.strip() %}{% endfor %}",
           "{% set s = 'a' * 9999999 %}{{ s.strip(s) }}",
           "{% set s = 'a' * 9999999 %}{{ s | trim(s) }}",
           "{% set s = 'a' * 9999999 %}{% for i in range(99) %}{{ s.startswith(s) }}{% endfor %}",
           "{% set s = 'a' * 9999999 %}{% for i in range(99) %}{{ s.removeprefix('a')[0] }}{% "
           "endfor %}",
           "{% set s = 'a' * 9999999 %}{% for i in range(99) %}{{ 'a'.find(s) }}{% endfor %}",
       }) {
    const auto text = rendered(source);
    ASSERT_FALSE(text.is_ok()) << source;
    EXPECT_EQ(text.status().code(), Code::kResourceExhausted)
        << source << ": " << text.status().to_string();
  }
}

TEST(Jinja, DepthOfATemplateIsBounded) {
  const auto repeat = [](const std::string& text, int count) {
    std::string all;
    for (int i = 0; i < count; ++i) all += text;
    return all;
  };
  for (const std::string& source :
       {"{{ " + repeat("(", 9999) + "1" + repeat(")", 9999) + " }}",
        "{{ " + repeat("not ", 9999) + "1 }}", "{{ " + repeat("- ", 9999) + "1 }}",
        "{{ 1" + repeat(" + 1", 9999) + " }}", "{{ a" + repeat(".a", 9999) + " }}",
        "{{ 1" + repeat(" if 1 else 1", 9999) + " }}", repeat("{% if 1 %}", 9999),
        "{% set " + repeat("(", 9999) + "a" + repeat(")", 9999) + " = 1 %}"}) {
    EXPECT_THAT(text_of(source), HasSubstr("nested too deep")) << source.substr(0, 40);
  }
}

TEST(Jinja, NamespacesAndMacrosThatHoldEachOtherAreFreed) {
  EXPECT_EQ(text_of("{% set a = namespace() %}{% set b = namespace(a=a) %}{% set a.b = b %}"
                    "{% macro m() %}{% macro n() %}{{ m is defined }}{% endmacro %}"
                    "{% set a.n = n %}{{ a.n() }}{% endmacro %}{% set a.m = m %}{{ m() }}"),
            "True");
}

}  // namespace
}  // namespace sluice::text
