#include "det/pytorch/value.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "det/pytorch/files/pickle_reader.h"

namespace det::pytorch {
namespace {

class ValueTest : public ::testing::Test {
 protected:
  ValueTest()
      : path_(std::filesystem::temp_directory_path() / ("det-value-" + std::to_string(::getpid()) + ".pth")) {
  }
  ~ValueTest() override { std::filesystem::remove(path_); }
  Value saved_and_loaded(const Value& value) {
    save_value(value, path_);
    return load_value(path_);
  }
  std::filesystem::path path_;
};

TEST_F(ValueTest, EverythingComesBackAsItWasSaved) {
  Dict inner;
  inner.ordered = true;
  inner["weight"] = at::arange(6, at::kFloat).reshape({2, 3}).t();
  inner[std::int64_t{3}] = at::tensor({1, 0}).to(at::kBool);
  Dict dict;
  dict["inner"] = inner;
  dict["list"] =
      List{Value(), Value(true), Value(-1), Value(300), Value(INT64_MIN), Value(1e-300), Value("ä\n")};
  dict["empty"] = at::empty({0, 4}, at::kHalf);
  const auto loaded = saved_and_loaded(dict).dict();
  EXPECT_TRUE(loaded.at("inner").dict().ordered);
  EXPECT_TRUE(loaded.at("inner").dict().at("weight").tensor().equal(inner.at("weight").tensor()));
  EXPECT_TRUE(loaded.at("inner").dict().at(std::int64_t{3}).tensor().equal(at::tensor({1, 0}).to(at::kBool)));
  const auto& list = loaded.at("list").list();
  EXPECT_TRUE(list[0].is_none());
  EXPECT_TRUE(list[1].boolean());
  EXPECT_EQ(list[2].integer(), -1);
  EXPECT_EQ(list[3].integer(), 300);
  EXPECT_EQ(list[4].integer(), INT64_MIN);
  EXPECT_EQ(list[5].number(), 1e-300);
  EXPECT_EQ(list[6].text(), "ä\n");
  EXPECT_EQ(loaded.at("empty").tensor().sizes(), (std::vector<std::int64_t>{0, 4}));
}

TEST_F(ValueTest, AWrongKindAndAMissingKeyAreNamed) {
  Dict dict;
  dict["a"] = 1;
  EXPECT_THROW(
      {
        try {
          dict.at("b");
        } catch (const UsageError& error) {
          EXPECT_STREQ(error.what(), "saved state: key b not found; it has: a");
          throw;
        }
      },
      UsageError);
  EXPECT_THROW(static_cast<void>(dict.at("a").tensor()), UsageError);
}

TEST_F(ValueTest, ADamagedFileIsRefusedWithItsName) {
  std::ofstream(path_) << "this is no zip file";
  try {
    load_value(path_);
    FAIL();
  } catch (const UsageError& error) {
    EXPECT_NE(std::string(error.what()).find(path_.string() + " is damaged"), std::string::npos);
  }
}

TEST_F(ValueTest, NoCutOrChangedPickleDoesHarm) {
  Dict dict;
  dict["tensor"] = at::ones({3});
  dict["list"] = List{Value(1), Value("x"), Value(2.5)};
  save_value(dict, path_);
  std::ifstream file(path_, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  const auto start = bytes.find("\x80\x02}");
  ASSERT_NE(start, std::string::npos);
  const auto whole = bytes.substr(start, bytes.find("u.", start) + 2 - start);
  const auto storage = [](const std::string&, c10::ScalarType type, std::int64_t elements) {
    if (elements < 0 || elements > 1000) throw UsageError("storage is cut short");
    return at::zeros({elements}, at::TensorOptions(type));
  };
  std::size_t refused = 0;
  for (std::size_t length = 0; length < whole.size(); ++length) {
    try {
      pickle::Reader({whole.data(), length}, storage).read();
    } catch (const UsageError&) {
      ++refused;
    }
  }
  EXPECT_EQ(refused, whole.size());
  for (std::size_t i = 0; i < whole.size(); ++i) {
    for (const unsigned char change : {0x01, 0x80, 0xff}) {
      auto changed = whole;
      changed[i] = static_cast<char>(changed[i] ^ change);
      try {
        pickle::Reader(changed, storage).read();
      } catch (const UsageError&) {
      }
    }
  }
}

}  // namespace
}  // namespace det::pytorch
