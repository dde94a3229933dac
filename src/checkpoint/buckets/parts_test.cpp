#include "det/checkpoint/buckets/parts.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include "det/checkpoint/files.h"
#include "det/checkpoint/temporary_directory.h"

namespace det::checkpoint {
namespace {

constexpr std::int64_t kTail = 1000;

PartSums file(std::vector<unsigned char> parts, std::int64_t tail = kTail) {
  PartSums sums{.bytes = static_cast<std::int64_t>(parts.size() - 1) * kPartBytes + tail, .sums = {}};
  for (const auto part : parts) sums.sums.push_back({part});
  return sums;
}
Segment same(std::int64_t first, std::int64_t bytes) {
  return {first * kPartBytes, bytes, true};
}
Segment changed(std::int64_t first, std::int64_t bytes) {
  return {first * kPartBytes, bytes, false};
}

TEST(Parts, SegmentsSayWhatHasChanged) {
  const auto now = file({1, 2, 3, 4});
  using All = std::vector<Segment>;
  EXPECT_EQ(segments(file({1, 2, 3, 4}), now), All({same(0, 3 * kPartBytes + kTail)}));
  EXPECT_EQ(segments(file({9, 9, 9, 9}), now), All({changed(0, 3 * kPartBytes + kTail)}));
  EXPECT_EQ(segments(file({1, 2, 9, 4}), now),
            All({same(0, 2 * kPartBytes), changed(2, kPartBytes), same(3, kTail)}));
  EXPECT_EQ(segments(file({1, 2}), now), All({same(0, kPartBytes), changed(1, 2 * kPartBytes + kTail)}))
      << "the last part of the shorter file has other bytes";
  EXPECT_EQ(segments(PartSums{}, now), All({changed(0, 3 * kPartBytes + kTail)}));
  EXPECT_EQ(segments(now, PartSums{}), All());
}

TEST(Parts, SegmentsHaveALimit) {
  const SegmentLimits limits{.same_max = 2 * kPartBytes, .changed_max = kPartBytes};
  EXPECT_EQ(segments(file({1, 2, 3, 8, 9}), file({1, 2, 3, 4, 5}), limits),
            (std::vector<Segment>{same(0, 2 * kPartBytes), same(2, kPartBytes), changed(3, kPartBytes),
                                  changed(4, kTail)}));
}

TEST(Parts, TheSumsOfAFileDifferWhereItsPartsDo) {
  const TemporaryDirectory directory;
  std::string content(static_cast<std::size_t>(2 * kPartBytes + 7), 'a');
  const auto sums = [&] {
    directory.write("file", content);
    const Fd open(::open((directory.path() / "file").c_str(), O_RDONLY));
    return part_sums(open.get(), static_cast<std::int64_t>(content.size()), "file");
  };
  const auto before = sums();
  ASSERT_EQ(before.sums.size(), 3U);
  EXPECT_EQ(before.sums[0], before.sums[1]);
  content[static_cast<std::size_t>(kPartBytes)] = 'b';
  const auto now = sums();
  EXPECT_EQ(segments(before, now),
            (std::vector<Segment>{same(0, kPartBytes), changed(1, kPartBytes), same(2, 7)}));
}

}  // namespace
}  // namespace det::checkpoint
