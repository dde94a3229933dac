// Images, histograms, text and audio that trials wrote into their event files.

#include <limits>

#include "det/base/text.h"
#include "det/config/experiment_config.h"
#include "det/master/media/trial_media.h"
#include "det/master/services.h"

namespace det::master {
namespace {

using http::Context;
using http::Doc;
using http::Verb;

constexpr std::int32_t kValuesMax = 200;
constexpr std::size_t kBytesMax =
    32 << 20;  ///< of encoded images and sounds in a reply; the first is always sent

/// media::Kind, as on the wire.
enum class MediaKind { image, histogram, text, audio };
BOOST_DESCRIBE_ENUM(MediaKind, image, histogram, text, audio)

struct OfTrial {
  TrialId trial_id;
};
BOOST_DESCRIBE_STRUCT(OfTrial, (), (trial_id))
struct MediaTag {
  MediaKind kind{};
  std::string tag;
  std::vector<std::int64_t> steps;
};
BOOST_DESCRIBE_STRUCT(MediaTag, (), (kind, tag, steps))
struct MediaTagsReply {
  std::vector<MediaTag> tags;
};
BOOST_DESCRIBE_STRUCT(MediaTagsReply, (), (tags))

struct MediaQuery {
  TrialId trial_id;
  MediaKind kind{};
  std::string tag;
  std::optional<std::int64_t> step;
  std::int32_t limit = 1;
  static bool required(std::string_view name) { return name == "kind" || name == "tag"; }
};
BOOST_DESCRIBE_STRUCT(MediaQuery, (), (trial_id, kind, tag, step, limit))
/// An image or a sound.
struct MediaFile {
  std::string media_type;  ///< such as image/png; empty: of no known format
  std::string data;        ///< base64
};
BOOST_DESCRIBE_STRUCT(MediaFile, (), (media_type, data))
struct MediaHistogram {
  std::vector<double> edges, counts;
};
BOOST_DESCRIBE_STRUCT(MediaHistogram, (), (edges, counts))
struct MediaValue {
  std::int64_t step = 0;
  Time report_time;
  std::vector<MediaFile> files;
  std::optional<MediaHistogram> histogram;
  std::vector<std::string> texts;  ///< Markdown
};
BOOST_DESCRIBE_STRUCT(MediaValue, (), (step, report_time, files, histogram, texts))
struct MediaValuesReply {
  std::vector<MediaValue> values;
};
BOOST_DESCRIBE_STRUCT(MediaValuesReply, (), (values))

/// Reads the store and the event files: on the pool.
Result<std::shared_ptr<TrialMedia>> media_of(Services& s, MediaShelf& shelf, TrialId id) {
  return shelf.of(id, [&]() -> Result<std::unique_ptr<checkpoint::EventFiles>> {
    const auto trial = s.store.trial(id);
    const auto experiment = trial ? s.store.experiment(trial->experiment_id) : std::nullopt;
    if (!experiment) return not_found("trial '{}' not found", id);
    DET_TRY(const auto config, config::from_document(experiment->config));
    return checkpoint::open_event_files(config.checkpoint_storage, s.store.setting("cluster_id").value(),
                                        trial->experiment_id.value(), id.value());
  });
}

Result<MediaTagsReply> tags_of(Services& s, MediaShelf& shelf, TrialId id) {
  DET_TRY(const auto media, media_of(s, shelf, id));
  DET_TRY(auto tags, media->tags());
  MediaTagsReply reply;
  for (auto& one : tags)
    reply.tags.push_back({static_cast<MediaKind>(one.kind), std::move(one.name), std::move(one.steps)});
  return reply;
}

MediaValue shown(media::Kind kind, TrialMedia::Value value) {
  MediaValue one{.step = value.step, .report_time = {static_cast<std::int64_t>(value.wall_time * 1e6)}};
  for (const auto& [type, bytes] : value.content.encoded) one.files.push_back({type, base64_encode(bytes)});
  if (kind == media::Kind::Histogram)
    one.histogram = {std::move(value.content.histogram.edges), std::move(value.content.histogram.counts)};
  one.texts = std::move(value.content.text);
  return one;
}

Result<MediaValuesReply> values_of(Services& s, MediaShelf& shelf, const MediaQuery& q) {
  if (q.limit < 1 || q.limit > kValuesMax)
    return invalid_argument("limit is {}; it must be from 1 to {}", q.limit, kValuesMax);
  DET_TRY(const auto media, media_of(s, shelf, q.trial_id));
  const auto kind = static_cast<media::Kind>(q.kind);
  constexpr auto kLast = std::numeric_limits<std::int64_t>::max();
  DET_TRY(auto values, media->values(kind, q.tag, q.step.value_or(kLast), static_cast<std::size_t>(q.limit)));
  MediaValuesReply reply;
  std::size_t bytes = 0;
  for (auto& value : values) {
    for (const auto& file : value.content.encoded) bytes += file.bytes.size();
    if (bytes > kBytesMax && !reply.values.empty()) break;
    reply.values.push_back(shown(kind, std::move(value)));
  }
  return reply;
}

}  // namespace

void add_media_routes(http::Router& router, Services& s) {
  const std::string tag = "Trials";
  const std::vector<ErrorCode> errors = {ErrorCode::NotFound, ErrorCode::Unimplemented,
                                         ErrorCode::Unavailable};
  auto shelf = std::make_shared<MediaShelf>();
  router.add<OfTrial, MediaTagsReply>(
      Verb::Get, "/api/v1/trials/{trialId}/media",
      [&s, shelf](Context, OfTrial q) -> asio::awaitable<Result<MediaTagsReply>> {
        auto read = [&s, shelf, id = q.trial_id] { return tags_of(s, *shelf, id); };
        co_return co_await offload(s, std::move(read));
      },
      Doc{.summary =
              "List the tags of images, histograms, text and audio in the TensorBoard files of a trial, with "
              "the steps that can be read",
          .tag = tag,
          .errors = errors});
  router.add<MediaQuery, MediaValuesReply>(
      Verb::Get, "/api/v1/trials/{trialId}/media/values",
      [&s, shelf](Context, MediaQuery q) -> asio::awaitable<Result<MediaValuesReply>> {
        auto read = [&s, shelf, q = std::move(q)] { return values_of(s, *shelf, q); };
        co_return co_await offload(s, std::move(read));
      },
      Doc{.summary = "Get images, histograms, text or audio of a tag in the TensorBoard files of a trial",
          .tag = tag,
          .errors = errors});
}

}  // namespace det::master
