#include "det/agent/logs.h"

#include <fcntl.h>

#include "det/agent/testing.h"
#include "det/base/random.h"
#include "det/base/text.h"

namespace det::agent {
namespace {

/// A spool that a test writes and a shipper that may be "killed" at will.
struct Logs : ::testing::Test {
  Logs() {
    std::filesystem::create_directory(directory / "0");
    fd = ::open((directory / "0").c_str(), O_RDONLY | O_DIRECTORY);
    out = std::make_unique<SpoolWriter>(fd, "stdout", SpoolLimits{200, 1 << 30});
    restart();
  }
  ~Logs() override { ::close(fd); }

  void restart() {
    shipper = std::make_unique<LogShipper>(directory.path(), "a.1", std::vector<int>{0}, limits);
    ASSERT_TRUE(shipper->open());
  }
  void write(std::string_view bytes) { ASSERT_TRUE(out->append(now, bytes)); }
  std::optional<api::LogBatch> next() {
    auto batch = shipper->next(ended, now);
    EXPECT_TRUE(batch);
    return batch ? *batch : std::nullopt;
  }
  /// Everything that can be shipped now, as "text|" and "text~" for a part.
  std::string ship() {
    std::string text;
    while (const auto batch = next()) {
      EXPECT_FALSE(api::problem(*batch)) << api::problem(*batch)->message();
      for (const auto& entry : batch->entries) {
        EXPECT_EQ(entry.sequence, sequence++);
        text += (entry.encoding == "base64" ? base64_decode(entry.log).value() : entry.log) +
                (entry.partial ? "~" : "|");
      }
      shipper->delivered();
    }
    return text;
  }

  testing::TemporaryDirectory directory;
  int fd = -1;
  std::unique_ptr<SpoolWriter> out;
  BatchLimits limits;
  std::unique_ptr<LogShipper> shipper;
  std::set<int> ended;
  Time now{1'000'000'000};
  std::int64_t sequence = 0;
};

TEST_F(Logs, AreCutAtNewlines) {
  write("one\ntw");
  write("o\n\nthree\r\n");
  EXPECT_EQ(ship(), "one|two||three|");
}

TEST_F(Logs, ALineWithoutEndGoesOutInPartAfterAWhileAndWholeAtTheEnd) {
  write("loading... ");
  EXPECT_EQ(ship(), "");
  now = now + kSecond;
  EXPECT_EQ(ship(), "loading... ~");
  write("done\n");
  EXPECT_EQ(ship(), "done|");
  write("bye");
  ended = {0};
  EXPECT_EQ(ship(), "bye|");
  EXPECT_TRUE(shipper->finished(ended));
}

TEST_F(Logs, APartThatStaysTheLastIsClosed) {
  write("50%");
  now = now + kSecond;
  EXPECT_EQ(ship(), "50%~");
  ended = {0};
  EXPECT_EQ(ship(), "|");
  EXPECT_TRUE(shipper->finished(ended));
}

TEST_F(Logs, EachStateOfAProgressBarIsALine) {
  write("\r10%");
  write("\r20%");
  EXPECT_EQ(ship(), "10%|");
  now = now + kSecond;
  EXPECT_EQ(ship(), "20%~");
  write("\r100%\n");
  EXPECT_EQ(ship(), "|100%|");
  write("one\r");
  EXPECT_EQ(ship(), "") << "a newline may follow";
  write("\ntwo\r\rthree");
  EXPECT_EQ(ship(), "one|two|");
  write("\r");
  ended = {0};
  EXPECT_EQ(ship(), "three|");
  EXPECT_TRUE(shipper->finished(ended));
}

TEST_F(Logs, ALongLineComesInPiecesCutBetweenCharacters) {
  std::string line = "x";
  for (int i = 0; i < 50'000; ++i) line += "\xc3\xa4";
  write(line);
  write("\n");
  const auto text = ship();
  EXPECT_EQ(text, line.substr(0, 65535) + "~" + line.substr(65535) + "|");
}

TEST_F(Logs, ACharacterInTwoReadsIsOneCharacter) {  // V2
  write("\xc3");
  now = now + kSecond;
  EXPECT_EQ(ship(), "");
  write("\xa4\n");
  const auto batch = next();
  ASSERT_TRUE(batch);
  EXPECT_EQ(batch->entries.at(0).log, "\xc3\xa4");
}

TEST_F(Logs, WhatIsNotTextIsBase64) {  // V1
  write("a\xff\n");
  const auto batch = next();
  ASSERT_TRUE(batch);
  EXPECT_EQ(batch->entries.at(0).encoding, "base64");
  EXPECT_EQ(batch->entries.at(0).log, "Yf8=");
}

TEST_F(Logs, NulBytesAreText) {
  write(std::string_view("a\0b\n", 4));
  EXPECT_EQ(ship(), std::string("a\0b|", 4));
}

TEST_F(Logs, ABatchHasAtMostAThousandLines) {
  std::string many;
  for (int i = 0; i < 2500; ++i) many += "\n";
  write(many);
  EXPECT_EQ(next()->entries.size(), 1000u);
  shipper->delivered();
  EXPECT_EQ(next()->entries.size(), 1000u);
  shipper->delivered();
  EXPECT_EQ(next()->entries.size(), 500u);
}

TEST_F(Logs, ABatchIsBoundedInBytes) {
  for (int i = 0; i < 100; ++i) write(std::string(60'000, '\x01') + "\n");
  EXPECT_LT(json::serialize(json::to_json(*next())).size(), 900u * 1024);
}

TEST_F(Logs, AnUndeliveredBatchIsSentAgainAsItWas) {  // V4
  write("one\ntwo\npart");
  now = now + kSecond;
  const auto first = next();
  ASSERT_TRUE(first);
  EXPECT_EQ(next(), first);
  write(" of a line\nthree\n");
  restart();
  EXPECT_EQ(next(), first);
  shipper->delivered();
  sequence = 3;
  EXPECT_EQ(ship(), " of a line|three|");
}

TEST_F(Logs, ShippedSegmentsAreDeleted) {
  for (int i = 0; i < 100; ++i) write(std::string(100, 'x') + "\n");
  EXPECT_TRUE(std::filesystem::exists(directory / "0" / "stdout.0"));
  ship();
  EXPECT_FALSE(std::filesystem::exists(directory / "0" / "stdout.0"));
}

TEST_F(Logs, ADamagedSpoolIsToldAndEnds) {
  write("good\n");
  std::ofstream(directory / "0" / "stdout.0", std::ios::app | std::ios::binary) << std::string(12, '\xff');
  EXPECT_TRUE(ship().starts_with("good|[determined] lost output: "));
  ended = {0};
  EXPECT_EQ(ship(), "");
  EXPECT_TRUE(shipper->finished(ended));
}

TEST_F(Logs, EverythingArrivesExactlyOnceWhateverIsKilledWhen) {
  for (std::uint32_t seed = 0; seed < 20; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    testing::TemporaryDirectory fresh;
    std::filesystem::create_directory(fresh / "0");
    const int own = ::open((fresh / "0").c_str(), O_RDONLY | O_DIRECTORY);
    Random random(seed);
    SpoolWriter writer(own, "stdout", SpoolLimits{300, 1 << 30});
    BatchLimits small;
    small.entries_max = 1 + static_cast<std::size_t>(random.below(20));
    auto one = std::make_unique<LogShipper>(fresh.path(), "a.1", std::vector<int>{0}, small);
    ASSERT_TRUE(one->open());
    std::string said;
    std::map<std::int64_t, api::LogEntry> stored;  // The master: drops what it has.
    Time at{1'000'000};
    std::set<int> over;
    for (int step = 0; step < 400; ++step) {
      at = at + random.below(kSecond);
      const auto what = random.below(10);
      if (step == 300) over = {0};
      if (what < 4 && over.empty()) {
        std::string bytes;
        for (auto n = random.below(60); n >= 0; --n)
          bytes += random.below(8) == 0    ? "\n"
                   : random.below(6) == 0  ? "\xc3\xa4"
                   : random.below(20) == 0 ? "\xff"
                                           : "x";
        said += bytes;
        ASSERT_TRUE(writer.append(at, bytes));
      } else if (what < 5) {
        one = std::make_unique<LogShipper>(fresh.path(), "a.1", std::vector<int>{0}, small);
        ASSERT_TRUE(one->open());
      } else {
        const auto batch = one->next(over, at);
        ASSERT_TRUE(batch);
        if (!*batch) continue;
        if (random.below(4) == 0) continue;  // The request was lost.
        for (const auto& entry : (*batch)->entries) {
          const auto [it, fresh_entry] = stored.emplace(entry.sequence, entry);
          if (!fresh_entry) {
            ASSERT_EQ(it->second, entry);
          }
        }
        if (random.below(4) != 0) one->delivered();  // Else the answer was lost.
      }
    }
    for (auto batch = one->next(over, at).value(); batch; batch = one->next(over, at).value()) {
      for (const auto& entry : batch->entries) stored.emplace(entry.sequence, entry);
      one->delivered();
    }
    EXPECT_TRUE(one->finished(over));
    std::string text;
    std::int64_t expected = 0;
    for (const auto& [number, entry] : stored) {
      ASSERT_EQ(number, expected++);
      text += (entry.encoding.empty() ? entry.log : base64_decode(entry.log).value()) +
              (entry.partial ? "" : "\n");
    }
    if (!said.empty() && said.back() != '\n') said += '\n';
    ASSERT_EQ(text, said);
    ::close(own);
  }
}

}  // namespace
}  // namespace det::agent
