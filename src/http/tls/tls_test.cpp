#include "det/http/tls/tls.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "det/http/tls/tls_files.h"

namespace det::http {
namespace {

using test::TlsFiles;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string refusal(const TlsFiles& files, const std::string& certificate, const std::string& key) {
  const auto loaded = TlsIdentity::load(files.certificate(certificate), files.key(key));
  return loaded ? "" : loaded.error().message();
}

TEST(TlsIdentity, KnowsWhomItsCertificateIsFor) {
  TlsFiles files;
  files.make("one", {.names = "DNS:master.example.com,IP:10.0.0.1,IP:::1"});
  const auto loaded = TlsIdentity::load(files.certificate("one"), files.key("one"));
  ASSERT_TRUE(loaded) << loaded.error().message();
  EXPECT_THAT((*loaded)->names(), ElementsAre("master.example.com", "10.0.0.1", "::1"));
}

TEST(TlsIdentity, RefusesFilesThatAreMissingOrHoldSomethingElse) {
  TlsFiles files;
  files.make("one", {});
  EXPECT_THAT(refusal(files, "no", "one"), HasSubstr("no.crt cannot be read: No such file"));
  EXPECT_THAT(refusal(files, "one", "no"), HasSubstr("no.key cannot be read: No such file"));
  files.write("text.crt", "no certificate");
  files.write("text.key", "no key");
  ::chmod(files.key("text").c_str(), 0600);
  EXPECT_THAT(refusal(files, "text", "one"),
              HasSubstr("text.crt is not a usable TLS certificate in PEM format"));
  EXPECT_THAT(refusal(files, "one", "text"), HasSubstr("text.key is not a usable private key in PEM format"));
  const auto directory = TlsIdentity::load(files.file("."), files.key("one"));
  ASSERT_FALSE(directory);
  EXPECT_THAT(directory.error().message(), HasSubstr("is not a file"));
}

TEST(TlsIdentity, RefusesTheKeyOfAnotherCertificate) {
  TlsFiles files;
  files.make("one", {});
  files.make("two", {});
  EXPECT_THAT(refusal(files, "one", "two"), HasSubstr("does not belong to the certificate"));
}

TEST(TlsIdentity, RefusesAKeyThatEverybodyMayRead) {
  TlsFiles files;
  files.make("one", {});
  ::chmod(files.key("one").c_str(), 0644);
  EXPECT_THAT(refusal(files, "one", "one"),
              HasSubstr("can be read by every user of this machine (mode 644)"));
  ::chmod(files.key("one").c_str(), 0640);
  EXPECT_EQ(refusal(files, "one", "one"), "") << "a group for those who may is a custom of Debian's";
}

TEST(TlsIdentity, RefusesACertificateThatNoClientWouldAccept) {
  TlsFiles files;
  files.make("late", {.valid_from_hours = -48, .valid_to_hours = -24});
  files.make("early", {.valid_from_hours = 24, .valid_to_hours = 48});
  files.make("nobody", {.names = ""});
  EXPECT_THAT(refusal(files, "late", "late"), HasSubstr("expired on 20"));
  EXPECT_THAT(refusal(files, "early", "early"), HasSubstr("is not valid before 20"));
  EXPECT_THAT(refusal(files, "nobody", "nobody"), HasSubstr("names no host"));
}

TEST(TlsTrust, SaysWhichFileHoldsNoCertificate) {
  TlsFiles files;
  files.write("text.pem", "nothing");
  const auto loaded = TlsTrust::load(Trust::from(files.file("text.pem"), ""));
  ASSERT_FALSE(loaded);
  EXPECT_THAT(loaded.error().message(),
              HasSubstr("text.pem, given by DET_MASTER_CERT_FILE, has no certificate"));
}

// Two sessions that talk with each other; every byte may travel alone.
struct Pair {
  Pair(TlsFiles& files, Trust trust, const std::string& host = "localhost")
      : server(files.identity()), client(*TlsTrust::load(std::move(trust)), host) {}

  void carry(std::size_t piece) {
    for (auto* from : {&client, &server}) {
      auto& to = from == &client ? server : client;
      const auto bytes = from->take_output();
      for (std::size_t at = 0; at < bytes.size(); at += piece) {
        to.put(std::string_view(bytes).substr(at, piece));
        static_cast<void>(to.handshake());
      }
    }
  }
  bool greet(std::size_t piece = 1 << 20) {
    for (int round = 0; round < 10; ++round) {
      const auto a = client.handshake();
      const auto b = server.handshake();
      if (a == TlsSession::Step::Done && b == TlsSession::Step::Done) return true;
      if (a == TlsSession::Step::Failed) return false;
      carry(piece);
    }
    return false;
  }

  TlsSession server, client;
};

std::string read_all(TlsSession& session, TlsSession::Step& step) {
  std::string out;
  char bytes[1000];
  std::size_t count = 0;
  while ((step = session.read(bytes, sizeof bytes, count)) == TlsSession::Step::Done)
    out.append(bytes, count);
  return out;
}

TEST(TlsSession, CarriesBytesWhicheverPiecesTheirRecordsArriveIn) {
  TlsFiles files;
  for (const std::size_t piece : {1, 7, 4096}) {
    Pair pair(files, Trust::from(files.authority(), ""));
    ASSERT_TRUE(pair.greet(piece)) << pair.client.fault();
    std::string said(100'000, '\0');
    for (std::size_t i = 0; i < said.size(); ++i) said[i] = static_cast<char>(i * 7 + i / 251);
    std::size_t sent = 0;
    while (sent < said.size()) sent += pair.client.write(std::string_view(said).substr(sent));
    std::string heard;
    const auto bytes = pair.client.take_output();
    auto step = TlsSession::Step::WantsMore;
    for (std::size_t at = 0; at < bytes.size(); at += piece) {
      pair.server.put(std::string_view(bytes).substr(at, piece));
      heard += read_all(pair.server, step);
    }
    EXPECT_EQ(step, TlsSession::Step::WantsMore);
    EXPECT_EQ(heard, said);
  }
}

TEST(TlsSession, EachSideEndsOnItsOwn) {
  TlsFiles files;
  Pair pair(files, Trust::from(files.authority(), ""));
  ASSERT_TRUE(pair.greet());
  pair.carry(1 << 20);
  pair.client.end();
  pair.server.put(pair.client.take_output());
  auto step = TlsSession::Step::WantsMore;
  EXPECT_EQ(read_all(pair.server, step), "");
  EXPECT_EQ(step, TlsSession::Step::Ended);
  EXPECT_EQ(pair.server.write("more"), 4u) << "the other direction is still open";
  pair.client.put(pair.server.take_output());
  EXPECT_EQ(read_all(pair.client, step), "more");
  EXPECT_EQ(pair.client.write("x"), 0u);
}

TEST(TlsSession, AChangedByteEndsIt) {
  TlsFiles files;
  Pair pair(files, Trust::from(files.authority(), ""));
  ASSERT_TRUE(pair.greet());
  ASSERT_GT(pair.client.write("hello"), 0u);
  auto bytes = pair.client.take_output();
  bytes.back() = static_cast<char>(bytes.back() ^ 1);
  pair.server.put(bytes);
  auto step = TlsSession::Step::Done;
  EXPECT_EQ(read_all(pair.server, step), "");
  EXPECT_EQ(step, TlsSession::Step::Failed);
  EXPECT_NE(pair.server.fault(), "");
}

TEST(TlsSession, TheClientSaysWhyItDoesNotTrust) {
  TlsFiles files;
  files.make("other", {.signed_by_authority = false});
  Pair wrong(files, Trust::from(files.certificate("other"), ""));
  EXPECT_FALSE(wrong.greet());
  EXPECT_TRUE(wrong.client.untrusted());
  EXPECT_THAT(wrong.client.fault(), HasSubstr("is not trusted"));
  EXPECT_THAT(wrong.client.fault(), ::testing::ContainsRegex("SHA-256 ([0-9A-F]{2}:){31}[0-9A-F]{2}"));

  Pair name(files, Trust::from(files.authority(), ""), "elsewhere.example.com");
  EXPECT_FALSE(name.greet());
  EXPECT_THAT(name.client.fault(), HasSubstr("not valid for elsewhere.example.com"));
  EXPECT_THAT(name.client.fault(), HasSubstr("DET_MASTER_CERT_NAME"));
  Pair address(files, Trust::from(files.authority(), ""), "10.1.2.3");
  EXPECT_FALSE(address.greet());
  EXPECT_THAT(address.client.fault(), HasSubstr("not valid for 10.1.2.3"));
}

TEST(TlsSession, TheClientTrustsWhatItWasToldTo) {
  TlsFiles files;
  EXPECT_TRUE(Pair(files, Trust::from(files.authority(), ""), "127.0.0.1").greet());
  EXPECT_TRUE(Pair(files, Trust::from(files.authority(), "localhost"), "elsewhere").greet());
  EXPECT_TRUE(Pair(files, Trust::from(files.certificate("server"), "")).greet())
      << "the certificate itself, without who signed it";
  EXPECT_TRUE(Pair(files, Trust::from("noverify", ""), "elsewhere").greet());
}

}  // namespace
}  // namespace det::http
