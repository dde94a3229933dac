#include "det/checkpoint/buckets/object_storage.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <ctime>
#include <filesystem>
#include <mutex>

#include "det/checkpoint/temporary_directory.h"

namespace det::checkpoint {
namespace {

namespace fs = std::filesystem;

const std::string kCheckpoint = "0e1f2a3b-0000-4000-8000-000000000001";

/// What a bucket holds, and when it stops to answer.
struct Bucket {
  std::map<std::string, std::string> objects;
  std::map<std::string, std::int64_t> changed;
  std::int64_t now = std::time(nullptr);
  std::int64_t sent = -1;  ///< by the last call that sends only changes; -1: none
  int changes = 0;
  int changes_max = 1'000'000;  ///< after so many, no call changes anything more: whoever called was killed
  std::mutex mutex;
};

/// A bucket in memory. What real services do with the same calls is tested against servers, in Python.
class BucketInMemory : public ObjectStore {
 public:
  explicit BucketInMemory(Bucket& bucket) : bucket_(bucket) {}

  std::string shown(const std::string& key) const override { return "memory://" + key; }
  void put(const std::string& key, int file, std::int64_t bytes, const std::string&) override {
    std::string content(static_cast<std::size_t>(bytes), '\0');
    if (::pread(file, content.data(), content.size(), 0) != bytes) throw_errno("read", errno);
    put(key, content);
  }
  void put(const std::string& key, std::string_view content) override {
    const auto lock = change(key);
    bucket_.objects[key] = content;
    bucket_.changed[key] = bucket_.now;
  }
  void put_changes(const std::string& key, int file, const std::vector<Segment>& segments,
                   const std::string& from, const std::string& sha256) override {
    std::int64_t bytes = 0, sent = 0;
    for (const auto& segment : segments) bytes += segment.bytes;
    put(key, file, bytes, sha256);
    for (const auto& segment : segments) {
      const auto at = static_cast<std::size_t>(segment.offset),
                 length = static_cast<std::size_t>(segment.bytes);
      if (segment.same && bucket_.objects.contains(from))
        bucket_.objects[key].replace(at, length, bucket_.objects[from].substr(at, length));
      else
        sent += segment.bytes;
    }
    bucket_.sent = sent;
  }
  void get(const std::string& key, const std::function<void()>& restart,
           const std::function<void(std::string_view)>& sink) override {
    std::string content;
    {
      const std::lock_guard lock(bucket_.mutex);
      if (!bucket_.objects.contains(key))
        throw Failure(Error(ErrorCode::NotFound, shown(key) + " not found"));
      content = bucket_.objects.at(key);
    }
    sink("half of an answer that broke off");
    restart();
    for (const char c : content) sink({&c, 1});
  }
  std::optional<ObjectInfo> find(const std::string& key) override {
    const std::lock_guard lock(bucket_.mutex);
    const auto found = bucket_.objects.find(key);
    if (found == bucket_.objects.end()) return std::nullopt;
    return ObjectInfo{key, static_cast<std::int64_t>(found->second.size()), bucket_.changed.at(key)};
  }
  std::vector<ObjectInfo> list(const std::string& prefix) override {
    const std::lock_guard lock(bucket_.mutex);
    std::vector<ObjectInfo> found;
    for (const auto& [key, content] : bucket_.objects)
      if (key.starts_with(prefix))
        found.push_back({key, static_cast<std::int64_t>(content.size()), bucket_.changed.at(key)});
    return found;
  }
  void remove(const std::string& key) override {
    const auto lock = change(key);
    bucket_.objects.erase(key);
  }

 private:
  std::unique_lock<std::mutex> change(const std::string& key) {
    std::unique_lock lock(bucket_.mutex);
    if (bucket_.changes >= bucket_.changes_max)
      throw Failure(Error(ErrorCode::Unavailable, "killed before it changed " + key));
    ++bucket_.changes;
    return lock;
  }

  Bucket& bucket_;
};

class ObjectStorageTest : public ::testing::Test {
 protected:
  ObjectStorageTest() : storage(std::make_unique<BucketInMemory>(bucket), "team/a/") {
    source.write("state-dict.pth", "weights");
    source.write("code/model_def.py", "print()");
    source.write("code/nested/empty.txt", "");
    fs::create_directories(source.path() / "hollow");
  }
  std::string key(const std::string& name) const { return "team/a/" + kCheckpoint + "/" + name; }
  std::string content() {
    std::string all;
    for (const auto& [name, text] : bucket.objects) all += name + "=" + text + "\n";
    return all;
  }

  Bucket bucket;
  TemporaryDirectory source;
  TemporaryDirectory target;
  ObjectStorage storage;
  const Resources expected = {{"code/", 0},   {"code/model_def.py", 7},     {"code/nested/", 0},
                              {"hollow/", 0}, {"code/nested/empty.txt", 0}, {"state-dict.pth", 7}};
};

TEST_F(ObjectStorageTest, SavesEachFileBelowPrefixAndUuidAndRestoresAllWithDirectories) {
  ASSERT_EQ(*storage.save(source.path(), kCheckpoint), expected);
  EXPECT_EQ(bucket.objects.at(key("code/model_def.py")), "print()");
  EXPECT_EQ(bucket.objects.size(), 4) << "three files and the manifest:\n" << content();
  EXPECT_EQ(*storage.restore(kCheckpoint, target.path()), expected);
  EXPECT_EQ(target.read("state-dict.pth"), "weights") << "an answer that broke off is begun anew";
  EXPECT_TRUE(fs::is_directory(target.path() / "hollow"));
  EXPECT_EQ(*storage.list(), std::vector{kCheckpoint});
  EXPECT_EQ(*storage.verify(kCheckpoint), expected);
  EXPECT_TRUE(storage.path(kCheckpoint).empty()) << "there is no place to read in";
}

TEST_F(ObjectStorageTest, ASaveSendsWhatHasChangedSinceTheLastOneAndEachIsWhole) {
  const auto second = "0e1f2a3b-0000-4000-8000-000000000002", third = "0e1f2a3b-0000-4000-8000-000000000003";
  std::string weights(static_cast<std::size_t>(4 * kPartBytes + 9), 'a');
  source.write("state-dict.pth", weights);
  ASSERT_TRUE(storage.save(source.path(), kCheckpoint));
  EXPECT_EQ(bucket.sent, -1) << "there is nothing to compare with";
  weights[static_cast<std::size_t>(kPartBytes)] = 'b';
  source.write("state-dict.pth", weights);
  ASSERT_TRUE(storage.save(source.path(), second));
  EXPECT_EQ(bucket.sent, kPartBytes);
  ASSERT_TRUE(storage.remove(kCheckpoint)) << "it does not need the one before";
  EXPECT_TRUE(storage.verify(second));
  EXPECT_EQ(bucket.objects.at(std::string("team/a/") + second + "/state-dict.pth"), weights);
  ASSERT_TRUE(storage.remove(second));
  ASSERT_TRUE(storage.save(source.path(), third)) << "what it could copy from is gone";
  EXPECT_EQ(bucket.sent, 4 * kPartBytes + 9);
  EXPECT_TRUE(storage.verify(third));
}

TEST_F(ObjectStorageTest, LargeFilesOfTheSameContentAreSentOnce) {
  const std::string weights(static_cast<std::size_t>(2 * kPartBytes), 'a');
  source.write("state-dict.pth", weights);
  source.write("state_dict.pth", weights);
  ASSERT_TRUE(storage.save(source.path(), kCheckpoint));
  EXPECT_EQ(bucket.sent, 0);
  EXPECT_EQ(bucket.objects.at(key("state_dict.pth")), weights);
  EXPECT_TRUE(storage.verify(kCheckpoint));
}

TEST_F(ObjectStorageTest, AKillAtAnyMomentOfASaveLeavesAllOrNothingAndTheNextSaveSucceeds) {
  ASSERT_TRUE(storage.save(source.path(), kCheckpoint));
  const int all = bucket.changes;
  ASSERT_EQ(all, 6) << "a mark, three files, the manifest, and the mark goes";
  for (int moment = 0; moment < all; ++moment) {
    bucket.objects.clear();
    bucket.changes = 0;
    bucket.changes_max = moment;
    EXPECT_FALSE(storage.save(source.path(), kCheckpoint));
    bucket.changes_max = 1'000'000;
    if (*storage.exists(kCheckpoint))
      EXPECT_TRUE(storage.verify(kCheckpoint)) << "moment " << moment;
    else
      EXPECT_EQ(storage.restore(kCheckpoint, target.path()).error().code(), ErrorCode::NotFound)
          << "moment " << moment;
    ASSERT_TRUE(storage.save(source.path(), kCheckpoint)) << "moment " << moment;
    EXPECT_TRUE(storage.verify(kCheckpoint));
  }
}

TEST_F(ObjectStorageTest, AKillAtAnyMomentOfARemovalLeavesAWholeCheckpointOrOneThatSweepAndRemoveFinish) {
  for (int moment = 0; moment < 6; ++moment) {
    bucket.objects.clear();
    ASSERT_TRUE(storage.save(source.path(), kCheckpoint));
    bucket.changes = 0;
    bucket.changes_max = moment;
    EXPECT_FALSE(storage.remove(kCheckpoint)) << "moment " << moment;
    bucket.changes_max = 1'000'000;
    if (*storage.exists(kCheckpoint)) {
      EXPECT_TRUE(storage.verify(kCheckpoint)) << "moment " << moment;
    } else if (moment % 2 == 0) {
      EXPECT_EQ(*storage.sweep(std::chrono::seconds(0)), 1) << "moment " << moment;
      EXPECT_TRUE(bucket.objects.empty()) << "moment " << moment << "\n" << content();
    }
    EXPECT_TRUE(storage.remove(kCheckpoint)) << "moment " << moment;
    EXPECT_TRUE(bucket.objects.empty()) << "moment " << moment << "\n" << content();
  }
}

TEST_F(ObjectStorageTest, DiscardingLeavesNothingOfACheckpointHoweverFarItsSaveCame) {
  for (int moment = 0; moment < 8; ++moment) {
    bucket.objects.clear();
    ASSERT_TRUE(storage.save(source.path(), "kept"));
    const auto kept = bucket.objects.size();
    bucket.changes = 0;
    bucket.changes_max = moment;
    const auto saved = storage.save(source.path(), kCheckpoint);
    bucket.changes_max = 1'000'000;
    EXPECT_TRUE(storage.discard(kCheckpoint)) << "moment " << moment;
    EXPECT_EQ(bucket.objects.size(), kept) << "moment " << moment << "\n" << content();
    EXPECT_TRUE(storage.exists("kept").value()) << "moment " << moment << (saved ? ", it was saved" : "");
  }
}

TEST_F(ObjectStorageTest, WhatIsBeingSavedIsNotSweptBeforeItHasRested) {
  bucket.changes_max = 3;
  ASSERT_FALSE(storage.save(source.path(), kCheckpoint));
  bucket.changes_max = 1'000'000;
  EXPECT_EQ(*storage.sweep(std::chrono::hours(1)), 0);
  EXPECT_EQ(bucket.objects.size(), 3);
  for (auto& [name, time] : bucket.changed) time -= 7200;
  EXPECT_EQ(*storage.sweep(std::chrono::hours(1)), 1);
  EXPECT_TRUE(bucket.objects.empty());
}

TEST_F(ObjectStorageTest, ObjectsOfAnotherProgramAreNeitherSweptNorRemovedNorTakenForACheckpoint) {
  bucket.objects[key("state-dict.pth")] = "of the original";
  bucket.changed[key("state-dict.pth")] = 0;
  EXPECT_EQ(*storage.sweep(std::chrono::seconds(0)), 0);
  EXPECT_TRUE(storage.remove(kCheckpoint));
  EXPECT_TRUE(storage.discard(kCheckpoint));
  EXPECT_FALSE(*storage.exists(kCheckpoint));
  EXPECT_TRUE(storage.list()->empty());
  EXPECT_EQ(storage.restore(kCheckpoint, target.path()).error().message(),
            "checkpoint " + kCheckpoint + ": memory://" + key(".det-manifest.json") +
                " is missing: the checkpoint is damaged");
  EXPECT_EQ(bucket.objects.size(), 1);
}

TEST_F(ObjectStorageTest, SavingTheSameTwiceSucceedsAndOtherContentIsRefused) {
  ASSERT_TRUE(storage.save(source.path(), kCheckpoint));
  EXPECT_TRUE(storage.save(source.path(), kCheckpoint));
  source.write("state-dict.pth", "others!");
  EXPECT_EQ(storage.save(source.path(), kCheckpoint).error().code(), ErrorCode::AlreadyExists);
  EXPECT_EQ(bucket.objects.at(key("state-dict.pth")), "weights");
}

TEST_F(ObjectStorageTest, RestoreNamesTheObjectThatChangedOrIsMissingAndLeavesNothing) {
  ASSERT_TRUE(storage.save(source.path(), kCheckpoint));
  const auto name = key("state-dict.pth");
  bucket.objects[name] = "weightS";
  const auto changed = storage.restore(kCheckpoint, target.path() / "new");
  EXPECT_EQ(changed.error().code(), ErrorCode::FailedPrecondition);
  EXPECT_NE(changed.error().message().find(name + " is damaged: its SHA-256 is"), std::string::npos);
  EXPECT_FALSE(fs::exists(target.path() / "new"));
  bucket.objects.erase(name);
  EXPECT_EQ(storage.verify(kCheckpoint).error().message(),
            "checkpoint " + kCheckpoint + ": memory://" + name + " is missing: the checkpoint is damaged");
}

TEST_F(ObjectStorageTest, ACheckpointOfTheOriginalIsRestoredAsItLies) {
  BucketInMemory original(bucket);
  original.put(key("metadata.json"), std::string_view("{}"));
  original.put(key("a/b/model.py"), std::string_view("pass"));
  EXPECT_TRUE(*storage.is_of_original(kCheckpoint));
  const auto restored = storage.restore(kCheckpoint, target.path() / "new");
  ASSERT_TRUE(restored) << restored.error().message();
  EXPECT_EQ(*restored, (Resources{{"a/", 0}, {"a/b/", 0}, {"a/b/model.py", 4}, {"metadata.json", 2}}));
  EXPECT_TRUE(fs::exists(target.path() / "new/a/b/model.py"));
  EXPECT_TRUE(storage.remove(kCheckpoint));
  EXPECT_EQ(bucket.objects.size(), 2u) << "nobody here deletes it";
}

TEST_F(ObjectStorageTest, WithoutSomeOfItsFilesACheckpointIsAWholeOneAgain) {
  ASSERT_TRUE(storage.save(source.path(), kCheckpoint));
  const auto left = storage.remove_files(kCheckpoint, {"state-dict.pth", "never there"});
  EXPECT_EQ(left->size(), expected.size() - 1);
  EXPECT_FALSE(bucket.objects.contains(key("state-dict.pth")));
  EXPECT_EQ(*storage.verify(kCheckpoint), *left);
}

TEST_F(ObjectStorageTest, AUuidCannotLeaveThePrefixNorAManifestTheDirectory) {
  for (const std::string bad : {"..", "a/b", "", ".det", "a b"})
    EXPECT_EQ(storage.remove(bad).error().code(), ErrorCode::InvalidArgument) << bad;
  bucket.objects[key(kManifestName)] =
      R"({"version":1,"files":{"../x":{"size":0,"sha256":""}},"directories":[]})";
  EXPECT_EQ(storage.restore(kCheckpoint, target.path()).error().code(), ErrorCode::FailedPrecondition);
}

TEST_F(ObjectStorageTest, ProbeLeavesNothing) {
  EXPECT_TRUE(storage.probe());
  EXPECT_TRUE(bucket.objects.empty());
  bucket.changes_max = 0;
  EXPECT_EQ(storage.probe().error().code(), ErrorCode::Unavailable);
}

TEST_F(ObjectStorageTest, LocalFilesAreACopyThatGoesWithItsObject) {
  ASSERT_TRUE(storage.save(source.path(), kCheckpoint));
  fs::path copy;
  {
    const auto files = LocalFiles::of(storage, kCheckpoint);
    ASSERT_TRUE(files) << files.error().message();
    copy = (*files)->path();
    EXPECT_TRUE(fs::exists(copy / "code/model_def.py"));
  }
  EXPECT_FALSE(fs::exists(copy));
  EXPECT_EQ(LocalFiles::of(storage, "unknown").error().code(), ErrorCode::NotFound);
}

}  // namespace
}  // namespace det::checkpoint
