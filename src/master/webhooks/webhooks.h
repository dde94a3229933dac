#pragma once

#include <re2/re2.h>

#include <boost/asio/steady_timer.hpp>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "det/master/ledger/ledger.h"
#include "det/master/unmanaged/unmanaged.h"
#include "det/master/webhooks/outside_client.h"
#include "det/master/webhooks/webhook_events.h"
#include "det/master/webhooks/webhook_settings.h"
#include "det/master/workspaces/workspaces.h"

namespace det::master {

/// The webhooks, completely in memory, and their pending deliveries.
///
/// A delivery is stored by the same commit as its cause (a state, a log line), so a crash loses both or
/// neither. It is sent once the commit is durable and forgotten once the webhook has accepted it. A crash in
/// between repeats it with the same event id. A failed delivery is retried (see delay_after) for six hours.
/// Each webhook has one delivery in progress at a time, and all together kInFlightMax.
///
/// Changes are made here at once and returned for the store, as in Registry.
///
/// Threads: not safe; on the master's strand. Waiting for servers is done by OutsideClient's thread.
class Webhooks {
 public:
  using Changes = std::vector<store::Change>;

  static constexpr int kInFlightMax = 16;
  static constexpr std::size_t kRemembered = 20;      ///< of one webhook
  static constexpr std::size_t kPendingMax = 10'000;  ///< of one webhook; what comes then is dropped

  /// Reads the store, and hears of the ledger's commits from now on.
  Webhooks(asio::any_io_executor strand, Ledger& ledger, store::Store& store, const Workspaces& workspaces,
           Unmanaged& unmanaged, WebhookSettings settings);

  void start();  ///< Begins to deliver.
  void stop();   ///< Begins no more deliveries, and breaks off those under way.

  const std::map<WebhookId, WebhookRecord>& all() const { return webhooks_; }
  const WebhookRecord* find(WebhookId id) const;

  /// `record` and its triggers get their ids. InvalidArgument, AlreadyExists.
  Result<Changes> create(WebhookRecord& record);
  /// What is on its way goes to the new address, too. Requires: the webhook exists.
  Result<Changes> change_url(WebhookId id, std::string url);
  Changes remove(WebhookId id);
  /// What a program of the experiment says goes to those webhooks with a custom trigger that its
  /// configuration names.
  asio::awaitable<void> raise(const experiment::ExperimentRecord& record, TrialId trial, CustomEvent event);
  /// Posts a test, once. FailedPrecondition says why it did not arrive. Requires: the webhook exists.
  asio::awaitable<Result<void>> test(WebhookId id);

  /// What a webhook was told, or is to be told.
  struct Delivery {
    std::string event_id, event;  ///< "EXPERIMENT_STATE_CHANGE of experiment 7", as far as `body` says it
    Time creation_time;
    std::int64_t attempts = 0;
    std::string outcome;  ///< of the last attempt, in words; empty: there was none since the start
    enum class State { Waiting, Delivered, GivenUp } state = State::Waiting;
    std::optional<Time> next_attempt;
  };
  /// What waits, and of what is over since the start the last kRemembered; the newest first.
  std::vector<Delivery> deliveries(WebhookId id) const;

  /// Since the start; for whoever watches the master.
  struct Counts {
    std::int64_t delivered = 0, failed_attempts = 0, given_up = 0;
  };
  const Counts& counts() const { return counts_; }
  std::size_t pending() const { return pending_.size(); }

 private:
  struct Due {
    Time time;
    std::int64_t number = 0;
    std::string event_id;
    friend auto operator<=>(const Due&, const Due&) = default;
  };
  /// The deliveries of one webhook.
  struct Queue {
    std::set<Due> due;
    bool busy = false;
    std::int64_t dropped = 0;
  };
  struct Pattern {
    std::string text;
    std::shared_ptr<re2::RE2> compiled;
  };
  /// What a commit makes.
  struct Made {
    Changes changes;
    std::vector<store::DeliveryRecord> deliveries;
  };

  Result<void> check(const WebhookRecord& record) const;
  void remember(WebhookRecord record);
  void forget(WebhookId id);

  std::function<void()> heard_of(Changes& changes);
  void heard_of(const experiment::ExperimentRecord& record, Made& made);
  void heard_of(const std::vector<experiment::LogRecord>& lines, Made& made);
  void heard_of(const store::DeleteExperiment& deleted);
  void tell(const WebhookRecord& webhook, const WebhookTrigger& trigger, const WebhookSubject& subject,
            const WebhookEvent& event, Made& made);
  WebhookSubject subject_of(const experiment::ExperimentRecord& record);
  std::optional<WebhookSubject> subject_of_task(const experiment::LogRecord& line);
  void queue(store::DeliveryRecord delivery);

  asio::awaitable<void> run();
  asio::awaitable<void> deliver(WebhookId webhook, Due due);
  void remember_outcome(const store::DeliveryRecord& delivery, Delivery::State state, std::string outcome);
  OutsideCall call_of(const WebhookRecord& webhook, const std::string& body);

  asio::any_io_executor strand_;
  Ledger& ledger_;
  const Workspaces& workspaces_;
  Unmanaged& unmanaged_;
  WebhookSettings settings_;
  std::map<WebhookId, WebhookRecord> webhooks_;
  std::map<WebhookId, std::vector<Pattern>> patterns_;  // of those that look at logs
  std::int64_t next_id_ = 1;
  std::set<store::LogHitRecord> hits_;
  Time opened_;                            // who ended before, was told of before
  std::map<ExperimentId, Time> told_end_;  // since then
  std::map<std::string, store::DeliveryRecord> pending_;
  std::map<WebhookId, Queue> queues_;
  std::map<WebhookId, std::deque<Delivery>> over_;  // the newest first
  std::map<std::string, std::string> outcomes_;     // of the last attempt, by event; of pending ones only
  std::int64_t number_ = 0;
  int in_flight_ = 0;
  bool stopping_ = false;
  Counts counts_;
  asio::steady_timer timer_;
  OutsideClient outside_;
};

}  // namespace det::master
