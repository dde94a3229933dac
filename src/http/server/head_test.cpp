#include "det/http/server/head.h"

#include <gtest/gtest.h>

namespace det::http {
namespace {

struct HeadCase {
  const char* name;
  int status;  // 0: accepted
  std::string head;
};

class Head : public ::testing::TestWithParam<HeadCase> {};

TEST_P(Head, IsJudgedStrictly) {
  const auto& c = GetParam();
  const auto fault = check_head(c.head, HeadLimits{});
  EXPECT_EQ(fault ? fault->status : 0, c.status) << (fault ? fault->rule : "accepted");
}

std::string get_with(const std::string& fields) {
  return "GET / HTTP/1.1\r\nHost: h\r\n" + fields + "\r\n";
}

std::string fields(int count) {
  std::string out;
  for (int i = 0; i < count; ++i) out += "X-" + std::to_string(i) + ": 1\r\n";
  return out;
}

// clang-format off
INSTANTIATE_TEST_SUITE_P(, Head, ::testing::Values(
    //       name                                   status head
    HeadCase{"plain",                               0,   get_with("")},
    HeadCase{"empty_value",                         0,   get_with("X-A:\r\n")},
    HeadCase{"tab_and_latin1_in_a_value",           0,   get_with("X-A: \ta\tb\xE9\r\n")},
    HeadCase{"http_1_0_without_host",               0,   "GET / HTTP/1.0\r\n\r\n"},
    HeadCase{"absolute_form",                       0,   "GET http://h/x HTTP/1.1\r\nHost: h\r\n\r\n"},
    HeadCase{"no_host",                             400, "GET / HTTP/1.1\r\n\r\n"},
    HeadCase{"two_hosts",                           400, get_with("Host: h\r\n")},
    HeadCase{"host_with_comma",                     400, "GET / HTTP/1.1\r\nHost: a, b\r\n\r\n"},
    HeadCase{"two_spaces_in_the_first_line",        400, "GET  / HTTP/1.1\r\nHost: h\r\n\r\n"},
    HeadCase{"tab_in_the_first_line",               400, "GET\t/\tHTTP/1.1\r\nHost: h\r\n\r\n"},
    HeadCase{"no_version",                          400, "GET /\r\nHost: h\r\n\r\n"},
    HeadCase{"http_2",                              505, "GET / HTTP/2.0\r\nHost: h\r\n\r\n"},
    HeadCase{"lower_case_version",                  400, "GET / http/1.1\r\nHost: h\r\n\r\n"},
    HeadCase{"method_with_a_slash",                 400, "G/T / HTTP/1.1\r\nHost: h\r\n\r\n"},
    HeadCase{"raw_utf8_in_the_path",                400, "GET /\xC3\xA9 HTTP/1.1\r\nHost: h\r\n\r\n"},
    HeadCase{"path_without_slash",                  400, "GET x HTTP/1.1\r\nHost: h\r\n\r\n"},
    HeadCase{"folded_header",                       400, get_with("X-A: 1\r\n 2\r\n")},
    HeadCase{"folded_by_a_tab",                     400, get_with("X-A: 1\r\n\t2\r\n")},
    HeadCase{"space_before_the_colon",              400, get_with("X-A : 1\r\n")},
    HeadCase{"space_before_the_name",               400, "GET / HTTP/1.1\r\n Host: h\r\n\r\n"},
    HeadCase{"no_colon",                            400, get_with("X-A\r\n")},
    HeadCase{"no_name",                             400, get_with(": 1\r\n")},
    HeadCase{"nul_in_a_value",                      400, get_with(std::string("X-A: a\0b\r\n", 10))},
    HeadCase{"bare_cr_in_a_value",                  400, get_with("X-A: a\rX-B: b\r\n")},
    HeadCase{"bare_lf_in_a_value",                  400, get_with("X-A: a\nX-B: b\r\n")},
    HeadCase{"length",                              0,   get_with("Content-Length: 5\r\n")},
    HeadCase{"two_lengths_that_differ",             400, get_with("Content-Length: 5\r\nContent-Length: 6\r\n")},
    HeadCase{"two_lengths_that_agree",              400, get_with("Content-Length: 5\r\ncontent-length: 5\r\n")},
    HeadCase{"list_of_lengths",                     400, get_with("Content-Length: 5, 5\r\n")},
    HeadCase{"negative_length",                     400, get_with("Content-Length: -1\r\n")},
    HeadCase{"signed_length",                       400, get_with("Content-Length: +5\r\n")},
    HeadCase{"hexadecimal_length",                  400, get_with("Content-Length: 0x5\r\n")},
    HeadCase{"length_of_19_digits",                 400, get_with("Content-Length: 1000000000000000000\r\n")},
    HeadCase{"empty_length",                        400, get_with("Content-Length:\r\n")},
    HeadCase{"chunked",                             0,   get_with("Transfer-Encoding: Chunked\r\n")},
    HeadCase{"chunked_and_length",                  400, get_with("Transfer-Encoding: chunked\r\nContent-Length: 5\r\n")},
    HeadCase{"length_and_chunked",                  400, get_with("Content-Length: 5\r\nTransfer-Encoding: chunked\r\n")},
    HeadCase{"chunked_twice",                       400, get_with("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n")},
    HeadCase{"other_coding",                        501, get_with("Transfer-Encoding: gzip, chunked\r\n")},
    HeadCase{"almost_chunked",                      501, get_with("Transfer-Encoding: xchunked\r\n")},
    HeadCase{"chunked_in_http_1_0",                 400, "GET / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n"},
    HeadCase{"as_many_headers_as_allowed",          0,   get_with(fields(99))},
    HeadCase{"one_header_too_many",                 431, get_with(fields(100))},
    HeadCase{"path_at_the_limit",                   0,   "GET /" + std::string(8191, 'x') + " HTTP/1.1\r\nHost: h\r\n\r\n"},
    HeadCase{"path_above_the_limit",                414, "GET /" + std::string(8192, 'x') + " HTTP/1.1\r\nHost: h\r\n\r\n"},
    HeadCase{"headers_at_the_limit",                0,   get_with("X: " + std::string(16384 - 14, 'x') + "\r\n")},
    HeadCase{"headers_above_the_limit",             431, get_with("X: " + std::string(16384 - 13, 'x') + "\r\n")}),
    [](const auto& info) { return info.param.name; });
// clang-format on

TEST(HeadScanner, FindsTheEndHoweverTheBytesArrive) {
  const std::string head = get_with("X-A: 1\r\n");
  const std::string bytes = head + "body";
  for (std::size_t cut = 1; cut < bytes.size(); ++cut) {
    HeadScanner scanner{HeadLimits{}};
    auto end = scanner.scan(bytes.substr(0, cut));
    if (!end) end = scanner.scan(bytes);
    EXPECT_EQ(end, head.size()) << "cut at " << cut;
  }
}

TEST(HeadScanner, RefusesABareLineFeedAtOnce) {
  HeadScanner scanner{HeadLimits{}};
  EXPECT_FALSE(scanner.scan("GET / HTTP/1.1\n"));
  ASSERT_TRUE(scanner.fault());
  EXPECT_EQ(scanner.fault()->status, 400);
}

TEST(HeadScanner, DoesNotWaitForTheEndOfWhatIsTooLong) {
  HeadScanner path{HeadLimits{}};
  EXPECT_FALSE(path.scan("GET /" + std::string(9000, 'x')));
  ASSERT_TRUE(path.fault());
  EXPECT_EQ(path.fault()->status, 414);

  HeadScanner headers{HeadLimits{}};
  EXPECT_FALSE(headers.scan("GET / HTTP/1.1\r\nX: " + std::string(17000, 'x')));
  ASSERT_TRUE(headers.fault());
  EXPECT_EQ(headers.fault()->status, 431);
}

}  // namespace
}  // namespace det::http
