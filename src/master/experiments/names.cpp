#include "det/master/experiments/names.h"

#include <fmt/format.h>
#include <sodium.h>

#include <array>

namespace det::master {
namespace {

constexpr std::array kManners = {"calm",  "bold",  "brisk", "clever", "eager", "fair",  "gentle", "happy",
                                 "keen",  "light", "merry", "neat",   "proud", "quick", "quiet",  "rapid",
                                 "sharp", "sunny", "swift", "tidy",   "vivid", "warm",  "wise",   "young"};
constexpr std::array kColours = {"amber", "azure", "black", "blue",  "bronze", "copper", "coral", "cyan",
                                 "gold",  "green", "grey",  "ivory", "jade",   "lilac",  "olive", "pearl",
                                 "pink",  "plum",  "red",   "ruby",  "silver", "teal",   "white", "yellow"};
constexpr std::array kAnimals = {"badger", "bison", "crane", "deer",  "falcon", "finch", "fox",    "gecko",
                                 "hare",   "heron", "ibis",  "koala", "lark",   "lynx",  "marten", "newt",
                                 "orca",   "otter", "owl",   "raven", "seal",   "swan",  "tern",   "wren"};

template <std::size_t N>
const char* pick(const std::array<const char*, N>& words) {
  return words[randombytes_uniform(N)];
}

}  // namespace

std::string pet_name() {
  return fmt::format("{}-{}-{}", pick(kManners), pick(kColours), pick(kAnimals));
}

}  // namespace det::master
