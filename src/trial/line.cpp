#include "det/trial/line.h"

#include <algorithm>
#include <exception>
#include <random>

#include "det/http/routing/status.h"

namespace det::trial {

namespace {

constexpr int kInternalErrorsMax = 5;
constexpr std::chrono::milliseconds kPollInterval{100};
/// Shorter outages are nobody's business: a kept connection that the master has closed is one.
constexpr std::chrono::seconds kOutageWorthMentioning{2};

bool passes_by_itself(int status) {
  return status == 429 || (502 <= status && status <= 504);
}

std::chrono::milliseconds shortened_by_chance(std::chrono::milliseconds delay) {
  static thread_local std::minstd_rand chance{std::random_device{}()};
  return delay / 2 + std::chrono::milliseconds(static_cast<std::int64_t>(chance()) % (delay.count() / 2 + 1));
}

}  // namespace

Line::Line(const std::vector<http::Url>& urls, std::string token, Retry retry,
           std::function<void(const std::string&)> notice)
    : client_(urls), token_(std::move(token)), retry_(retry), notice_(std::move(notice)) {}

Result<http::Reply> Line::call(const http::Call& call, const std::function<void()>& poll) {
  int internal_errors = 0;
  auto delay = retry_.delay_min;
  while (true) {
    auto attempt = call;
    attempt.headers.set("Authorization", "Bearer " + token_);
    if (!attempt.body.empty()) attempt.headers.set("Content-Type", "application/json");
    Result<http::Reply> reply = fail(ErrorCode::Unavailable, "not tried");
    try {
      reply = client_.request(std::move(attempt));
    } catch (const std::exception& thrown) {
      reply =
          fail(ErrorCode::Unavailable, "the call to {} failed: {}", client_.url().authority(), thrown.what());
    }

    std::string why;
    if (!reply) {
      why = reply.error().message();
    } else if (passes_by_itself(reply->status)) {
      why = fmt::format("{} answered {}", client_.url().authority(),
                        http::error_text(reply->status, reply->body));
    } else if (reply->status == 500 && ++internal_errors <= kInternalErrorsMax) {
      why = http::error_text(reply->status, reply->body);
    } else {
      note_end_of_outage();
      if (reply->ok()) return reply;
      if (reply->status == 410 || reply->status == 409)
        return fail(ErrorCode::Gone, "the master has ended this allocation: {}",
                    http::error_text(reply->status, reply->body));
      return tl::unexpected(
          http::error_of(reply->status, reply->body).within(fmt::format("{} {}", call.method, call.path)));
    }
    note_outage(why);
    if (!wait(shortened_by_chance(delay), poll))
      return fail(ErrorCode::Unavailable, "gave up calling {}: {}", client_.url().authority(), why);
    delay = std::min(delay * 2, retry_.delay_max);
  }
}

bool Line::wait(std::chrono::milliseconds delay, const std::function<void()>& poll) {
  const auto until = std::chrono::steady_clock::now() + delay;
  std::unique_lock lock(mutex_);
  while (!hung_up_ && std::chrono::steady_clock::now() < until) {
    woken_.wait_until(lock, std::min(until, std::chrono::steady_clock::now() + kPollInterval));
    if (!poll) continue;
    lock.unlock();
    poll();
    lock.lock();
  }
  return !hung_up_;
}

void Line::hang_up() {
  {
    const std::lock_guard lock(mutex_);
    hung_up_ = true;
  }
  woken_.notify_all();
  client_.cancel();
}

void Line::pick_up() {
  const std::lock_guard lock(mutex_);
  hung_up_ = false;
  client_.resume();
}

void Line::note_outage(const std::string& why) {
  const auto now = std::chrono::steady_clock::now();
  if (outage_since_ == std::chrono::steady_clock::time_point{}) {
    outage_since_ = now;
    outage_told_ = false;
  }
  if (outage_told_ || now - outage_since_ < kOutageWorthMentioning) return;
  outage_told_ = true;
  notice_(fmt::format("cannot reach the master ({}); the trial continues, retrying", why));
}

void Line::note_end_of_outage() {
  if (outage_told_) {
    const auto seconds =
        std::chrono::duration_cast<std::chrono::seconds>(std::chrono::steady_clock::now() - outage_since_);
    notice_(fmt::format("reached the master again after {} s", seconds.count()));
  }
  outage_told_ = false;
  outage_since_ = {};
}

}  // namespace det::trial
