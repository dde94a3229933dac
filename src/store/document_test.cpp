#include "det/store/document.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

#include "det/base/random.h"

namespace det::store {
namespace {

json::value round_trip(const json::value& value) {
  return decode_document(encode_document(value));
}

TEST(Document, EveryKindOfValueComesBack) {
  const auto value =
      json::parse(
          R"([null, true, false, 0, -1, 9223372036854775807, -9223372036854775808, 18446744073709551615, 1.5, "", "t",
          [], {}, {"a": {"a": 1, "b": [{"a": 2}]}, "": 3}])")
          .value();
  EXPECT_EQ(round_trip(value), value);
}

TEST(Document, DoublesComeBackToTheBit) {
  Random random(1);
  std::vector<double> numbers = {0.0,
                                 -0.0,
                                 1.0,
                                 0.1,
                                 1e308,
                                 5e-324,
                                 std::numeric_limits<double>::infinity(),
                                 -std::numeric_limits<double>::infinity(),
                                 std::numeric_limits<double>::quiet_NaN(),
                                 std::bit_cast<double>(0x7ff8000000000123ULL),
                                 std::bit_cast<double>(0x7ff0000000000001ULL)};
  for (int i = 0; i < 10'000; ++i) numbers.push_back(random.uniform(-1, 1));
  for (const double number : numbers) {
    const auto back = round_trip(number);
    ASSERT_TRUE(back.is_double());
    EXPECT_EQ(std::bit_cast<std::uint64_t>(back.get_double()), std::bit_cast<std::uint64_t>(number))
        << number;
  }
}

TEST(Document, TextAndNamesAreBytes) {
  std::string bytes;
  for (int i = 0; i < 256; ++i) bytes += static_cast<char>(i);
  const json::value value = json::object{{bytes, boost::json::string(bytes)}};
  EXPECT_EQ(round_trip(value), value);
}

TEST(Document, NamesAreWrittenOnce) {
  json::array batches;
  for (int i = 0; i < 100; ++i) batches.push_back(json::object{{"a_rather_long_metric_name", 0.1 * i}});
  EXPECT_LT(encode_document(batches).size(), 1400u);
}

TEST(Document, SameDocumentTellsKindsApartButNotNans) {
  EXPECT_TRUE(same_document(std::nan(""), std::nan("")));
  EXPECT_FALSE(same_document(1, 1.0));
  EXPECT_FALSE(same_document(json::object{{"a", 1}}, json::object{{"b", 1}}));
}

TEST(Document, EveryCutIsSeenAsDamage) {
  const auto bytes = encode_document(json::parse(R"({"a":[1,2.5,"text",{"b":null}],"c":0.1})").value());
  for (std::size_t size = 0; size < bytes.size(); ++size)
    EXPECT_THROW(decode_document(bytes.substr(0, size)), DamagedDocument) << size;
  EXPECT_THROW(decode_document(bytes + "x"), DamagedDocument);
}

TEST(Document, NoBytesMakeTheDecoderFail) {
  Random random(2);
  const auto bytes =
      encode_document(json::parse(R"({"a":[1,2.5,"text",{"b":null}],"c":0.1,"d":[[[]]]})").value());
  for (int i = 0; i < 100'000; ++i) {
    auto damaged = bytes;
    for (int changes = 0; changes < 3; ++changes)
      damaged[static_cast<std::size_t>(random.below(static_cast<std::int64_t>(damaged.size())))] =
          static_cast<char>(random.below(256));
    try {
      decode_document(damaged);
    } catch (const DamagedDocument&) {
    }
  }
  EXPECT_THROW(decode_document("\x01" + std::string(1000, '\x08')), DamagedDocument);
}

}  // namespace
}  // namespace det::store
