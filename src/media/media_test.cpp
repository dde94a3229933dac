#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "det/base/text.h"
#include "det/media/event_records.h"
#include "det/media/media_index.h"
#include "det/media/media_values.h"

namespace det::media {
namespace {

std::string varint(std::uint64_t value) {
  std::string out;
  for (; value > 0x7F; value >>= 7) out += static_cast<char>((value & 0x7F) | 0x80);
  return out + static_cast<char>(value);
}
std::string field(std::uint32_t number, std::string_view bytes) {
  return varint(number << 3 | 2).append(varint(bytes.size())).append(bytes);
}
std::string number(std::uint32_t field, std::uint64_t value) {
  return varint(field << 3) + varint(value);
}
std::string fixed(double value) {
  std::string bytes(sizeof value, '\0');
  std::memcpy(bytes.data(), &value, sizeof value);
  return bytes;
}
std::string doubles(const std::vector<double>& values) {
  std::string bytes;
  for (const double value : values) bytes += fixed(value);
  return bytes;
}
std::string event(std::int64_t step, std::string_view values) {
  return varint(1 << 3 | 1) + fixed(17.5) + number(2, static_cast<std::uint64_t>(step)) + field(5, values);
}
std::string plugin(std::string_view name) {
  return field(9, field(1, field(1, name)));
}

const std::string kPng = "\x89PNG\r\n\x1a\n…";

/// The only value of an event with this value, read.
Content read(Kind kind, const std::string& value) {
  const auto bytes = event(3, field(1, field(1, "a") + value));
  const auto found = read_event(bytes);
  if (!found || found->values.size() != 1) {
    ADD_FAILURE() << "found " << (found ? found->values.size() : 0) << " values";
    return {};
  }
  const auto& one = found->values.front();
  EXPECT_EQ(one.kind, kind);
  EXPECT_EQ(one.tag, "a");
  return read_value(one.kind, std::string_view(bytes).substr(one.offset, one.length)).value();
}

TEST(EventRecords, ALengthIsReadAndADamagedOneIsNot) {
  std::string head("\x2a\0\0\0\0\0\0\0", 8);
  const auto crc = masked_crc(head);
  for (int i = 0; i < 4; ++i) head += static_cast<char>(crc >> 8 * i);
  EXPECT_EQ(record_length(head), 42U);
  head[1] = 1;
  EXPECT_EQ(record_length(head), std::nullopt);
}

TEST(EventRecords, TheChecksumIsThatOfTFRecord) {
  // RFC 3720 B.4: CRC-32C of 32 zeros is 8a9136aa.
  const std::uint32_t crc = 0x8a9136aa;
  EXPECT_EQ(masked_crc(std::string(32, '\0')), (crc >> 15 | crc << 17) + 0xA282EAD8);
}

TEST(MediaValues, AnEventHasItsStepItsTimeAndItsMedia) {
  const auto bytes = event(7, field(1, field(1, "loss") + std::string("\x15\0\0\0\0", 5)) +
                                  field(1, field(1, "image") + field(4, field(4, kPng))));
  const auto found = read_event(bytes).value();
  EXPECT_EQ(found.step, 7);
  EXPECT_EQ(found.wall_time, 17.5);
  ASSERT_EQ(found.values.size(), 1U) << "the scalar is no medium";
  EXPECT_EQ(found.values[0].tag, "image");
}

TEST(MediaValues, EachKindIsReadAsAMessageOfItsOwn) {
  const auto image = read(Kind::Image, field(4, number(1, 2) + number(2, 3) + field(4, kPng)));
  ASSERT_EQ(image.encoded.size(), 1U);
  EXPECT_EQ(image.encoded[0].media_type, "image/png");
  EXPECT_EQ(image.encoded[0].bytes, kPng);
  const auto sound = read(Kind::Audio, field(6, field(4, "RIFF....WAVEfmt") + field(5, "audio/wav")));
  ASSERT_EQ(sound.encoded.size(), 1U);
  EXPECT_EQ(sound.encoded[0].media_type, "audio/wav");
  const auto sums = varint(1 << 3 | 1) + fixed(-1) + varint(2 << 3 | 1) + fixed(4);
  const auto histogram = read(Kind::Histogram, field(5, sums + field(6, doubles({-2, 0, 1, 3, 1e308})) +
                                                            field(7, doubles({0, 2, 0, 5, 0}))))
                             .histogram;
  EXPECT_EQ(histogram.edges, (std::vector<double>{-1, 0, 1, 3}))
      << "bounded by the least and the greatest value";
  EXPECT_EQ(histogram.counts, (std::vector<double>{2, 0, 5}));
}

TEST(MediaValues, EachKindIsReadAsATensorWithAPlugin) {
  const auto images =
      read(Kind::Image, plugin("images") + field(8, number(1, 7) + field(8, "2") + field(8, "3") +
                                                        field(8, kPng) + field(8, kPng)));
  EXPECT_EQ(images.encoded.size(), 2U);
  const auto text =
      read(Kind::Text, field(8, number(1, 7) + field(8, "one") + field(8, "two")) + plugin("text"));
  EXPECT_EQ(text.text, (std::vector<std::string>{"one", "two"}));
  const auto histogram =
      read(Kind::Histogram,
           plugin("histograms") + field(8, number(1, 2) + field(4, doubles({0, 1, 2, 1, 2, 3}))))
          .histogram;
  EXPECT_EQ(histogram.edges, (std::vector<double>{0, 1, 2}));
  EXPECT_EQ(histogram.counts, (std::vector<double>{2, 3}));
  const auto sound = read(
      Kind::Audio, plugin("audio") + field(8, number(1, 7) + field(8, "RIFF....WAVE") + field(8, "label")));
  EXPECT_EQ(sound.encoded.size(), 1U) << "a label is no sound";
}

TEST(MediaValues, WhatIsNoImageHasNoMediaType) {
  EXPECT_EQ(read(Kind::Image, field(4, field(4, "<svg onload='alert(1)'/>"))).encoded[0].media_type, "");
}

TEST(MediaValues, BrokenBytesAreAnErrorAndNoCrash) {
  const auto whole = event(7, field(1, field(1, "image") + field(4, field(4, kPng))));
  for (std::size_t length = 0; length < whole.size(); ++length) {
    const auto cut = std::string_view(whole).substr(0, length);
    (void)read_event(cut);
    for (const auto kind : {Kind::Image, Kind::Histogram, Kind::Text, Kind::Audio})
      (void)read_value(kind, cut);
  }
  EXPECT_FALSE(read_event("\x0a\xff"));
}

const Found kFound{Kind::Image, "a"};
std::vector<std::int64_t> steps_of(const Index& index) {
  std::vector<std::int64_t> steps;
  for (const auto& entry : index.entries({Kind::Image, "a"})) steps.push_back(entry.step);
  return steps;
}

TEST(MediaIndex, AStepThatIsRepeatedHasItsNewestValue) {
  Index index;
  index.add(kFound, {.step = 1, .wall_time = 1});
  index.add(kFound, {.step = 3, .wall_time = 2});
  index.add(kFound, {.step = 2, .wall_time = 4, .file = 1});
  index.add(kFound, {.step = 3, .wall_time = 5, .file = 1});
  index.add(kFound, {.step = 1, .wall_time = 0, .file = 2});
  EXPECT_EQ(steps_of(index), (std::vector<std::int64_t>{1, 2, 3}));
  const auto& entries = index.entries({Kind::Image, "a"});
  EXPECT_EQ(entries[0].file, 0U);
  EXPECT_EQ(entries[2].file, 1U);
}

TEST(MediaIndex, OfManyValuesSomeAreKeptEvenlyAndTheNewest) {
  Index index;
  for (std::int64_t step = 0; step < 10'000; ++step) {
    index.add(kFound, {.step = step});
    ASSERT_EQ(steps_of(index).back(), step);
  }
  const auto steps = steps_of(index);
  EXPECT_LE(steps.size(), Index::kValuesMax);
  EXPECT_GE(steps.size(), Index::kValuesMax / 2);
  for (std::size_t i = 1; i + 1 < steps.size(); ++i) ASSERT_EQ(steps[i] - steps[i - 1], 16);
}

TEST(MediaIndex, TheNearestIsTheLastOneThatIsNotLater) {
  const std::vector<Entry> entries = {{.step = 10}, {.step = 20}};
  EXPECT_EQ(nearest(entries, 5).step, 10);
  EXPECT_EQ(nearest(entries, 19).step, 10);
  EXPECT_EQ(nearest(entries, 1000).step, 20);
}

TEST(MediaIndex, SpacedEntriesBeginAndEndWhereAllDo) {
  std::vector<Entry> entries;
  for (std::int64_t step = 0; step < 100; ++step) entries.push_back({.step = step});
  const auto some = spaced(entries, 4);
  ASSERT_EQ(some.size(), 4U);
  EXPECT_EQ(some[1].step, 33);
  EXPECT_EQ(some[3].step, 99);
  EXPECT_EQ(spaced(entries, 1).front().step, 99);
  EXPECT_EQ(spaced(entries, 200).size(), 100U);
}

}  // namespace
}  // namespace det::media
