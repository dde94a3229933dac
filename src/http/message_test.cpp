#include "det/http/message.h"
#include "det/base/text.h"

#include <gtest/gtest.h>

#include "det/http/routing/status.h"
#include "det/http/url.h"

namespace det::http {
namespace {

TEST(CamelCase, IsWhatJsonNamesAre) {
  EXPECT_EQ(camel_case("timeout_seconds"), "timeoutSeconds");
  EXPECT_EQ(camel_case("timeoutSeconds"), "timeoutSeconds");
  EXPECT_EQ(camel_case("b64_tgz"), "b64Tgz");
  EXPECT_EQ(camel_case("id"), "id");
  EXPECT_EQ(camel_case("trailing_"), "trailing");
}

TEST(Query, TakesBothSpellingsAndRepeatedNames) {
  const auto query = Query::parse("sort_by=x&states=A&states=B%20C&name=a+b&pretty");
  ASSERT_TRUE(query);
  EXPECT_EQ(*query->find("sortBy"), "x");
  EXPECT_EQ(*query->find("sort_by"), "x");
  EXPECT_EQ(query->all("states"), (std::vector<std::string>{"A", "B C"}));
  EXPECT_EQ(*query->find("name"), "a b");
  EXPECT_EQ(*query->find("pretty"), "");
  EXPECT_EQ(query->find("none"), nullptr);
}

TEST(Query, RefusesABrokenEscape) {
  EXPECT_FALSE(Query::parse("a=%"));
  EXPECT_FALSE(Query::parse("a=%4"));
  EXPECT_FALSE(Query::parse("%zz=1"));
}

TEST(PercentEncode, IsUndoneByDecode) {
  std::string all;
  for (int c = 0; c < 256; ++c) all += static_cast<char>(c);
  EXPECT_EQ(percent_decode(percent_encode(all)), all);
  EXPECT_EQ(percent_encode("a b/c"), "a%20b%2Fc");
}

TEST(Headers, IgnoreCase) {
  Headers headers;
  headers.add("Content-Type", "a");
  headers.add("content-type", "b");
  EXPECT_EQ(*headers.find("CONTENT-TYPE"), "a");
  headers.set("CONTENT-type", "c");
  EXPECT_EQ(headers.size(), 1U);
}

TEST(BearerToken, ComesFromAnyOfTheKnownPlaces) {
  const auto token = [](const char* name, const char* value) {
    Request request;
    request.headers.add(name, value);
    return bearer_token(request);
  };
  EXPECT_EQ(token("Authorization", "Bearer abc"), "abc");
  EXPECT_EQ(token("authorization", "bearer abc"), "abc");
  EXPECT_EQ(token("Grpc-Metadata-x-user-token", "Bearer abc"), "abc");
  EXPECT_EQ(token("grpc-metadata-X-Allocation-Token", "Bearer abc"), "abc");
  EXPECT_EQ(token("Cookie", "other=1; auth=abc"), "abc");
  EXPECT_EQ(token("Authorization", "Basic abc"), std::nullopt);
  EXPECT_EQ(token("Cookie", "xauth=abc"), std::nullopt);
}

TEST(Status, EveryCodeComesBackFromItsReply) {
  for (const auto code :
       {ErrorCode::InvalidArgument, ErrorCode::Unauthenticated, ErrorCode::NotFound, ErrorCode::AlreadyExists,
        ErrorCode::FailedPrecondition, ErrorCode::PermissionDenied, ErrorCode::ResourceExhausted,
        ErrorCode::Gone, ErrorCode::Unimplemented, ErrorCode::Unavailable, ErrorCode::Internal}) {
    const Error error(code, "trial 7 not found");
    EXPECT_EQ(error_of(status_of(code).http, error_body(error)), error);
    EXPECT_EQ(error_of(status_of(code).http, stream_error_body(error)), error);
  }
}

TEST(Status, ErrorsHaveTheDocumentedForm) {
  EXPECT_EQ(error_body(Error(ErrorCode::NotFound, "trial 7 not found")),
            R"({"error":{"code":5,"reason":"NotFound","error":"trial 7 not found"}})");
  EXPECT_EQ(
      stream_error_body(Error(ErrorCode::NotFound, "no")),
      R"({"error":{"grpcCode":5,"httpCode":404,"message":"no","httpStatus":"Not Found","details":[]}})");
}

TEST(Status, TheTextOfAForeignErrorIsFound) {
  EXPECT_EQ(error_text(404, R"({"message":"gone fishing"})"), "gone fishing");
  EXPECT_EQ(error_text(502, "<html>bad</html>"), "502 Bad Gateway: <html>bad</html>");
  EXPECT_EQ(error_text(503, ""), "503 Service Unavailable");
}

struct UrlCase {
  const char* text;
  const char* expected;  // Url::text(), or a part of the error
};

class ParseUrl : public ::testing::TestWithParam<UrlCase> {};

TEST_P(ParseUrl, FillsInWhatIsLeftOutAndRefusesTheRest) {
  const auto url = parse_url(GetParam().text);
  const std::string found = url ? url->text() : url.error().message();
  EXPECT_NE(found.find(GetParam().expected), std::string::npos) << found;
}

// clang-format off
INSTANTIATE_TEST_SUITE_P(, ParseUrl, ::testing::Values(
    UrlCase{"localhost",                "http://localhost:8080"},
    UrlCase{"localhost:9",              "http://localhost:9"},
    UrlCase{"http://h",                 "http://h:80"},
    UrlCase{"HTTP://h:81/",             "http://h:81"},
    UrlCase{"http://h:81/det/",         "http://h:81/det"},
    UrlCase{"[::1]:8080",               "http://[::1]:8080"},
    UrlCase{"127.0.0.1",                "http://127.0.0.1:8080"},
    UrlCase{" http://h ",               "http://h:80"},
    UrlCase{"https://h",                "https://h:443"},
    UrlCase{"ftp://h",                  "it must begin with http://"},
    UrlCase{"http://u:p@h",             "user name"},
    UrlCase{"http://h?x=1",             "query"},
    UrlCase{"http://h#x",               "fragment"},
    UrlCase{"http://",                  "invalid master URL"},
    UrlCase{"",                         "invalid master URL"},
    UrlCase{"http://h:99999",           "port must be from 1 to 65535"},
    UrlCase{"http://h:0",               "port must be from 1 to 65535"},
    UrlCase{"http://127.0.0.1:abc",     "port must be a number"},
    UrlCase{"127.0.0.1:8080x",          "port must be a number"},
    UrlCase{"a b",                      "invalid master URL"}));
// clang-format on

}  // namespace
}  // namespace det::http
