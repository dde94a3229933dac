#include "det/master/models/registry.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

namespace det::master {
namespace {

class RegistryTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = (std::filesystem::temp_directory_path() / "det-registry-XXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    directory_ = name;
    restart();
  }
  void TearDown() override {
    registry.reset();
    store.reset();
    std::filesystem::remove_all(directory_);
  }

  void restart() {
    registry.reset();
    store.reset();
    store = store::open_sqlite({.path = directory_ / "det.db", .on_stall = nullptr}).value();
    registry = std::make_unique<Registry>(*store);
  }
  void commit(Registry::Changes changes) {
    store->commit(std::move(changes), [] {});
    store->flush();
  }
  const ModelRecord& create(const std::string& name) {
    commit(registry->create({.name = name}).value());
    return *registry->find(name);
  }
  std::int64_t add(ModelId model, const std::string& checkpoint) {
    ModelVersionRecord version{.model = model, .version = 0, .checkpoint = checkpoint};
    commit(registry->add_version(version).value());
    return version.version;
  }

  std::filesystem::path directory_;
  std::unique_ptr<store::Store> store;
  std::unique_ptr<Registry> registry;
};

TEST_F(RegistryTest, AModelIsFoundByItsNameAndById) {
  const auto id = create("resnet").id;
  EXPECT_EQ(registry->find("resnet")->id, id);
  EXPECT_EQ(registry->find(std::to_string(id.value()))->name, "resnet");
  EXPECT_EQ(registry->find("vgg"), nullptr);
}

TEST_F(RegistryTest, ANameIsNoNumberWhichWouldBeAnId) {
  const auto model = create("first");
  EXPECT_EQ(registry->create({.name = "1"}).error().code(), ErrorCode::InvalidArgument);
  auto renamed = model;
  renamed.name = "2026";
  EXPECT_EQ(registry->change(renamed).error().code(), ErrorCode::InvalidArgument);
  EXPECT_EQ(registry->find("1")->id, model.id);
  create("v1");
}

TEST_F(RegistryTest, TwoModelsCannotHaveOneName) {
  const auto first = create("a");
  auto second = create("b");
  EXPECT_EQ(registry->create({.name = "a"}).error().code(), ErrorCode::AlreadyExists);
  second.name = "a";
  EXPECT_EQ(registry->change(second).error().code(), ErrorCode::AlreadyExists);
  commit(registry->remove(first.id));
  EXPECT_TRUE(registry->change(second));
}

TEST_F(RegistryTest, ANameIsNeitherEmptyNorPadded) {
  for (const auto& name : {std::string(), std::string(" a"), std::string("a "), std::string(300, 'x')})
    EXPECT_EQ(registry->create({.name = name}).error().code(), ErrorCode::InvalidArgument) << name;
}

TEST_F(RegistryTest, NumbersOfVersionsAndIdsOfModelsAreNeverGivenAgain) {
  const auto model = create("a").id;
  EXPECT_EQ(add(model, "u1"), 1);
  EXPECT_EQ(add(model, "u2"), 2);
  commit(registry->remove_version(model, 2, Time{1}));
  restart();
  EXPECT_EQ(add(model, "u3"), 3);
  commit(registry->remove(model));
  restart();
  EXPECT_NE(create("a").id, model);
}

TEST_F(RegistryTest, ACheckpointIsInUseAsLongAsAVersionNamesIt) {
  const auto a = create("a").id, b = create("b").id;
  EXPECT_FALSE(registry->use_of("u"));
  add(a, "u");
  add(a, "u");
  add(b, "u");
  EXPECT_EQ(registry->use_of("u"), "version 1 of model 'a'");
  restart();
  commit(registry->remove_version(a, 1, Time{1}));
  EXPECT_EQ(registry->use_of("u"), "version 2 of model 'a'");
  commit(registry->remove(a));
  EXPECT_EQ(registry->use_of("u"), "version 1 of model 'b'");
  EXPECT_EQ(registry->checkpoints(), std::vector<std::string>{"u"});
  commit(registry->remove(b));
  EXPECT_FALSE(registry->use_of("u"));
  EXPECT_TRUE(registry->checkpoints().empty());
}

TEST_F(RegistryTest, AnArchivedModelTakesNoVersion) {
  auto model = create("a");
  model.archived = true;
  commit(registry->change(model).value());
  ModelVersionRecord version{.model = model.id, .version = 0, .checkpoint = "u"};
  EXPECT_EQ(registry->add_version(version).error().code(), ErrorCode::FailedPrecondition);
  EXPECT_FALSE(registry->use_of("u"));
}

TEST_F(RegistryTest, EverythingIsThereAfterARestart) {
  auto model = create("a");
  add(model.id, "u1");
  model = *registry->find("a");
  model.name = "renamed";
  model.metadata = {{"k", 1}};
  commit(registry->change(model).value());
  auto version = *registry->version(model.id, 1);
  version.comment = "good";
  commit(registry->change_version(version));
  restart();
  EXPECT_EQ(registry->find("a"), nullptr);
  EXPECT_EQ(json::serialize(registry->find("renamed")->metadata), R"({"k":1})");
  EXPECT_EQ(registry->version_count(model.id), 1);
  EXPECT_EQ(registry->version(model.id, 1)->comment, "good");
  EXPECT_EQ(registry->versions(model.id).size(), 1u);
}

}  // namespace
}  // namespace det::master
