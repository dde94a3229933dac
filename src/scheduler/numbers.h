#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace det::scheduler {

/// A set of small numbers, as bits: changing it and finding the next member cost a few instructions. Above
/// the bits lie others that say which words have any, so that long gaps are skipped.
class Numbers {
 public:
  static constexpr std::size_t kNone = SIZE_MAX;

  void insert(std::size_t number) {
    const auto word = number / kBits;
    if (word >= words_.size()) {
      words_.resize(word + 1);
      tops_.resize(word / kBits + 1);
    }
    if (!(words_[word] & bit(number))) ++size_;
    words_[word] |= bit(number);
    tops_[word / kBits] |= bit(word);
  }

  void erase(std::size_t number) {
    const auto word = number / kBits;
    if (word >= words_.size() || !(words_[word] & bit(number))) return;
    --size_;
    words_[word] &= ~bit(number);
    if (words_[word] == 0) tops_[word / kBits] &= ~bit(word);
  }

  bool empty() const { return size_ == 0; }
  std::size_t size() const { return size_; }

  /// The smallest member that is not below `from`; kNone if there is none.
  std::size_t next(std::size_t from) const {
    auto word = from / kBits;
    if (word >= words_.size()) return kNone;
    if (const auto rest = words_[word] >> from % kBits) return from + lowest(rest);
    if (++word >= words_.size()) return kNone;
    auto top = word / kBits;
    auto rest = tops_[top] >> word % kBits << word % kBits;
    while (rest == 0) {
      if (++top == tops_.size()) return kNone;
      rest = tops_[top];
    }
    word = top * kBits + lowest(rest);
    return word * kBits + lowest(words_[word]);
  }

  /// The smallest member that `pleases`; kNone if there is none.
  template <class Predicate>
  std::size_t first(Predicate pleases) const {
    for (auto number = next(0); number != kNone; number = next(number + 1))
      if (pleases(number)) return number;
    return kNone;
  }

 private:
  static constexpr std::size_t kBits = 64;
  static std::uint64_t bit(std::size_t number) { return std::uint64_t{1} << number % kBits; }
  static std::size_t lowest(std::uint64_t bits) { return static_cast<std::size_t>(std::countr_zero(bits)); }

  std::vector<std::uint64_t> words_, tops_;  // bit i of tops_[j]: whether words_[64 j + i] has any
  std::size_t size_ = 0;
};

}  // namespace det::scheduler
