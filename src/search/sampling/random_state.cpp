#include "det/search/sampling/random_state.h"

#include <charconv>

namespace det::search {

namespace {

constexpr std::size_t kDigitsPerWord = 8;

struct Saved {
  int position = -1;
  std::string words;
};
BOOST_DESCRIBE_STRUCT(Saved, (), (position, words))

}  // namespace

json::value random_to_json(const Random& random) {
  constexpr char kDigits[] = "0123456789abcdef";
  const auto& state = random.state();
  Saved saved{.position = state.position, .words = {}};
  saved.words.reserve(state.words.size() * kDigitsPerWord);
  for (const auto word : state.words)
    for (int shift = 28; shift >= 0; shift -= 4) saved.words += kDigits[(word >> shift) & 0xf];
  return json::to_json(saved);
}

Result<Random> random_from_json(const json::value& json) {
  DET_TRY(const auto saved, json::from_json<Saved>(json));
  Random::State state;
  if (saved.position < 0 || saved.position > Random::kWords)
    return invalid_argument("position is {}; must be from 0 to {}", saved.position, Random::kWords);
  if (saved.words.size() != state.words.size() * kDigitsPerWord)
    return invalid_argument("words has {} digits; must have {}", saved.words.size(),
                            state.words.size() * kDigitsPerWord);
  for (std::size_t i = 0; i < state.words.size(); ++i) {
    const char* first = saved.words.data() + i * kDigitsPerWord;
    const auto [at, failure] = std::from_chars(first, first + kDigitsPerWord, state.words[i], 16);
    if (failure != std::errc{} || at != first + kDigitsPerWord)
      return invalid_argument("words has other characters than hexadecimal digits at {}", i * kDigitsPerWord);
  }
  state.position = saved.position;
  return Random(state);
}

}  // namespace det::search
