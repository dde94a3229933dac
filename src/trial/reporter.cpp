#include "det/trial/reporter.h"

#include <signal.h>

#include <algorithm>
#include <utility>

namespace det::trial {

namespace {
constexpr std::chrono::milliseconds kPollInterval{100};
}

std::thread quiet_thread(std::function<void()> body) {
  sigset_t all;
  sigset_t before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  std::thread thread(std::move(body));
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return thread;
}

Reporter::Reporter(std::unique_ptr<Line> line, Limits limits, std::function<void(const std::string&)> notice,
                   std::function<void()> poll)
    : line_(std::move(line)), limits_(limits), notice_(std::move(notice)), poll_(std::move(poll)) {
  thread_ = quiet_thread([this] { run(); });
}

Reporter::~Reporter() {
  stop();
  thread_.join();
}

void Reporter::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  line_->hang_up();
}

template <typename Condition>
void Reporter::wait(std::unique_lock<std::mutex>& lock, Condition condition) {
  while (!condition()) {
    changed_.wait_for(lock, kPollInterval);
    if (!poll_ || condition()) continue;
    lock.unlock();
    poll_();
    lock.lock();
  }
}

Result<void> Reporter::push(const std::shared_ptr<Item>& item, std::unique_lock<std::mutex>& lock) {
  const auto bytes = item->call.body.size();
  wait(lock, [&] {
    return failure_ || stopping_ || queue_.empty() ||
           (queue_.size() < limits_.reports_max && bytes_ + bytes <= limits_.bytes_max);
  });
  if (failure_) return tl::unexpected(*failure_);
  if (stopping_) return failed_precondition("the connection to the master is closed");
  queue_.push_back(item);
  bytes_ += bytes;
  ++enqueued_;
  changed_.notify_all();
  return {};
}

Result<void> Reporter::enqueue(Kind kind, http::Call call) {
  std::unique_lock lock(mutex_);
  if (kind != Kind::Report && queue_.size() > 1) {
    const auto older =
        std::find_if(queue_.begin() + 1, queue_.end(), [&](const auto& item) { return item->kind == kind; });
    if (older != queue_.end() && !failure_) {
      bytes_ = bytes_ - (*older)->call.body.size() + call.body.size();
      (*older)->call = std::move(call);
      return {};
    }
  }
  const auto item = std::make_shared<Item>();
  item->kind = kind;
  item->call = std::move(call);
  return push(item, lock);
}

Result<http::Reply> Reporter::send(http::Call call) {
  const auto item = std::make_shared<Item>();
  item->call = std::move(call);
  item->awaited = true;
  std::unique_lock lock(mutex_);
  if (auto pushed = push(item, lock); !pushed) return tl::unexpected(std::move(pushed).error());
  wait(lock, [&] { return item->answer || failure_ || stopping_; });
  if (item->answer) return *std::move(item->answer);
  if (failure_) return tl::unexpected(*failure_);
  return failed_precondition("the connection to the master was closed");
}

Result<void> Reporter::flush() {
  std::unique_lock lock(mutex_);
  const auto last = enqueued_;
  wait(lock, [&] { return settled_ >= last || failure_ || stopping_; });
  if (failure_) return tl::unexpected(*failure_);
  return {};
}

std::optional<Error> Reporter::failure() const {
  const std::lock_guard lock(mutex_);
  return failure_;
}

void Reporter::fail_all(const Error& why) {
  {
    const std::lock_guard lock(mutex_);
    if (!failure_ || why.code() == ErrorCode::Gone) failure_ = why;
  }
  changed_.notify_all();
  if (why.code() == ErrorCode::Gone) line_->hang_up();
}

void Reporter::run() {
  while (true) {
    std::shared_ptr<Item> item;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return stopping_ || !queue_.empty(); });
      if (stopping_) return;
      item = queue_.front();
    }
    settle(item, line_->call(item->call));
  }
}

void Reporter::settle(const std::shared_ptr<Item>& item, Result<http::Reply> answer) {
  std::string refused;
  {
    const std::lock_guard lock(mutex_);
    if (!answer && !stopping_) {
      const bool gone = answer.error().code() == ErrorCode::Gone;
      if (gone || (item->kind == Kind::Report && !item->awaited && !failure_)) failure_ = answer.error();
      if (!gone && item->kind != Kind::Report) refused = answer.error().message();
    }
    bytes_ -= item->call.body.size();
    queue_.pop_front();
    ++settled_;
    item->answer = std::move(answer);
    if (failure_ && failure_->code() == ErrorCode::Gone) {
      if (!*item->answer) item->answer = tl::unexpected(*failure_);
      settled_ += queue_.size();
      queue_.clear();
      bytes_ = 0;
    }
  }
  changed_.notify_all();
  if (!refused.empty()) notice_(refused);
}

}  // namespace det::trial
