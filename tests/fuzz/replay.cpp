// Plays a corpus and mutations of it, from a seed, where no libFuzzer is.
//   replay DIRECTORY        DET_SEED=n: the seed of the mutations; DET_RUNS=n: how many
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "det/base/random.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size);

namespace {

void play(const std::string& input) {
  LLVMFuzzerTestOneInput(reinterpret_cast<const unsigned char*>(input.data()), input.size());
}

std::size_t below(det::Random& random, std::size_t bound) {
  return static_cast<std::size_t>(random.below(static_cast<std::int64_t>(bound)));
}

std::string mutated(const std::vector<std::string>& corpus, det::Random& random) {
  auto input = corpus[below(random, corpus.size())];
  for (auto left = 1 + below(random, 8); left > 0; --left) {
    const auto at = below(random, input.size() + 1);
    switch (below(random, 5)) {
      case 0: input.insert(at, 1, static_cast<char>(below(random, 256))); break;
      case 1: input.erase(at, 1 + below(random, 16)); break;
      case 2:
        if (at < input.size()) input[at] = static_cast<char>(input[at] ^ (1 << below(random, 8)));
        break;
      case 3: input.insert(at, input.substr(below(random, input.size() + 1), below(random, 64))); break;
      default: {
        const auto& other = corpus[below(random, corpus.size())];
        input = input.substr(0, at) + other.substr(below(random, other.size() + 1));
      }
    }
  }
  return input;
}

std::uint32_t setting(const char* name, std::uint32_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : static_cast<std::uint32_t>(std::strtoul(text, nullptr, 10));
}

}  // namespace

int main(int count, char** arguments) {
  std::vector<std::string> corpus;
  for (const auto& entry : std::filesystem::directory_iterator(count > 1 ? arguments[1] : ".")) {
    std::ifstream file(entry.path(), std::ios::binary);
    corpus.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  }
  if (corpus.empty()) {
    std::fprintf(stderr, "no corpus in %s\n", count > 1 ? arguments[1] : ".");
    return 1;
  }
  for (const auto& input : corpus) play(input);
  const auto seed = setting("DET_SEED", 1);
  const auto runs = setting("DET_RUNS", 2000);
  std::printf("DET_SEED=%u, %u mutations of %zu inputs\n", seed, runs, corpus.size());
  std::fflush(stdout);
  det::Random random(seed);
  for (std::uint32_t run = 0; run < runs; ++run) play(mutated(corpus, random));
  return 0;
}
