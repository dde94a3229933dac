#include "det/pytorch/files/stage.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <set>

namespace det::pytorch {
namespace {

Dict state() {
  Dict inner;
  inner.ordered = true;
  inner["weight"] = at::arange(6, at::kFloat).reshape({2, 3});
  inner["transposed"] = at::arange(6, at::kLong).reshape({2, 3}).t();
  Dict state;
  state["models"] = List{inner, Value(at::Tensor())};
  state["number"] = 7;
  state["scalar"] = at::scalar_tensor(true);
  state["empty"] = at::empty({0}, at::kChar);
  return state;
}

TEST(Stage, CopiesEverythingAndSharesNoTensor) {
  const auto before = state();
  Stage stage;
  const auto copies = stage.copy_of({before, 3}, std::nullopt);
  ASSERT_TRUE(copies);
  const auto& inner = before.at("models").list()[0].dict();
  const auto expected = to_bytes(before);
  EXPECT_EQ(to_bytes((*copies)[0]), expected);
  EXPECT_EQ((*copies)[1].integer(), 3);
  inner.at("weight").tensor().add_(100);
  inner.at("transposed").tensor().zero_();
  before.at("scalar").tensor().fill_(false);
  EXPECT_EQ(to_bytes((*copies)[0]), expected);
}

TEST(Stage, UsesTheSameMemoryForTheNextCopy) {
  Stage stage;
  const Dict value = [] {
    Dict dict;
    for (const char* name : {"a", "b", "c"}) dict[name] = at::ones({100});
    return dict;
  }();
  const auto places = [&] {
    std::set<const void*> found;
    const auto copies = stage.copy_of({value}, std::nullopt);
    for (const auto& [key, item] : (*copies)[0].dict().entries())
      found.insert(item.tensor().const_data_ptr());
    return found;
  };
  const auto first = places();
  EXPECT_EQ(first.size(), 3U);
  EXPECT_EQ(places(), first);
}

TEST(Stage, CopiesNothingWhereThereIsTooLittleMemoryAndNeedsNoneForTheNextCopy) {
  Stage stage;
  const Value value = at::ones({100});
  EXPECT_FALSE(stage.copy_of({value}, 799));
  EXPECT_TRUE(stage.copy_of({value}, 800));
  EXPECT_TRUE(stage.copy_of({value}, 0)) << "the memory of the former copy is there";
}

}  // namespace
}  // namespace det::pytorch
