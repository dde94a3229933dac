#include "det/trial/memory.h"

#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <vector>

namespace det::trial {
namespace {

namespace fs = std::filesystem;

struct Group {
  std::string limit, used, stat;
};

struct Case {
  const char* name;
  const char* meminfo;  ///< null: there is no such file
  std::vector<Group> groups;
  std::optional<std::int64_t> expected;
};

class AvailableMemory : public ::testing::TestWithParam<Case> {
 protected:
  AvailableMemory() : root(fs::path(::testing::TempDir()) / "available-memory") { fs::remove_all(root); }
  ~AvailableMemory() override { fs::remove_all(root); }
  void write(const fs::path& name, const std::string& text) const {
    fs::create_directories((root / name).parent_path());
    std::ofstream(root / name) << text << '\n';
  }
  fs::path root;
};

TEST_P(AvailableMemory, IsTheLeastOfMachineAndGroups) {
  const auto& [name, meminfo, groups, expected] = GetParam();
  if (meminfo != nullptr) write("proc/meminfo", meminfo);
  std::string own = "0::";
  fs::path below = "groups";
  for (std::size_t i = 0; i < groups.size(); ++i) {
    if (i > 0) {
      own += "/part" + std::to_string(i);
      below /= "part" + std::to_string(i);
    }
    write(below / "memory.max", groups[i].limit);
    write(below / "memory.current", groups[i].used);
    write(below / "memory.stat", groups[i].stat);
  }
  write("proc/self/cgroup", "1:name=old:/x\n" + (groups.size() < 2 ? "0::/" : own));
  EXPECT_EQ(available_memory({.proc = root / "proc", .groups = root / "groups"}), expected);
}

constexpr const char* kMachine = "MemTotal:       9000 kB\nMemFree:         100 kB\nMemAvailable:    2000 kB";
const Group kNoLimit{"max", "500", ""};

// clang-format off
INSTANTIATE_TEST_SUITE_P(Where, AvailableMemory, ::testing::Values(
  Case{"nothing_is_said",            nullptr,  {},                                                             std::nullopt},
  Case{"only_the_machine",           kMachine, {},                                                             2'048'000},
  Case{"no_limit",                   kMachine, {kNoLimit},                                                     2'048'000},
  Case{"a_limit",                    kMachine, {{"1000", "400", ""}},                                          600},
  Case{"a_limit_above_the_machine",  kMachine, {{"9000000", "400", ""}},                                       2'048'000},
  Case{"caches_are_free",            kMachine, {{"1000", "400", "anon 300\ninactive_file 60\nactive_file 30"}}, 690},
  Case{"more_used_than_allowed",     kMachine, {{"1000", "1200", ""}},                                         0},
  Case{"the_inner_group_has_less",   kMachine, {kNoLimit, {"5000", "0", ""}, {"900", "100", ""}},              800},
  Case{"an_outer_group_has_less",    kMachine, {kNoLimit, {"500", "100", ""}, {"900", "100", ""}},             400},
  Case{"without_meminfo",            nullptr,  {kNoLimit, {"500", "100", ""}},                                 400}),
  [](const auto& info) { return std::string(info.param.name); });
// clang-format on

TEST(AvailableMemoryHere, IsSomething) {
  const auto here = available_memory();
  ASSERT_TRUE(here);
  EXPECT_GT(*here, 0);
}

}  // namespace
}  // namespace det::trial
