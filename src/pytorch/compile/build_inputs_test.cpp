#include "det/pytorch/compile/build_inputs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

namespace det::pytorch {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

void write(const fs::path& path, const std::string& text) {
  fs::create_directories(path.parent_path());
  std::ofstream(path) << text;
}

fs::path new_directory() {
  std::string name = (fs::temp_directory_path() / "det-inputs-XXXXXX").string();
  return ::mkdtemp(name.data());
}

struct BuildInputsTest : ::testing::Test {
  BuildInputsTest() {
    write(model / "model_def.cpp", "#include \"deep/layers.values\"\n");
    write(model / "deep/layer.h", "struct Layer {};");
    write(model / "deep/layers.values", "1");
    write(model / "const.yaml", "name: a");
  }
  ~BuildInputsTest() override { fs::remove_all(place); }
  BuildInputs inputs(const std::string& identity = "clang") const {
    return {model, place / "notes", identity};
  }

  const fs::path place = new_directory();
  const fs::path model = place / "model";
};

TEST(Prerequisites, AreTheNamesBehindTheColonAsMakeReadsThem) {
  EXPECT_THAT(prerequisites("a.o: a.cpp b\\ c.h \\\n  d$$.h\n"), ElementsAre("a.cpp", "b c.h", "d$.h"));
  EXPECT_THAT(prerequisites("dir/a.o : x.h"), ElementsAre("x.h"));
  EXPECT_THAT(prerequisites(""), IsEmpty());
}

TEST_F(BuildInputsTest, NameSourcesAndHeadersInEveryFolderAndNothingElse) {
  const auto before = inputs().digest();
  write(model / "const.yaml", "name: b");
  write(model / "deep/layers.values", "2");
  EXPECT_EQ(inputs().digest(), before);
  EXPECT_NE(inputs("gcc").digest(), before);
  write(model / "deep/layer.h", "struct Layer { int size; };");
  EXPECT_NE(inputs().digest(), before);
}

TEST_F(BuildInputsTest, NameEverythingThatCMakeMayReadButConfigurations) {
  const auto all = [&] {
    return BuildInputs(model, place / "notes", "clang", BuildInputs::Reads::Everything).digest();
  };
  const auto before = all();
  write(model / "const.yaml", "name: b");
  EXPECT_EQ(all(), before);
  write(model / "version.txt", "2");
  EXPECT_NE(all(), before);
}

TEST_F(BuildInputsTest, NameWhatTheCompilerHasReadOnceItIsNoted) {
  const auto scratch = place / "scratch";
  write(scratch / "build/1.d", "model.so: model_def.cpp deep/layer.h /usr/include/stdio.h \\\n " +
                                   (model / "deep/../deep/layers.values").string() +
                                   " ../scratch/build/1.d gone.h\n");
  auto first = inputs();
  const auto unnoted = first.digest();
  first.note_read(scratch);
  const auto one = first.digest();
  EXPECT_NE(one, unnoted);
  EXPECT_EQ(inputs().digest(), one) << "the next build of the same";
  write(model / "deep/layers.values", "2");
  const auto two = inputs().digest();
  EXPECT_NE(two, one);
  EXPECT_EQ(inputs().sources_digest(), first.sources_digest());
  write(model / "deep/layers.values", "1");
  EXPECT_EQ(inputs().digest(), one);
  fs::remove(model / "deep/layers.values");
  EXPECT_NE(inputs().digest(), one);
}

}  // namespace
}  // namespace det::pytorch
