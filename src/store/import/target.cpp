#include "det/store/import/target.h"

#include <chrono>

#include "det/store/postgres/leadership.h"
#include "det/store/postgres/postgres.h"

namespace det::store {

namespace {

constexpr std::size_t kChangesPerCommit = 4'000;
constexpr int kCommitsUnderWay = 6;
constexpr std::size_t kExamples = 5;
constexpr std::string_view kSqlitePlace = "sqlite:";
const std::string kSourceSetting = "import/source";

std::int64_t milliseconds() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

void add_note(std::vector<ImportNote>& notes, std::string_view what, const std::string& why,
              const std::string& example, std::int64_t count) {
  for (auto& note : notes) {
    if (note.what != what || note.why != why) continue;
    note.count += count;
    if (note.examples.size() < kExamples && !example.empty()) note.examples.push_back(example);
    return;
  }
  notes.push_back({std::string(what), why, count, {}});
  if (!example.empty()) notes.back().examples.push_back(example);
}

std::string setting_of(std::string_view kind, const std::string& id) {
  return fmt::format("import/{}/{}", kind, id);
}

}  // namespace

Result<std::unique_ptr<ImportTarget>> ImportTarget::open(const ImportOptions& options) {
  std::unique_ptr<Store> store;
  if (is_postgres_url(options.into)) {
    const auto give_up = once_another_leads();
    auto opened = open_postgres({.target = options.into,
                                 .holder = "det import-determined",
                                 .on_stall = options.on_stall,
                                 .give_up = give_up});
    if (!opened && opened.error().code() == ErrorCode::Unavailable && give_up())
      return failed_precondition("a master uses the database that is to be filled; stop all masters first");
    if (!opened) return tl::unexpected(std::move(opened).error());
    store = *std::move(opened);
  } else {
    const std::filesystem::path directory =
        options.into.starts_with(kSqlitePlace) ? options.into.substr(kSqlitePlace.size()) : options.into;
    DET_TRY(store, open_sqlite({.path = directory / "determined.db", .on_stall = options.on_stall}));
  }
  return std::unique_ptr<ImportTarget>(new ImportTarget(std::move(store), options));
}

ImportTarget::~ImportTarget() {
  store_.reset();  // whose writer tells us of the last commits
}

Result<void> ImportTarget::accept(const std::string& cluster_id) {
  if (const auto known = store_->setting(kSourceSetting)) {
    if (*known == cluster_id) return {};
    return failed_precondition(
        "'{}' was imported from cluster {}, but this is the database of cluster {}; import it into a new "
        "directory or database",
        options_.into, *known, cluster_id);
  }
  const auto users = store_->users();
  const bool untouched = store_->list_experiments({.page = {.limit = 1}}).total == 0 &&
                         store_->models().empty() && users.size() <= 2 && store_->workspaces().size() <= 1 &&
                         store_->projects().size() <= 1;
  if (!untouched)
    return failed_precondition(
        "'{}' has experiments, users or models of its own, whose ids would collide; import into a new "
        "directory "
        "or database",
        options_.into);
  if (!users.empty()) changed("users", "replaced those of the master that ran here before", "", 2);
  pending_.emplace_back(PutSetting{kSourceSetting, cluster_id});
  flush();
  return {};
}

std::optional<std::string> ImportTarget::mark(std::string_view kind, const std::string& id) {
  return store_->setting(setting_of(kind, id));
}

void ImportTarget::put(std::string_view kind, const std::string& id, const std::string& mark,
                       std::vector<Change> changes) {
  for (auto& change : changes) pending_.push_back(std::move(change));
  pending_.emplace_back(PutSetting{setting_of(kind, id), mark});
  if (pending_.size() >= kChangesPerCommit) commit();
}

void ImportTarget::add(Change change) {
  pending_.push_back(std::move(change));
  if (pending_.size() >= kChangesPerCommit) commit();
}

void ImportTarget::commit() {
  if (pending_.empty()) return;
  {
    std::unique_lock lock(mutex_);
    stored_.wait(lock, [&] { return under_way_ < kCommitsUnderWay; });
    ++under_way_;
  }
  store_->commit(std::exchange(pending_, {}), [this] {
    const std::lock_guard lock(mutex_);
    --under_way_;
    stored_.notify_one();
  });
}

void ImportTarget::flush() {
  commit();
  store_->flush();
}

void ImportTarget::analyze() {
  if (is_postgres_url(options_.into))
    PostgresConnection(options_.into, PostgresConnection::Mode::Write).execute("ANALYZE");
}

ImportCount& ImportTarget::counts_of(std::string_view what) {
  for (auto& count : counts_)
    if (count.what == what) return count;
  return counts_.emplace_back(ImportCount{std::string(what)});
}

void ImportTarget::left_out(std::string_view what, const std::string& why, const std::string& example,
                            std::int64_t count) {
  if (count == 0) return;
  counts_of(what).left_out += count;
  add_note(left_out_, what, why, example, count);
}

void ImportTarget::changed(std::string_view what, const std::string& why, const std::string& example,
                           std::int64_t count) {
  add_note(changed_, what, why, example, count);
}

void ImportTarget::progress(std::string_view what, std::int64_t done, std::int64_t all) {
  if (!options_.progress) return;
  const auto now = milliseconds();
  if (now - last_told_ < 200 && done < all) return;
  last_told_ = now;
  options_.progress(what, done, all);
}

void ImportTarget::tell(ImportReport& report) const {
  report.counts = counts_;
  report.left_out = left_out_;
  report.changed = changed_;
}

}  // namespace det::store
