#include "det/store/document.h"

#include <bit>
#include <cstring>
#include <unordered_map>

namespace det::store {

namespace {

constexpr char kFormat = 1;
constexpr int kDepthMax = 200;  // far above what the parsers of user input accept

enum Tag : unsigned char {
  kNull,
  kFalse,
  kTrue,
  kInteger,
  kUnsigned,
  kDouble,
  kFloat,
  kString,
  kArray,
  kObject
};

class Encoder {
 public:
  std::string take() { return std::move(out_); }

  void document(const json::value& value) {
    out_ += kFormat;
    encode(value);
  }

 private:
  void tag(Tag t) { out_ += static_cast<char>(t); }

  void varint(std::uint64_t number) {
    while (number >= 0x80) {
      out_ += static_cast<char>(number | 0x80);
      number >>= 7;
    }
    out_ += static_cast<char>(number);
  }

  void text(std::string_view bytes) {
    varint(bytes.size());
    out_ += bytes;
  }

  template <class Word>
  void word(Word bits) {
    for (std::size_t i = 0; i < sizeof bits; ++i) out_ += static_cast<char>(bits >> (8 * i));
  }

  void number(double value) {
    const auto narrow = static_cast<float>(value);
    if (std::bit_cast<std::uint64_t>(static_cast<double>(narrow)) == std::bit_cast<std::uint64_t>(value)) {
      tag(kFloat);
      word(std::bit_cast<std::uint32_t>(narrow));
    } else {
      tag(kDouble);
      word(std::bit_cast<std::uint64_t>(value));
    }
  }

  void name(std::string_view key) {
    const auto [found, is_new] = names_.try_emplace(key, names_.size() + 1);
    varint(is_new ? 0 : found->second);
    if (is_new) text(key);
  }

  void encode(const json::value& value) {
    switch (value.kind()) {
      case boost::json::kind::null: return tag(kNull);
      case boost::json::kind::bool_: return tag(value.get_bool() ? kTrue : kFalse);
      case boost::json::kind::int64: {
        tag(kInteger);
        const auto n = value.get_int64();
        return varint((static_cast<std::uint64_t>(n) << 1) ^ static_cast<std::uint64_t>(n >> 63));
      }
      case boost::json::kind::uint64: tag(kUnsigned); return varint(value.get_uint64());
      case boost::json::kind::double_: return number(value.get_double());
      case boost::json::kind::string: tag(kString); return text(value.get_string());
      case boost::json::kind::array:
        tag(kArray);
        varint(value.get_array().size());
        for (const auto& item : value.get_array()) encode(item);
        return;
      case boost::json::kind::object:
        tag(kObject);
        varint(value.get_object().size());
        for (const auto& [key, item] : value.get_object()) {
          name(key);
          encode(item);
        }
        return;
    }
  }

  std::string out_;
  std::unordered_map<std::string_view, std::uint64_t> names_;  // views into the value
};

class Decoder {
 public:
  explicit Decoder(std::string_view bytes) : rest_(bytes) {}

  json::value document() {
    if (byte() != kFormat) damaged("its format is unknown");
    auto value = decode(0);
    if (!rest_.empty()) damaged("bytes follow its end");
    return value;
  }

  void first_members(const std::function<void(std::string_view, json::value)>& member) {
    if (byte() != kFormat) damaged("its format is unknown");
    if (byte() != kArray || count() == 0 || byte() != kObject) return;
    const auto size = count();
    for (std::uint64_t i = 0; i < size; ++i) {
      const auto key = name();
      member(key, decode(2));
    }
  }

 private:
  [[noreturn]] static void damaged(const char* what) {
    throw DamagedDocument(fmt::format("a document in the database is damaged: {}", what));
  }

  unsigned char byte() { return static_cast<unsigned char>(take(1)[0]); }

  std::string_view take(std::uint64_t count) {
    if (count > rest_.size()) damaged("it ends too early");
    const auto bytes = rest_.substr(0, count);
    rest_.remove_prefix(count);
    return bytes;
  }

  std::uint64_t varint() {
    std::uint64_t number = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      const auto b = byte();
      number |= static_cast<std::uint64_t>(b & 0x7f) << shift;
      if (b < 0x80) return number;
    }
    damaged("a number is too long");
  }

  template <class Word>
  Word word() {
    const auto bytes = take(sizeof(Word));
    Word bits = 0;
    for (std::size_t i = 0; i < sizeof(Word); ++i)
      bits |= static_cast<Word>(static_cast<Word>(static_cast<unsigned char>(bytes[i])) << (8 * i));
    return bits;
  }

  // Every item takes a byte at least: a larger count must not make us reserve.
  std::uint64_t count() {
    const auto items = varint();
    if (items > rest_.size()) damaged("a count is too large");
    return items;
  }

  std::string_view name() {
    const auto number = varint();
    if (number == 0) return names_.emplace_back(take(varint()));
    if (number > names_.size()) damaged("a name is unknown");
    return names_[number - 1];
  }

  json::value decode(int depth) {
    if (depth > kDepthMax) damaged("it is nested too deeply");
    switch (byte()) {
      case kNull: return nullptr;
      case kFalse: return false;
      case kTrue: return true;
      case kInteger: {
        const auto n = varint();
        return static_cast<std::int64_t>(n >> 1) ^ -static_cast<std::int64_t>(n & 1);
      }
      case kUnsigned: return varint();
      case kDouble: return std::bit_cast<double>(word<std::uint64_t>());
      case kFloat: return static_cast<double>(std::bit_cast<float>(word<std::uint32_t>()));
      case kString: return boost::json::string(take(varint()));
      case kArray: {
        json::array items;
        const auto size = count();
        items.reserve(size);
        for (std::uint64_t i = 0; i < size; ++i) items.push_back(decode(depth + 1));
        return items;
      }
      case kObject: {
        json::object members;
        const auto size = count();
        members.reserve(size);
        for (std::uint64_t i = 0; i < size; ++i) {
          const auto key = name();
          members.insert_or_assign(key, decode(depth + 1));
        }
        return members;
      }
      default: damaged("a kind of value is unknown");
    }
  }

  std::string_view rest_;
  std::vector<std::string_view> names_;
};

}  // namespace

std::string encode_document(const json::value& value) {
  Encoder encoder;
  encoder.document(value);
  return encoder.take();
}

json::value decode_document(std::string_view bytes) {
  return Decoder(bytes).document();
}

void decode_first_members(std::string_view bytes,
                          const std::function<void(std::string_view, json::value)>& member) {
  Decoder(bytes).first_members(member);
}

bool same_document(const json::value& a, const json::value& b) {
  return encode_document(a) == encode_document(b);
}

}  // namespace det::store
