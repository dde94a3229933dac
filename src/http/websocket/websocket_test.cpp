#include "det/http/websocket/websocket.h"

#include <gtest/gtest.h>

namespace det::http::websocket {
namespace {

using namespace std::string_literals;

// What a server would send of it: unmasked.
std::string server_frame(unsigned first, std::string_view payload) {
  std::string out{static_cast<char>(first)};
  if (payload.size() < 126) {
    out += static_cast<char>(payload.size());
  } else {
    out += static_cast<char>(126);
    out += static_cast<char>(payload.size() >> 8);
    out += static_cast<char>(payload.size() & 0xFF);
  }
  return out + std::string(payload);
}

TEST(WebSocket, TheHandshakeIsThatOfTheStandard) {
  EXPECT_EQ(accept_of("dGhlIHNhbXBsZSBub25jZQ=="), "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
  EXPECT_EQ(make_key().size(), 24U);
  EXPECT_NE(make_key(), make_key());
}

TEST(WebSocket, FramesOfAClientAreMasked) {
  for (const std::size_t size : {0UL, 5UL, 125UL, 126UL, 65535UL, 65536UL}) {
    const std::string payload(size, 'p');
    const auto out = frame(Kind::Binary, payload);
    const std::size_t head = size < 126 ? 2 : size < 65536 ? 4 : 10;
    ASSERT_EQ(out.size(), head + 4 + size);
    EXPECT_EQ(static_cast<unsigned char>(out[0]), 0x82);
    EXPECT_TRUE(static_cast<unsigned char>(out[1]) & 0x80);
    std::string read;
    for (std::size_t i = 0; i < size; ++i) read += static_cast<char>(out[head + 4 + i] ^ out[head + i % 4]);
    EXPECT_EQ(read, payload);
  }
}

TEST(WebSocket, AServerReadsWhatAClientSendsAndAnswersWithoutAMask) {
  Reader reader(1 << 20, Side::Client);
  for (const std::size_t size : {0UL, 125UL, 126UL, 65536UL}) {
    const std::string payload(size, 'p');
    for (const char c : frame(Kind::Binary, payload)) reader.put(std::string_view(&c, 1));
    const auto message = reader.next();
    ASSERT_TRUE(message && *message);
    EXPECT_EQ((*message)->payload, payload);
  }
  EXPECT_EQ(frame(Kind::Text, "hi", Side::Server), "\x81\x02hi");
  reader.put(frame(Kind::Binary, "bare", Side::Server));
  EXPECT_FALSE(reader.next());
}

TEST(WebSocket, MessagesArriveByteByByteAndInFragments) {
  const auto bytes = server_frame(0x01, "one ") + server_frame(0x89, "ping") + server_frame(0x80, "two") +
                     server_frame(0x82, std::string(300, 'b'));
  Reader reader;
  std::vector<Message> messages;
  for (const char c : bytes) {
    reader.put(std::string_view(&c, 1));
    auto message = reader.next();
    ASSERT_TRUE(message);
    if (*message) messages.push_back(**message);
  }
  ASSERT_EQ(messages.size(), 3U);
  EXPECT_EQ(messages[0].kind, Kind::Ping);
  EXPECT_EQ(messages[1].payload, "one two");
  EXPECT_EQ(messages[2].payload, std::string(300, 'b'));
}

TEST(WebSocket, WhatTheStandardForbidsIsAnError) {
  for (const auto& bytes : {server_frame(0xC1, "x"), server_frame(0x80, "x"), server_frame(0x83, "x"),
                            server_frame(0x01, "a") + server_frame(0x81, "b"), server_frame(0x09, "x"),
                            "\x81\x85xxxxhello"s, "\x82\x7f\x7f\xff\xff\xff\xff\xff\xff\xff"s}) {
    Reader reader;
    reader.put(bytes);
    bool failed = false;
    for (int i = 0; i < 3 && !failed; ++i) failed = !reader.next();
    EXPECT_TRUE(failed);
  }
}

}  // namespace
}  // namespace det::http::websocket
