// The way of deliveries to their webhooks, and what becomes of those that do not arrive.

#include "det/logging/log.h"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "det/checkpoint/storage.h"
#include "det/master/webhooks/webhooks.h"
#include "det/version.h"

namespace det::master {
namespace {

void rethrow(std::exception_ptr failure) {
  if (failure) std::rethrow_exception(failure);
}

/// "answered 500" or why there was no answer.
std::string outcome_text(const tl::expected<int, OutsideFailure>& answer) {
  return answer ? fmt::format("it answered with status {}", *answer) : answer.error().why;
}

/// What a webhook is told, in short. Slack is told in prose, which says no more than that.
std::string event_of(const std::string& body) {
  const auto parsed = json::parse(body);
  const auto* members = parsed ? parsed->if_object() : nullptr;
  const auto* type = members == nullptr ? nullptr : members->if_contains("event_type");
  if (type == nullptr || !type->is_string()) return "";
  std::string text(type->get_string());
  boost::system::error_code nowhere;
  if (const auto* id = parsed->find_pointer("/event_data/experiment/id", nowhere))
    text += fmt::format(" of experiment {}", json::serialize(*id));
  return text;
}

Verdict verdict_on(const tl::expected<int, OutsideFailure>& answer) {
  if (answer) return verdict_of(*answer);
  return answer.error().refused ? Verdict::GiveUp : Verdict::TryAgain;
}

}  // namespace

void Webhooks::start() {
  asio::co_spawn(strand_, run(), rethrow);
}

void Webhooks::stop() {
  stopping_ = true;
  timer_.cancel();
  outside_.cancel();
}

void Webhooks::queue(store::DeliveryRecord delivery) {
  if (!webhooks_.contains(delivery.webhook)) return;
  queues_[delivery.webhook].due.insert({delivery.next_attempt, ++number_, delivery.event_id});
  pending_.insert_or_assign(delivery.event_id, std::move(delivery));
}

asio::awaitable<void> Webhooks::run() {
  while (!stopping_) {
    const auto now = ledger_.now();
    Time next = now + 3600 * kSecond;
    for (auto& [id, queue] : queues_) {
      if (queue.busy || queue.due.empty() || in_flight_ >= kInFlightMax) continue;
      auto due = *queue.due.begin();
      if (due.time > now) {
        next = std::min(next, due.time);
        continue;
      }
      queue.due.erase(queue.due.begin());
      queue.busy = true;
      ++in_flight_;
      asio::co_spawn(strand_, deliver(id, std::move(due)), rethrow);
    }
    timer_.expires_after(std::chrono::microseconds(next - now));
    boost::system::error_code kicked;
    co_await timer_.async_wait(asio::redirect_error(asio::use_awaitable, kicked));
  }
}

OutsideCall Webhooks::call_of(const WebhookRecord& webhook, const std::string& body) {
  const auto timestamp = ledger_.now().microseconds / kSecond;
  return {.url = webhook.url,
          .headers = {{"Content-Type", "application/json"},
                      {"User-Agent", "det/" DET_VERSION},
                      {"X-Determined-AI-Signature-Timestamp", std::to_string(timestamp)},
                      {"X-Determined-AI-Signature", signature_of(settings_.signing_key, timestamp, body)}},
          .body = body};
}

asio::awaitable<void> Webhooks::deliver(WebhookId id, Due due) {
  const auto done = [this, id] {
    queues_.at(id).busy = false;
    --in_flight_;
    timer_.cancel();
  };
  const auto found = pending_.find(due.event_id);
  if (found == pending_.end() || !webhooks_.contains(id)) {
    done();
    co_return;
  }
  auto delivery = found->second;
  auto call = call_of(webhooks_.at(id), delivery.body);
  const auto answer = co_await outside_.post(std::move(call));
  if (stopping_ && !answer) co_return;  // the next master does it again
  auto verdict = verdict_on(answer);
  const auto now = ledger_.now();
  if (verdict != Verdict::Delivered) {
    ++delivery.attempts;
    ++counts_.failed_attempts;
    if (verdict == Verdict::TryAgain && now - delivery.creation_time > kDeliverySeconds * kSecond)
      verdict = Verdict::GiveUp;
  }
  Changes changes;
  if (verdict == Verdict::TryAgain) {
    delivery.next_attempt = now + delay_after(delivery.attempts).count() * kSecond;
    logging::info("webhook {}: event {} was not delivered in {} attempts so far: {}", id, due.event_id,
                  delivery.attempts, outcome_text(answer));
    changes.push_back(store::PutDelivery{delivery});
    remember_outcome(delivery, Delivery::State::Waiting, outcome_text(answer));
    queue(std::move(delivery));
  } else {
    if (verdict == Verdict::GiveUp) {
      ++counts_.given_up;
      logging::warn("webhook {}: gave up on event {} after {} attempts: {}", id, due.event_id,
                    delivery.attempts, outcome_text(answer));
    } else {
      ++counts_.delivered;
    }
    remember_outcome(delivery,
                     verdict == Verdict::GiveUp ? Delivery::State::GivenUp : Delivery::State::Delivered,
                     outcome_text(answer));
    pending_.erase(due.event_id);
    changes.push_back(store::DeleteDelivery{due.event_id});
  }
  co_await ledger_.write(std::move(changes));
  done();
}

void Webhooks::remember_outcome(const store::DeliveryRecord& delivery, Delivery::State state,
                                std::string outcome) {
  if (!webhooks_.contains(delivery.webhook)) return;
  if (state == Delivery::State::Waiting) {
    outcomes_[delivery.event_id] = std::move(outcome);
    return;
  }
  outcomes_.erase(delivery.event_id);
  auto& over = over_[delivery.webhook];
  over.push_front({.event_id = delivery.event_id,
                   .event = event_of(delivery.body),
                   .creation_time = delivery.creation_time,
                   .attempts = delivery.attempts + (state == Delivery::State::Delivered ? 1 : 0),
                   .outcome = std::move(outcome),
                   .state = state});
  if (over.size() > kRemembered) over.pop_back();
}

std::vector<Webhooks::Delivery> Webhooks::deliveries(WebhookId id) const {
  std::vector<Delivery> all;
  for (const auto& [event_id, record] : pending_) {
    if (record.webhook != id) continue;
    const auto outcome = outcomes_.find(event_id);
    all.push_back({.event_id = event_id,
                   .event = event_of(record.body),
                   .creation_time = record.creation_time,
                   .attempts = record.attempts,
                   .outcome = outcome == outcomes_.end() ? "" : outcome->second,
                   .next_attempt = record.next_attempt});
  }
  if (const auto over = over_.find(id); over != over_.end())
    all.insert(all.end(), over->second.begin(), over->second.end());
  std::ranges::stable_sort(all, std::greater(), &Delivery::creation_time);
  return all;
}

asio::awaitable<Result<void>> Webhooks::test(WebhookId id) {
  const auto& webhook = webhooks_.at(id);
  const Notice notice{checkpoint::new_uuid(), ledger_.now(), {}, {}, TestEvent{}};
  auto call = call_of(webhook, body_of(webhook.type, notice, settings_.base_url));
  const auto answer = co_await outside_.post(std::move(call));
  if (answer && verdict_of(*answer) == Verdict::Delivered) co_return Result<void>{};
  co_return failed_precondition("the test event did not reach webhook {}: {}", id, outcome_text(answer));
}

}  // namespace det::master
