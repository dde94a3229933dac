#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "det/base/error.h"

namespace det::media {

enum class Kind { Image, Histogram, Text, Audio };

/// A value of an event: its kind and tag, and where its bytes are in those of the event.
struct Found {
  Kind kind{};
  std::string tag;
  std::size_t offset = 0, length = 0;
};

struct Event {
  double wall_time = 0;  ///< seconds since 1970
  std::int64_t step = 0;
  std::vector<Found> values;  ///< of the kinds above
};

/// An encoded image or sound, as it was written.
struct Encoded {
  std::string media_type;  ///< "image/png"; empty where the bytes are of no known format
  std::string bytes;
};

/// `counts[i]` values are between `edges[i]` and `edges[i + 1]`.
struct Histogram {
  std::vector<double> edges, counts;
};

/// What a value contains; by its kind, the other members are empty.
struct Content {
  std::vector<Encoded> encoded;  ///< images or sounds
  Histogram histogram;
  std::vector<std::string> text;  ///< Markdown, UTF-8
};

/// Reads a serialized `Event` of TensorFlow. Tags that are no UTF-8 are left out. Bytes that are no such
/// message: InvalidArgument.
Result<Event> read_event(std::string_view bytes);

/// Reads a serialized `Summary.Value` of this kind. Bytes that are no such message: InvalidArgument.
Result<Content> read_value(Kind kind, std::string_view bytes);

}  // namespace det::media
