#include "det/pytorch/settings.h"

#include <gtest/gtest.h>

#include "det/pytorch/compile/build.h"

namespace det::pytorch {
namespace {

Settings settings() {
  return Settings::from_json(
      R"({"lr":0.1,"layers":3,"name":"adam","on":true,"big":5000000000,"net":{"width":8,"betas":[0.9,0.99]},"a.b":1,"no":null})",
      "hyperparameter", "hyperparameters");
}

template <typename Body>
std::string message_of(const Body& body) {
  try {
    body();
  } catch (const UsageError& error) {
    return error.what();
  }
  return "nothing was thrown";
}

TEST(SettingsTest, ValuesAreReadByDottedNamesInTheirTypes) {
  const auto s = settings();
  EXPECT_EQ(s.get<double>("lr"), 0.1);
  EXPECT_EQ(s.get<double>("layers"), 3.0);
  EXPECT_EQ(s.get<int>("layers"), 3);
  EXPECT_EQ(s.get<std::string>("name"), "adam");
  EXPECT_TRUE(s.get<bool>("on"));
  EXPECT_EQ(s.get<std::int64_t>("big"), 5000000000);
  EXPECT_EQ(s.get<int>("net.width"), 8);
  EXPECT_EQ(s.get<double>("net.betas.1"), 0.99);
  EXPECT_EQ(s.get<std::vector<double>>("net.betas"), (std::vector<double>{0.9, 0.99}));
  EXPECT_EQ(s.get<Settings>("net").get<int>("width"), 8);
  EXPECT_EQ(s.get<int>("a.b"), 1);
  EXPECT_EQ(s.get<int>("depth", 4), 4);
  EXPECT_EQ(s.get<int>("no", 4), 4);
}

TEST(SettingsTest, AMissingNameListsThoseThereAre) {
  EXPECT_EQ(message_of([] { settings().get<int>("net.depth"); }),
            "the hyperparameter net.depth is not set; hyperparameters in the experiment "
            "configuration has: "
            "lr, layers, name, on, big, net, net.width, net.betas, a.b, no");
}

TEST(SettingsTest, AnotherTypeAndANumberThatDoesNotFitAreNamed) {
  EXPECT_EQ(message_of([] { settings().get<int>("lr"); }),
            "hyperparameters.lr is 0.1, a number; the trial needs a whole number");
  EXPECT_EQ(message_of([] { settings().get<double>("name"); }),
            "hyperparameters.name is \"adam\", a string; the trial needs a number");
  EXPECT_EQ(message_of([] { settings().get<int>("big"); }),
            "hyperparameters.big is 5000000000; it must be from -2147483648 to 2147483647");
  EXPECT_EQ(message_of([] { settings().get<Settings>("net").get<bool>("width"); }),
            "hyperparameters.net.width is 8, a whole number; the trial needs true or false");
}

TEST(EntrypointTest, ATrialInCxxIsNamedByItsFile) {
  const auto parsed = parse_entrypoint("model_def.cpp:MnistTrial");
  ASSERT_TRUE(parsed);
  EXPECT_EQ(parsed->file, "model_def.cpp");
  EXPECT_EQ(parsed->name, "MnistTrial");
  EXPECT_TRUE(parse_entrypoint("CMakeLists.txt:A"));
  EXPECT_FALSE(parse_entrypoint("model_def:MnistTrial"));
  EXPECT_FALSE(parse_entrypoint("g++ model_def.cpp:"));
}

}  // namespace
}  // namespace det::pytorch
