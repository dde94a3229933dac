#pragma once

#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "det/store/import/import.h"
#include "det/store/store.h"

namespace det::store {

/// Where an import goes: gathers changes into commits, and keeps count.
///
/// What was imported has a mark, in the same commit: a digest of the rows that it was made of. A repeated
/// import thereby knows what has not changed, and continues where an interrupted one stopped.
class ImportTarget {
 public:
  static Result<std::unique_ptr<ImportTarget>> open(const ImportOptions& options);
  ~ImportTarget();

  Store& store() { return *store_; }
  /// FailedPrecondition: it has things of its own, or of another cluster.
  Result<void> accept(const std::string& cluster_id);

  std::optional<std::string> mark(std::string_view kind, const std::string& id);
  /// These changes belong together, and the mark to them. Waits where too many are under way.
  void put(std::string_view kind, const std::string& id, const std::string& mark,
           std::vector<Change> changes);
  /// Changes without a mark, which may be stored earlier than what follows.
  void add(Change change);
  void flush();
  /// At the end: what PostgreSQL plans queries from is of before.
  void analyze();

  void imported(std::string_view what, std::int64_t count = 1) { counts_of(what).imported += count; }
  void unchanged(std::string_view what, std::int64_t count = 1) { counts_of(what).unchanged += count; }
  void left_out(std::string_view what, const std::string& why, const std::string& example,
                std::int64_t count = 1);
  void changed(std::string_view what, const std::string& why, const std::string& example,
               std::int64_t count = 1);
  void progress(std::string_view what, std::int64_t done, std::int64_t all);
  void tell(ImportReport& report) const;

 private:
  ImportTarget(std::unique_ptr<Store> store, const ImportOptions& options)
      : store_(std::move(store)), options_(options) {}
  void commit();
  ImportCount& counts_of(std::string_view what);

  std::unique_ptr<Store> store_;
  const ImportOptions& options_;
  std::vector<Change> pending_;
  std::vector<ImportCount> counts_;
  std::vector<ImportNote> left_out_, changed_;
  std::int64_t last_told_ = 0;  // milliseconds
  std::mutex mutex_;
  std::condition_variable stored_;
  int under_way_ = 0;
};

}  // namespace det::store
