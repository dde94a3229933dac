#include "det/checkpoint/storage.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>

#include "det/checkpoint/manifest.h"
#include "det/checkpoint/temporary_directory.h"

namespace det::checkpoint {
namespace {

namespace fs = std::filesystem;

const std::string kUuid = "0e1f2a3b-0000-4000-8000-000000000001";

class StorageTest : public ::testing::Test {
 protected:
  StorageTest() : storage(directory_storage(shared.path() / "ckpts")) {
    source.write("model.pth", "weights");
    source.write("code/model_def.py", "print()");
    source.write("code/nested/empty.txt", "");
    fs::create_directories(source.path() / "hollow");
  }
  fs::path stored(const std::string& name) const { return shared.path() / "ckpts" / kUuid / name; }
  std::string refusal() { return storage->save(source.path(), kUuid).error().message(); }
  std::vector<std::string> names_in_root() const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(shared.path() / "ckpts"))
      names.push_back(entry.path().filename());
    return names;
  }

  TemporaryDirectory shared;
  TemporaryDirectory source;
  TemporaryDirectory target;
  std::unique_ptr<Storage> storage;
  const Resources expected = {{"code/", 0},        {"code/model_def.py", 7},
                              {"code/nested/", 0}, {"code/nested/empty.txt", 0},
                              {"hollow/", 0},      {"model.pth", 7}};
};

TEST_F(StorageTest, SavesEveryFileAndDirectoryAndSaysHowLarge) {
  EXPECT_EQ(*storage->save(source.path(), kUuid), expected);
  EXPECT_EQ(shared.read("ckpts/" + kUuid + "/code/model_def.py"), "print()");
  EXPECT_TRUE(fs::is_directory(stored("hollow")));
  EXPECT_EQ(storage->path(kUuid), shared.path() / "ckpts" / kUuid);
}

TEST_F(StorageTest, RestoresWhatWasSaved) {
  ASSERT_TRUE(storage->save(source.path(), kUuid));
  EXPECT_EQ(*storage->restore(kUuid, target.path()), expected);
  EXPECT_EQ(target.read("model.pth"), "weights");
  EXPECT_EQ(target.read("code/model_def.py"), "print()");
  EXPECT_TRUE(fs::is_directory(target.path() / "hollow"));
  EXPECT_FALSE(fs::exists(target.path() / kManifestName)) << "the manifest is not the user's";
}

TEST_F(StorageTest, OneFileUnderTwoNamesIsOneFileInStorageAndAfterwards) {
  fs::create_hard_link(source.path() / "model.pth", source.path() / "same.pth");
  ASSERT_TRUE(storage->save(source.path(), kUuid));
  EXPECT_TRUE(fs::equivalent(stored("same.pth"), stored("model.pth")));
  EXPECT_EQ(storage->restore(kUuid, target.path())->at("same.pth"), 7);
  EXPECT_TRUE(fs::equivalent(target.path() / "same.pth", target.path() / "model.pth"));
  EXPECT_EQ(target.read("same.pth"), "weights");
}

TEST_F(StorageTest, SavingARestoredOrCopiedCheckpointAgainIsFine) {
  ASSERT_TRUE(storage->save(source.path(), kUuid));
  EXPECT_EQ(*storage->save(storage->path(kUuid), "second"), expected);
}

TEST_F(StorageTest, SavingTheSameTwiceSucceeds) {
  ASSERT_TRUE(storage->save(source.path(), kUuid));
  EXPECT_EQ(*storage->save(source.path(), kUuid), expected);
  EXPECT_EQ(names_in_root(), std::vector{kUuid});
}

TEST_F(StorageTest, SavingOtherContentUnderTheSameUuidFailsAndKeepsTheFirst) {
  ASSERT_TRUE(storage->save(source.path(), kUuid));
  source.write("model.pth", "WEIGHTS");
  const auto second = storage->save(source.path(), kUuid);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code(), ErrorCode::AlreadyExists);
  EXPECT_EQ(shared.read("ckpts/" + kUuid + "/model.pth"), "weights");
  EXPECT_EQ(names_in_root(), std::vector{kUuid});
}

TEST_F(StorageTest, AnEmptyDirectoryIsACheckpoint) {
  TemporaryDirectory empty;
  EXPECT_TRUE(storage->save(empty.path(), kUuid)->empty());
  EXPECT_TRUE(*storage->exists(kUuid));
  EXPECT_TRUE(storage->restore(kUuid, target.path())->empty());
}

TEST_F(StorageTest, RestoreNamesTheFileThatChanged) {
  ASSERT_TRUE(storage->save(source.path(), kUuid));
  std::ofstream(stored("model.pth")) << "weighty";
  const auto restored = storage->restore(kUuid, target.path());
  ASSERT_FALSE(restored);
  EXPECT_EQ(restored.error().code(), ErrorCode::FailedPrecondition);
  EXPECT_NE(restored.error().message().find(stored("model.pth").string() + " is damaged: its XXH3"),
            std::string::npos)
      << restored.error().message();
  EXPECT_TRUE(fs::is_empty(target.path())) << "half a checkpoint must not be taken for a whole one";
  EXPECT_FALSE(storage->verify(kUuid));
}

TEST_F(StorageTest, RestoreNamesTheFileThatGotShorter) {
  ASSERT_TRUE(storage->save(source.path(), kUuid));
  fs::resize_file(stored("model.pth"), 3);
  EXPECT_NE(storage->restore(kUuid, target.path())
                .error()
                .message()
                .find("model.pth is damaged: it has 3 bytes instead of 7"),
            std::string::npos);
}

TEST_F(StorageTest, RestoreNamesTheFileThatIsMissing) {
  ASSERT_TRUE(storage->save(source.path(), kUuid));
  fs::remove(stored("model.pth"));
  const auto restored = storage->restore(kUuid, target.path());
  EXPECT_EQ(restored.error().code(), ErrorCode::FailedPrecondition)
      << "not NotFound: the checkpoint is there";
  EXPECT_NE(restored.error().message().find("model.pth is missing"), std::string::npos);
}

TEST_F(StorageTest, ACheckpointOfAnOlderReleaseIsVerifiedBySha256) {
  ASSERT_TRUE(storage->save(source.path(), kUuid));
  std::ofstream(stored(kManifestName)) << R"({"version":1,"files":{"model.pth":{"size":7,"sha256":")"
                                       << "9a2e8ee1cc21e7eb1b34c1c5d1d3a1a0" << R"("}},"directories":[]})";
  const auto wrong = storage->verify(kUuid);
  ASSERT_FALSE(wrong);
  EXPECT_NE(wrong.error().message().find("its SHA-256 is "), std::string::npos) << wrong.error().message();
  const auto at = wrong.error().message().find("its SHA-256 is ") + 15;
  std::ofstream(stored(kManifestName))
      << R"({"version":1,"files":{"model.pth":{"size":7,"sha256":")" << wrong.error().message().substr(at, 64)
      << R"("}},"directories":[]})";
  EXPECT_TRUE(storage->verify(kUuid)) << storage->verify(kUuid).error().message();
}

class DraftTest : public StorageTest {
 protected:
  DraftTest() : draft(*storage->draft(kUuid)) {}
  void write(const std::string& name, const std::string& content) const {
    fs::create_directories((draft / name).parent_path());
    std::ofstream(draft / name) << content;
  }
  fs::path draft;
};

TEST_F(DraftTest, BecomesTheCheckpointWithoutACopy) {
  write("model.pth", "weights");
  write("code/model_def.py", "print()");
  struct stat before{};
  struct stat after{};
  ASSERT_EQ(::stat((draft / "model.pth").c_str(), &before), 0);
  EXPECT_EQ(*storage->publish(kUuid, draft),
            (Resources{{"code/", 0}, {"code/model_def.py", 7}, {"model.pth", 7}}));
  ASSERT_EQ(::stat(stored("model.pth").c_str(), &after), 0);
  EXPECT_EQ(before.st_ino, after.st_ino);
  EXPECT_TRUE(storage->verify(kUuid));
  EXPECT_EQ(names_in_root(), std::vector{kUuid});
}

TEST_F(DraftTest, OfNothingIsACheckpoint) {
  EXPECT_TRUE(storage->publish(kUuid, draft)->empty());
  EXPECT_TRUE(*storage->exists(kUuid));
}

TEST_F(DraftTest, KeepsOneFileUnderTwoNames) {
  write("model.pth", "weights");
  fs::create_hard_link(draft / "model.pth", draft / "same.pth");
  ASSERT_TRUE(storage->publish(kUuid, draft));
  EXPECT_TRUE(fs::equivalent(stored("same.pth"), stored("model.pth")));
  EXPECT_TRUE(storage->verify(kUuid));
}

TEST_F(DraftTest, OwnsCopiesOfFilesThatItOnlyLinksTo) {
  source.write("theirs", "before");
  fs::create_hard_link(source.path() / "theirs", draft / "hard");
  fs::create_symlink(source.path() / "theirs", draft / "soft");
  EXPECT_EQ(*storage->publish(kUuid, draft), (Resources{{"hard", 6}, {"soft", 6}}));
  source.write("theirs", "after");
  for (const auto* name : {"hard", "soft"}) {
    EXPECT_TRUE(fs::is_regular_file(fs::symlink_status(stored(name)))) << name;
    EXPECT_EQ(shared.read("ckpts/" + kUuid + "/" + name), "before") << name;
  }
  EXPECT_TRUE(storage->verify(kUuid));
}

TEST_F(DraftTest, HasNoManifestOfAnotherCheckpoint) {
  write("model.pth", "weights");
  write(kManifestName, "another's");
  EXPECT_EQ(*storage->publish(kUuid, draft), (Resources{{"model.pth", 7}}));
  EXPECT_TRUE(storage->verify(kUuid));
}

TEST_F(DraftTest, ThatCannotBeSavedIsGone) {
  write("model.pth", "weights");
  ASSERT_EQ(::mkfifo((draft / "pipe").c_str(), 0600), 0);
  const auto published = storage->publish(kUuid, draft);
  ASSERT_FALSE(published);
  EXPECT_NE(published.error().message().find("pipe cannot be saved in a checkpoint"), std::string::npos)
      << published.error().message();
  EXPECT_TRUE(names_in_root().empty());
}

TEST_F(DraftTest, OfTheSameContentAsTheCheckpointSucceedsAndOfOtherContentFails) {
  write("model.pth", "weights");
  ASSERT_TRUE(storage->publish(kUuid, draft));
  for (const auto& [content, same] : {std::pair{"weights", true}, std::pair{"WEIGHTS", false}}) {
    const auto second = *storage->draft(kUuid);
    std::ofstream(second / "model.pth") << content;
    EXPECT_EQ(storage->publish(kUuid, second).has_value(), same) << content;
    EXPECT_EQ(shared.read("ckpts/" + kUuid + "/model.pth"), "weights");
    EXPECT_EQ(names_in_root(), std::vector{kUuid});
  }
}

TEST_F(DraftTest, ThatIsNoneIsRefusedAndLeftAlone) {
  const auto refused = storage->publish(kUuid, source.path());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), ErrorCode::InvalidArgument);
  EXPECT_FALSE(storage->publish("another", draft));
  EXPECT_EQ(source.read("model.pth"), "weights");
}

TEST_F(DraftTest, ThatWasNeverPublishedIsDiscarded) {
  write("model.pth", "weights");
  EXPECT_TRUE(storage->list()->empty());
  ASSERT_TRUE(storage->discard(kUuid));
  EXPECT_TRUE(names_in_root().empty());
}

TEST_F(StorageTest, RestoreFollowsNoLinkOutOfTheCheckpoint) {
  ASSERT_TRUE(storage->save(source.path(), kUuid));
  target.write("secret/model.pth", "weights");
  fs::remove(stored("model.pth"));
  fs::create_symlink(target.path() / "secret/model.pth", stored("model.pth"));
  EXPECT_FALSE(storage->verify(kUuid));
}

TEST_F(StorageTest, ACheckpointOfTheOriginalIsRestoredAsItLies) {
  for (const auto& [name, text] :
       {std::pair{"metadata.json", "{}"}, std::pair{"code/model_def.py", "pass"}}) {
    fs::create_directories(stored(name).parent_path());
    std::ofstream(stored(name)) << text;
  }
  EXPECT_TRUE(*storage->is_of_original(kUuid));
  EXPECT_FALSE(*storage->exists(kUuid)) << "it is not of our making";
  const auto restored = storage->restore(kUuid, target.path());
  ASSERT_TRUE(restored) << restored.error().message();
  EXPECT_EQ(*restored, (Resources{{"code/", 0}, {"code/model_def.py", 4}, {"metadata.json", 2}}));
  EXPECT_TRUE(fs::exists(target.path() / "code/model_def.py"));
  EXPECT_FALSE(storage->remove_files(kUuid, {"metadata.json"})) << "it is not for us to change";
}

TEST_F(StorageTest, AManifestThatLeavesTheDirectoryIsRefused) {
  ASSERT_TRUE(storage->save(source.path(), kUuid));
  std::ofstream(stored(kManifestName))
      << R"({"version":1,"files":{"../../escape":{"size":1,"sha256":"00"}},"directories":[]})";
  const auto restored = storage->restore(kUuid, target.path());
  ASSERT_FALSE(restored);
  EXPECT_NE(restored.error().message().find("\"../../escape\""), std::string::npos)
      << restored.error().message();
}

TEST_F(StorageTest, RestoreNeedsAnEmptyDirectory) {
  ASSERT_TRUE(storage->save(source.path(), kUuid));
  target.write("mine.txt", "keep");
  EXPECT_EQ(storage->restore(kUuid, target.path()).error().code(), ErrorCode::FailedPrecondition);
  EXPECT_EQ(target.read("mine.txt"), "keep");
  EXPECT_TRUE(storage->restore(kUuid, target.path() / "new/one"));
}

TEST_F(StorageTest, WithoutSomeOfItsFilesACheckpointIsAWholeOneAgain) {
  ASSERT_TRUE(storage->save(source.path(), kUuid));
  const auto left = storage->remove_files(kUuid, {"code/model_def.py", "never there", "../../outside"});
  ASSERT_TRUE(left) << left.error().message();
  EXPECT_EQ(left->count("code/model_def.py"), 0u);
  EXPECT_EQ(left->at("model.pth"), 7);
  EXPECT_FALSE(fs::exists(stored("code/model_def.py")));
  EXPECT_EQ(*storage->restore(kUuid, target.path()), *left);
  EXPECT_EQ(*storage->remove_files(kUuid, {}), *left);
  EXPECT_EQ(storage->remove_files("unknown", {"x"}).error().code(), ErrorCode::NotFound);
}

TEST_F(StorageTest, AnUnknownCheckpointIsNotFound) {
  EXPECT_EQ(storage->restore(kUuid, target.path()).error().code(), ErrorCode::NotFound);
  EXPECT_FALSE(*storage->exists(kUuid));
  ASSERT_TRUE(storage->save(source.path(), "other"));
  const auto restored = storage->restore(kUuid, target.path());
  EXPECT_EQ(restored.error().message(),
            "checkpoint " + kUuid + ": checkpoint not found in " + (shared.path() / "ckpts").string());
}

TEST_F(StorageTest, RemovingIsIdempotent) {
  EXPECT_TRUE(storage->remove(kUuid)) << "not even the storage exists";
  ASSERT_TRUE(storage->save(source.path(), kUuid));
  ASSERT_TRUE(storage->save(source.path(), "other"));
  EXPECT_TRUE(storage->remove(kUuid));
  EXPECT_TRUE(storage->remove(kUuid));
  EXPECT_EQ(names_in_root(), std::vector<std::string>{"other"});
}

TEST_F(StorageTest, RemovingFollowsNoLink) {
  TemporaryDirectory elsewhere;
  elsewhere.write("keep.txt", "keep");
  ASSERT_TRUE(storage->save(source.path(), kUuid));
  fs::create_directory_symlink(elsewhere.path(), stored("link"));
  fs::create_directory_symlink(elsewhere.path(), shared.path() / "ckpts/linked");
  EXPECT_TRUE(storage->remove(kUuid));
  EXPECT_TRUE(storage->remove("linked"));
  EXPECT_TRUE(names_in_root().empty());
  EXPECT_EQ(elsewhere.read("keep.txt"), "keep");
}

TEST_F(StorageTest, AUuidCannotLeaveTheStorage) {
  const std::vector<std::string> uuids = {
      "", ".", "..", "../x", "a/b", "/etc", ".hidden", "a b", std::string(129, 'a'), std::string("a\0b", 3)};
  for (const auto& uuid : uuids) {
    EXPECT_EQ(storage->save(source.path(), uuid).error().code(), ErrorCode::InvalidArgument) << uuid;
    EXPECT_EQ(storage->remove(uuid).error().code(), ErrorCode::InvalidArgument) << uuid;
    EXPECT_EQ(storage->restore(uuid, target.path()).error().code(), ErrorCode::InvalidArgument) << uuid;
  }
}

TEST_F(StorageTest, ListsCompleteCheckpointsOnly) {
  EXPECT_TRUE(storage->list()->empty());
  ASSERT_TRUE(storage->save(source.path(), "b"));
  ASSERT_TRUE(storage->save(source.path(), "a"));
  shared.write("ckpts/.c.partial-1/model.pth", "half");
  shared.write("ckpts/foreign/model.pth", "not ours");
  shared.write("ckpts/notes.txt", "not ours");
  EXPECT_EQ(*storage->list(), (std::vector<std::string>{"a", "b"}));
}

TEST_F(StorageTest, SweepsLeftoversThatHaveRestedLongEnough) {
  ASSERT_TRUE(storage->save(source.path(), kUuid));
  shared.write("ckpts/.c.partial-1/sub/model.pth", "half");
  shared.write("ckpts/.d.deleted/model.pth", "half");
  shared.write("ckpts/.gitignore", "not ours");
  EXPECT_EQ(*storage->sweep(std::chrono::hours(1)), 0) << "a save may still be at work there";
  EXPECT_EQ(*storage->sweep(std::chrono::seconds(0)), 2);
  auto left = names_in_root();
  std::ranges::sort(left);
  EXPECT_EQ(left, (std::vector<std::string>{".gitignore", kUuid}));
}

TEST_F(StorageTest, ARemovalThatWasInterruptedIsFinishedByTheNext) {
  shared.write("ckpts/." + kUuid + ".deleted/model.pth", "half");
  EXPECT_TRUE(storage->remove(kUuid));
  EXPECT_TRUE(names_in_root().empty());
}

TEST_F(StorageTest, DiscardingLeavesNothingOfACheckpointHoweverFarItsSaveCame) {
  ASSERT_TRUE(storage->save(source.path(), kUuid));
  ASSERT_TRUE(storage->save(source.path(), "kept"));
  shared.write("ckpts/." + kUuid + ".partial-1/sub/model.pth", "half");
  shared.write("ckpts/." + kUuid + ".partial-2/model.pth", "half");
  shared.write("ckpts/." + kUuid + ".deleted/model.pth", "half");
  shared.write("ckpts/.draft-" + kUuid + "/model.pth", "half");
  shared.write("ckpts/.kept.partial-1/model.pth", "of another");
  EXPECT_TRUE(storage->discard(kUuid));
  EXPECT_TRUE(storage->discard(kUuid)) << "again";
  EXPECT_TRUE(storage->discard("never-begun"));
  auto left = names_in_root();
  std::ranges::sort(left);
  EXPECT_EQ(left, (std::vector<std::string>{".kept.partial-1", "kept"}));
  EXPECT_FALSE(storage->discard("../" + kUuid));
}

TEST_F(StorageTest, DiscardingLeavesADirectoryThatIsNotOfOurMaking) {
  shared.write("ckpts/" + kUuid + "/model.pth", "of another program");
  EXPECT_TRUE(storage->discard(kUuid));
  EXPECT_EQ(names_in_root(), std::vector{kUuid});
}

TEST_F(StorageTest, FollowsALinkToAFile) {
  fs::create_symlink("model.pth", source.path() / "latest");
  EXPECT_EQ(storage->save(source.path(), kUuid)->at("latest"), 7);
  EXPECT_TRUE(fs::is_regular_file(fs::symlink_status(stored("latest"))));
}

TEST_F(StorageTest, RefusesWhatIsNoFileByItsName) {
  const auto odd = source.path() / "odd";
  const auto refused = [&](const char* why) {
    EXPECT_EQ(refusal(),
              "checkpoint " + kUuid + ": " + odd.string() + " cannot be saved in a checkpoint: " + why);
    fs::remove(odd);
  };
  fs::create_symlink("nowhere", odd);
  refused("it is a dangling symbolic link");
  fs::create_directory_symlink("code", odd);
  refused("it is a symbolic link, and its target is not a regular file");
  ASSERT_EQ(::mkfifo(odd.c_str(), 0600), 0);
  refused("it is neither a regular file nor a directory");
  const int server = ::socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
  odd.string().copy(address.sun_path, sizeof(address.sun_path) - 1);
  ASSERT_EQ(::bind(server, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  ::close(server);
  refused("it is neither a regular file nor a directory");
  EXPECT_TRUE(names_in_root().empty()) << "a failed save leaves nothing";
}

TEST_F(StorageTest, RefusesALinkLoop) {
  fs::create_symlink("odd", source.path() / "odd");
  EXPECT_NE(refusal().find("symbolic link"), std::string::npos);
}

TEST_F(StorageTest, ASourceThatDoesNotExistIsNotFound) {
  const auto saved = storage->save(source.path() / "typo", kUuid);
  EXPECT_EQ(saved.error().code(), ErrorCode::NotFound);
  EXPECT_NE(saved.error().message().find((source.path() / "typo").string()), std::string::npos);
}

TEST_F(StorageTest, WithoutSpaceItNamesThePathAndTheBytesAndLeavesNothing) {
  source.write("large.bin", std::string(1 << 20, 'x'));
  // A limit on the size of files stands in for a full disk: the write fails the same way.
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  auto* const handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit limit{.rlim_cur = 100'000, .rlim_max = before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &limit), 0);
  const auto saved = storage->save(source.path(), kUuid);
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  std::signal(SIGXFSZ, handler);

  ASSERT_FALSE(saved);
  EXPECT_EQ(saved.error().code(), ErrorCode::ResourceExhausted);
  EXPECT_NE(saved.error().message().find("/large.bin"), std::string::npos) << saved.error().message();
  EXPECT_NE(saved.error().message().find("the checkpoint has 1048590 bytes"), std::string::npos);
  EXPECT_TRUE(names_in_root().empty());
}

TEST_F(StorageTest, AStorageThatIsAFileIsAnError) {
  shared.write("ckpts", "");
  EXPECT_NE(refusal().find((shared.path() / "ckpts").string()), std::string::npos);
  EXPECT_FALSE(storage->list()) << "cannot read is not the same as empty";
  EXPECT_FALSE(storage->exists(kUuid));
}

TEST_F(StorageTest, ProbeLeavesNothingAndFindsAStorageThatCannotBeWritten) {
  EXPECT_TRUE(storage->probe());
  EXPECT_TRUE(names_in_root().empty());
  const auto probed = directory_storage("/proc/checkpoints")->probe();  // where not even root may write
  ASSERT_FALSE(probed);
  EXPECT_NE(probed.error().message().find("/proc/checkpoints"), std::string::npos);
}

TEST_F(StorageTest, AStoragePathThatLeavesHostPathThroughALinkIsRefused) {
  TemporaryDirectory secret;
  fs::create_directory_symlink(secret.path(), shared.path() / "link");
  config::CheckpointStorage config;
  config.type = "shared_fs";
  config.host_path = shared.path();
  config.storage_path = "link";
  const auto saved = (*open_storage(config))->save(source.path(), kUuid);
  ASSERT_FALSE(saved);
  EXPECT_EQ(saved.error().code(), ErrorCode::PermissionDenied);
  EXPECT_TRUE(fs::is_empty(secret.path()));
  config.storage_path = "inside/deep";
  EXPECT_TRUE((*open_storage(config))->save(source.path(), kUuid));
}

}  // namespace
}  // namespace det::checkpoint
