// The messages Event, Summary, HistogramProto and TensorProto of TensorFlow, by the numbers of their fields:
// tensorflow/core/util/event.proto, tensorflow/core/framework/{summary,histogram,tensor}.proto.

#include "det/media/media_values.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <optional>
#include <protozero/exception.hpp>

// A field of another type than expected is an error of the file, as broken bytes are.
#define protozero_assert(condition) \
  if (!(condition)) throw protozero::unknown_pbf_wire_type_exception()
#include <protozero/pbf_reader.hpp>

#include "det/base/text.h"

namespace det::media {

namespace {

using protozero::pbf_reader;

std::string_view view_of(const protozero::data_view& data) {
  return {data.data(), data.size()};
}
pbf_reader reader_of(std::string_view bytes) {
  return {bytes.data(), bytes.size()};
}

/// Summary.Value
namespace value {
constexpr std::uint32_t kTag = 1, kImage = 4, kHistogram = 5, kAudio = 6, kTensor = 8, kMetadata = 9;
}

std::optional<Kind> kind_of_plugin(std::string_view name) {
  if (name == "images") return Kind::Image;
  if (name == "histograms") return Kind::Histogram;
  if (name == "text") return Kind::Text;
  if (name == "audio") return Kind::Audio;
  return std::nullopt;
}

/// SummaryMetadata.plugin_data.plugin_name
std::string_view plugin_of(std::string_view metadata) {
  auto reader = reader_of(metadata);
  while (reader.next(1)) {
    auto plugin = reader.get_message();
    while (plugin.next(1)) return view_of(plugin.get_view());
  }
  return {};
}

std::optional<Found> find_value(std::string_view bytes) {
  Found found{.length = bytes.size()};
  std::optional<Kind> kind, of_plugin;
  bool tensor = false;
  for (auto reader = reader_of(bytes); reader.next();) switch (reader.tag()) {
      case value::kTag: found.tag = view_of(reader.get_view()); break;
      case value::kImage: kind = Kind::Image, reader.skip(); break;
      case value::kHistogram: kind = Kind::Histogram, reader.skip(); break;
      case value::kAudio: kind = Kind::Audio, reader.skip(); break;
      case value::kTensor: tensor = true, reader.skip(); break;
      case value::kMetadata: of_plugin = kind_of_plugin(plugin_of(view_of(reader.get_view()))); break;
      default: reader.skip();
    }
  if (!kind && tensor) kind = of_plugin;
  if (!kind || !is_utf8(found.tag)) return std::nullopt;
  found.kind = *kind;
  return found;
}

std::string media_type_of(std::string_view bytes) {
  const auto begins = [&](std::string_view magic, std::size_t at = 0) {
    return bytes.size() >= at + magic.size() && bytes.substr(at, magic.size()) == magic;
  };
  if (begins("\x89PNG\r\n\x1a\n")) return "image/png";
  if (begins("\xff\xd8\xff")) return "image/jpeg";
  if (begins("GIF87a") || begins("GIF89a")) return "image/gif";
  if (begins("RIFF") && begins("WEBP", 8)) return "image/webp";
  if (begins("RIFF") && begins("WAVE", 8)) return "audio/wav";
  return {};
}

Encoded encoded(std::string_view bytes) {
  return {media_type_of(bytes), std::string(bytes)};
}

/// Summary.Image or Summary.Audio
Encoded encoded_in(pbf_reader message) {
  constexpr std::uint32_t kBytes = 4;
  std::string_view bytes;
  while (message.next(kBytes)) bytes = view_of(message.get_view());
  return encoded(bytes);
}

std::vector<double> doubles(pbf_reader& reader) {
  if (reader.wire_type() == protozero::pbf_wire_type::length_delimited) {
    const auto packed = reader.get_packed_double();
    return {packed.begin(), packed.end()};
  }
  return {reader.get_double()};
}

void append(std::vector<double>& to, const std::vector<double>& more) {
  to.insert(to.end(), more.begin(), more.end());
}

/// Without the empty buckets at both ends: TensorFlow's go from -1.8e308 to 1.8e308.
Histogram trimmed(Histogram whole) {
  auto& [edges, counts] = whole;
  const auto filled = [](double count) { return count > 0; };
  const auto last = std::find_if(counts.rbegin(), counts.rend(), filled).base();
  edges.resize(static_cast<std::size_t>(last - counts.begin()) + 1);
  counts.erase(last, counts.end());
  const auto first = std::find_if(counts.begin(), counts.end(), filled) - counts.begin();
  edges.erase(edges.begin(), edges.begin() + first);
  counts.erase(counts.begin(), counts.begin() + first);
  return whole;
}

/// HistogramProto: each bucket has its right edge; the smallest and the largest value bound the outer ones.
Histogram histogram_of(pbf_reader message) {
  double least = 0, most = 0;
  std::vector<double> limits, counts;
  while (message.next()) switch (message.tag()) {
      case 1: least = message.get_double(); break;
      case 2: most = message.get_double(); break;
      case 6: append(limits, doubles(message)); break;
      case 7: append(counts, doubles(message)); break;
      default: message.skip();
    }
  if (limits.empty() || limits.size() != counts.size()) return {};
  Histogram whole{{std::min(least, limits.front())}, std::move(counts)};
  append(whole.edges, limits);
  whole = trimmed(std::move(whole));
  for (auto& edge : whole.edges) edge = std::clamp(edge, std::min(least, most), std::max(least, most));
  return whole;
}

struct Tensor {
  std::vector<std::string_view> strings;
  std::vector<double> numbers;  ///< of a tensor of floats or doubles
};

template <typename Number>
std::vector<double> numbers_in(std::string_view content) {
  std::vector<double> numbers(content.size() / sizeof(Number));
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    Number one;
    std::memcpy(&one, content.data() + i * sizeof(Number), sizeof one);
    numbers[i] = one;
  }
  return numbers;
}

Tensor tensor_of(pbf_reader message) {
  static_assert(std::endian::native == std::endian::little);
  constexpr int kFloat = 1, kDouble = 2;
  Tensor tensor;
  int type = 0;
  std::string_view content;
  while (message.next()) switch (message.tag()) {
      case 1: type = message.get_enum(); break;
      case 4: content = view_of(message.get_view()); break;
      case 5: {
        const auto packed = message.get_packed_float();
        tensor.numbers.assign(packed.begin(), packed.end());
        break;
      }
      case 6: append(tensor.numbers, doubles(message)); break;
      case 8: tensor.strings.push_back(view_of(message.get_view())); break;
      default: message.skip();
    }
  if (!content.empty() && type == kDouble) tensor.numbers = numbers_in<double>(content);
  if (!content.empty() && type == kFloat) tensor.numbers = numbers_in<float>(content);
  return tensor;
}

/// A row per bucket: left edge, right edge, count.
Histogram histogram_of(const std::vector<double>& rows) {
  Histogram whole;
  for (std::size_t i = 0; i + 2 < rows.size(); i += 3) {
    if (whole.edges.empty()) whole.edges.push_back(rows[i]);
    whole.edges.push_back(rows[i + 1]);
    whole.counts.push_back(rows[i + 2]);
  }
  return whole.counts.empty() ? whole : trimmed(std::move(whole));
}

Content content_of(Kind kind, const Tensor& tensor) {
  Content content;
  switch (kind) {
    case Kind::Image:  // width and height come first
      for (std::size_t i = 2; i < tensor.strings.size(); ++i)
        content.encoded.push_back(encoded(tensor.strings[i]));
      break;
    case Kind::Audio:  // pairs of a sound and its label
      for (std::size_t i = 0; i < tensor.strings.size(); i += 2)
        content.encoded.push_back(encoded(tensor.strings[i]));
      break;
    case Kind::Histogram: content.histogram = histogram_of(tensor.numbers); break;
    case Kind::Text:
      for (const auto& text : tensor.strings)
        if (is_utf8(text)) content.text.emplace_back(text);
      break;
  }
  return content;
}

Content content_of(Kind kind, std::string_view bytes) {
  Content content;
  for (auto reader = reader_of(bytes); reader.next();) switch (reader.tag()) {
      case value::kImage:
      case value::kAudio: content.encoded = {encoded_in(reader.get_message())}; break;
      case value::kHistogram: content.histogram = histogram_of(reader.get_message()); break;
      case value::kTensor: content = content_of(kind, tensor_of(reader.get_message())); break;
      default: reader.skip();
    }
  return content;
}

}  // namespace

Result<Event> read_event(std::string_view bytes) try {
  constexpr std::uint32_t kWallTime = 1, kStep = 2, kSummary = 5;
  Event event;
  for (auto reader = reader_of(bytes); reader.next();) switch (reader.tag()) {
      case kWallTime: event.wall_time = reader.get_double(); break;
      case kStep: event.step = reader.get_int64(); break;
      case kSummary: {
        auto summary = reader.get_message();
        while (summary.next(1)) {
          const auto one = view_of(summary.get_view());
          if (auto found = find_value(one)) {
            found->offset = static_cast<std::size_t>(one.data() - bytes.data());
            event.values.push_back(*std::move(found));
          }
        }
        break;
      }
      default: reader.skip();
    }
  return event;
} catch (const protozero::exception& wrong) {
  return invalid_argument("not an event of TensorBoard: {}", wrong.what());
}

Result<Content> read_value(Kind kind, std::string_view bytes) try {
  return content_of(kind, bytes);
} catch (const protozero::exception& wrong) {
  return invalid_argument("not a value of TensorBoard: {}", wrong.what());
}

}  // namespace det::media
