#include "det/agent/daemon.h"

#include <unistd.h>
#include "det/logging/log.h"

#include <algorithm>
#include <csignal>

#include "det/agent/agent.h"
#include "det/agent/files.h"
#include "det/agent/shim/reuse.h"
#include "det/agent/slots.h"
#include "det/base/text.h"
#include "det/http/routing/status.h"
#include "det/http/wire/wire.h"
#include "det/version.h"

namespace det::agent {

namespace {

using std::chrono::milliseconds;

constexpr milliseconds kRetryMin{100};
constexpr milliseconds kRetryMax{5'000};
constexpr std::chrono::microseconds kRequestPause{500};
constexpr milliseconds kLogPause{100};
constexpr milliseconds kForgetAfter{1'000};
constexpr milliseconds kAnswerPatience{15'000};
constexpr int kInFlightMax = 4;
constexpr std::int64_t kMemoryMin = 16 << 20;  // Less, and not even the init can start.
constexpr std::int64_t kPidsMin = 16;
constexpr std::size_t kModelBytesMax = 200 << 20;

Time wall_clock() {
  return Time{std::chrono::duration_cast<std::chrono::microseconds>(
                  std::chrono::system_clock::now().time_since_epoch())
                  .count()};
}

std::string random_session() {
  std::string bytes(16, '\0');
  if (::getentropy(bytes.data(), bytes.size()) != 0)
    bytes = std::to_string(boot_time().microseconds) + std::to_string(::getpid());
  return hexadecimal(bytes);
}

http::Call post(std::string path, std::string body) {
  http::Call call;
  call.method = "POST";
  call.path = std::move(path);
  call.headers.set("Content-Type", "application/json");
  call.body = std::move(body);
  return call;
}

}  // namespace

Result<AgentOptions> complete(AgentOptions options) {
  if (options.agent_id.empty()) {
    char name[256] = {};
    options.agent_id = ::gethostname(name, sizeof name - 1) == 0 ? name : "localhost";
  }
  if (!api::is_name(options.agent_id))
    return invalid_argument(
        "agent ID '{}' is invalid; it may have letters, digits, '.', '_' and '-', and must not start with "
        "'.'",
        options.agent_id);
  if (options.state_dir.empty()) return invalid_argument("no state directory given; name one with --dir");
  std::error_code error;
  options.state_dir = std::filesystem::absolute(options.state_dir, error).lexically_normal();
  if (options.slots && *options.slots < 0)
    return invalid_argument("--slots is {}; it must be at least 0", *options.slots);
  if (options.memory_per_slot != 0 && options.memory_per_slot < kMemoryMin)
    return invalid_argument("--memory-per-slot is {} bytes; it must be 0 (no limit) or at least {}",
                            options.memory_per_slot, kMemoryMin);
  if (options.pids_per_slot && *options.pids_per_slot != 0 && *options.pids_per_slot < kPidsMin)
    return invalid_argument("--pids-per-slot is {}; it must be 0 (no limit) or at least {}",
                            *options.pids_per_slot, kPidsMin);
  DET_TRY(const auto urls, http::parse_urls(options.master_url));
  options.master_url = http::text_of(urls);
  if (std::ranges::any_of(urls, &http::Url::tls)) {  // a file that cannot be used is said now; tasks find it
                                                     // from their own directories
    if (!options.trust.file.empty())
      options.trust.file = std::filesystem::absolute(options.trust.file).string();
    DET_TRY([[maybe_unused]] const auto trust, http::TlsTrust::load(options.trust));
  }
  if (options.token.empty() && !options.token_file.empty()) {
    const auto text = read_small_file(options.token_file, 64 * 1024);
    if (!text) return tl::unexpected(Error(text.error()).within("cannot read the agent token"));
    options.token = trim(*text);
  }
  return options;
}

namespace {

http::ClientOptions client_options(const AgentOptions& options) {
  http::ClientOptions client;
  client.trust = options.trust;
  return client;
}

}  // namespace

Daemon::Daemon(asio::any_io_executor executor, AgentOptions options, Machine machine,
               const std::vector<http::Url>& masters)
    : executor_(executor),
      options_(std::move(options)),
      machine_(std::move(machine)),
      tasks_(options_.state_dir),
      client_(executor, masters, client_options(options_)),
      inbox_bell_(executor),
      quiet_bell_(executor),
      deadline_bell_(executor),
      coroutines_(executor),
      idle_(
          executor, coroutines_, tasks_.state_dir() / kReuseSocket,
          [this](const std::filesystem::path& directory, pid_t shim) { return offered(directory, shim); },
          [this](const std::filesystem::path& root) {
            asio::post(pool_, [this, root] { tasks_.remove_root(root); });
          }) {}

asio::awaitable<Result<void>> Daemon::run() {
  if (auto opened = tasks_.open(); !opened) co_return opened;
  auto memory = tasks_.read_memory();
  if (!memory && memory.error().code() != ErrorCode::NotFound) co_return tl::unexpected(memory.error());
  ReconcilerOptions decisions;
  decisions.session = random_session();
  for (const auto& slot : machine_.slots) decisions.slots.insert(slot.id);
  decisions.on_disconnect = options_.on_disconnect;
  reconciler_.emplace(std::move(decisions), memory ? *memory : Memory{});
  remembered_ = may_start_ = reconciler_->memory_revision();
  for (const auto& sentence : unmet(options_, machine_)) logging::warn("{}", sentence);
  coroutines_.spawn(decide());
  coroutines_.spawn(idle_.run());
  if (auto adopted = co_await adopt_all(); !adopted) {
    co_await coroutines_.stop();
    co_return adopted;
  }
  coroutines_.spawn(watch_deadlines());
  coroutines_.spawn(keep_in_touch());
  if (options_.pilot) coroutines_.spawn(watch_pilot());
  start_warm_workers();

  co_await asio::this_coro::throw_if_cancelled(false);
  while (!coroutines_.failure() && !left_) {
    const auto state = co_await asio::this_coro::cancellation_state;
    if (state.cancelled() != asio::cancellation_type::none) break;
    co_await coroutines_.changed().wait();
  }
  co_await asio::this_coro::reset_cancellation_state(asio::disable_cancellation());
  if (options_.pilot && !left_)
    co_await end_all();  // nobody takes them over
  else if (!live_.empty() && !left_)
    logging::info(
        "stopping; {} allocation(s) keep running, and the agent takes them over when it starts again",
        live_.size());
  co_await coroutines_.stop();
  client_.close();
  pool_.join();
  if (!forgotten_.empty()) (void)tasks_.write_memory(reconciler_->memory());
  if (coroutines_.failure()) std::rethrow_exception(coroutines_.failure());
  co_return Result<void>();
}

void Daemon::happened(Event event) {
  inbox_.push_back(std::move(event));
  inbox_bell_.ring();
}

asio::awaitable<void> Daemon::decide() {
  while (true) {
    if (forgotten_.empty())
      co_await inbox_bell_.wait();
    else
      co_await inbox_bell_.wait(forget_by_ - std::chrono::steady_clock::now());
    deciding_ = true;
    if (inbox_.empty() && !forgotten_.empty() && std::chrono::steady_clock::now() >= forget_by_)
      co_await remember();
    while (!inbox_.empty()) {
      Actions actions;
      while (!inbox_.empty()) {
        const auto event = std::move(inbox_.front());
        inbox_.pop_front();
        for (auto& action : event()) actions.push_back(std::move(action));
      }
      for (const auto& action : actions) {
        if (std::holds_alternative<Start>(action)) perform(action);  // Waits for its revision by itself.
        if (const auto* known = std::get_if<Forget>(&action)) {
          if (forgotten_.empty()) forget_by_ = std::chrono::steady_clock::now() + kForgetAfter;
          forgotten_.push_back(known->allocation_id);
        }
      }
      // Whatever was decided together is written down together, before any of it is done.
      if (remembered_ != reconciler_->memory_revision()) co_await remember();
      if (options_.on_disconnect == OnDisconnect::Stop) co_await renew_lease();
      let_start();
      for (const auto& action : actions)
        if (!std::holds_alternative<Start>(action)) perform(action);
    }
    deciding_ = false;
    deadline_bell_.ring();
    quiet_bell_.ring();
  }
}

/// Writes the memory down, however long it takes.
asio::awaitable<void> Daemon::remember() {
  for (auto pause = kRetryMin;; pause = std::min(pause * 2, kRetryMax)) {
    const auto revision = reconciler_->memory_revision();
    auto work = [this, memory = reconciler_->memory()] { return tasks_.write_memory(memory); };
    const auto written = co_await on_pool(pool_, std::move(work));
    if (written) {
      remembered_ = revision;
      for (const auto& id : std::exchange(forgotten_, {})) forget(id);
      co_return;
    }
    logging::error("cannot save the agent's state; no allocation starts until this works: {}",
                   written.error().message());
    asio::steady_timer timer(executor_, pause);
    co_await timer.async_wait(asio::use_awaitable);
  }
}

/// Tells the shims, which end their tasks by themselves should this agent be gone.
asio::awaitable<void> Daemon::renew_lease() {
  const auto until = reconciler_->lease_end();
  if (until == leased_) co_return;
  auto work = [this, until] { return tasks_.write_lease(until); };
  const auto written = co_await on_pool(pool_, std::move(work));
  if (written)
    leased_ = until;
  else
    logging::error("cannot renew the lease of running tasks; they stop when the old one expires: {}",
                   written.error().message());
}

void Daemon::perform(const Action& action) {
  if (const auto* wanted = std::get_if<Start>(&action)) {
    logging::info("starting {}", wanted->allocation.allocation_id);
    auto task = add_task(wanted->allocation.allocation_id);
    task->revision = reconciler_->memory_revision();
    coroutines_.spawn(start(std::move(task), wanted->allocation));
  } else if (const auto* asked = std::get_if<Terminate>(&action)) {
    signal(asked->allocation_id, SIGTERM);
  } else if (const auto* killed = std::get_if<Kill>(&action)) {
    logging::warn("{} did not exit within its grace period; killing it", killed->allocation_id);
    signal(killed->allocation_id, SIGKILL);
  }
}

/// The memory that knows them is on disk, and so is the lease under which they run.
void Daemon::let_start() {
  const auto before = std::exchange(may_start_, remembered_);
  if (before == may_start_) return;
  for (auto& [id, task] : live_)
    if (task->revision > before) task->news.ring();
}

/// Deletes the files of an allocation that is no longer in the memory on disk.
void Daemon::forget(const std::string& id) {
  live_.erase(id);
  coroutines_.spawn([](Daemon& self, std::string name) -> asio::awaitable<void> {
    auto work = [&tasks = self.tasks_, name] { return tasks.remove(name); };
    const auto removed = co_await on_pool(self.pool_, std::move(work));
    if (!removed) logging::warn("{}", removed.error().message());  // Deleted at the next start.
  }(*this, id));
}

asio::awaitable<void> Daemon::watch_deadlines() {
  while (true) {
    const auto next = reconciler_->next_deadline();
    const auto now = boot_time();
    if (next && *next <= now) {
      happened([this] { return reconciler_->on_time(boot_time()); });
      co_await deadline_bell_.wait(milliseconds(100));
    } else if (next) {
      // The timer stands still while the machine sleeps, and a lease does not: look at least every second.
      co_await deadline_bell_.wait(std::min<std::chrono::microseconds>(
          std::chrono::seconds(1), std::chrono::microseconds(*next - now)));
    } else {
      co_await deadline_bell_.wait();
    }
  }
}

asio::awaitable<void> Daemon::keep_in_touch() {
  auto pause = kRetryMin;
  while (true) {
    // Nothing is reported that a crash could take back.
    while (!quiet() || in_flight_ >= kInFlightMax) co_await quiet_bell_.wait();
    const auto reported = reconciler_->report_revision();
    auto request = reconciler_->next_request(boot_time(), options_.wait_milliseconds);
    request.version = DET_VERSION;
    request.hostname = machine_.hostname;
    request.user = machine_.user;
    request.resource_pool = options_.resource_pool;
    request.label = options_.label;
    request.attributes = options_.attributes;
    request.slots = machine_.slots;
    request.leaving = *options_.leaving;
    for (auto& allocation : request.allocations) allocation.addresses = {machine_.address};
    const auto sequence = request.sequence;
    const auto sent = std::chrono::steady_clock::now();
    ++in_flight_;
    coroutines_.spawn(exchange(std::move(request)));
    // The master holds a request until it has news; ours cannot wait for that.
    while (answered_ < sequence && reconciler_->report_revision() == reported) co_await quiet_bell_.wait();
    if (answered_ >= sequence && last_failed_) {
      asio::steady_timer timer(executor_, pause);
      co_await timer.async_wait(asio::use_awaitable);
      pause = std::min(pause * 2, kRetryMax);
    } else {
      pause = kRetryMin;
      if (std::chrono::steady_clock::now() - sent < kRequestPause) {
        asio::steady_timer timer(executor_, kRequestPause);  // A master that never waits must not be flooded.
        co_await timer.async_wait(asio::use_awaitable);
      }
    }
  }
}

asio::awaitable<void> Daemon::exchange(api::SyncRequest request) {
  auto call = post(fmt::format("/api/v1/agents/{}/sync", percent_encode(options_.agent_id)),
                   http::to_wire_text(request));
  call.timeout = milliseconds(options_.wait_milliseconds) + kAnswerPatience;
  const auto sequence = request.sequence;
  const auto reply = co_await this->call(std::move(call));
  std::string trouble;
  if (!reply) {
    trouble = reply.error().message();
  } else if (!reply->ok()) {
    trouble = http::error_of(reply->status, reply->body).message();
    rejected_ = reply->status == 401 || reply->status == 403 || reply->status == 410;
  } else if (auto answer = http::from_wire_text<api::SyncReply>(reply->body); !answer) {
    trouble = "invalid response: " + answer.error().message();
  } else {
    happened([this, answer = *std::move(answer)] {
      auto actions = reconciler_->on_reply(answer, boot_time());
      if (reconciler_->last_dropped() == Dropped::ForeignCluster)
        logging::error(
            "the allocations of this agent belong to another cluster; connect to its master until they end, "
            "or use another --dir");
      if (reconciler_->last_dropped() == Dropped::OldEpoch)
        logging::warn("ignored a response of an earlier master process");
      return actions;
    });
  }
  --in_flight_;
  answered_ = std::max(answered_, sequence);
  last_failed_ = !trouble.empty();
  heard(trouble);
  quiet_bell_.ring();
}

void Daemon::heard(const std::string& trouble) {
  if (left_) return;
  if (!trouble.empty()) {
    if (trouble != trouble_)
      logging::warn("cannot reach the master at {}: {}. Running trials continue; retrying",
                    options_.master_url, trouble);
    connected_ = false;
  } else {
    heard_at_ = std::chrono::steady_clock::now();
  }
  if (trouble.empty() && !connected_) {
    logging::info("agent {} is connected to the master at {}", options_.agent_id, client_.url().text());
    connected_ = true;
    if (options_.on_connected) std::exchange(options_.on_connected, nullptr)();
  }
  trouble_ = trouble;
}

/// Ends the agent of a machine that goes, or that the master has given up.
asio::awaitable<void> Daemon::watch_pilot() {
  asio::steady_timer timer(executor_);
  while (true) {
    timer.expires_after(milliseconds(200));
    co_await timer.async_wait(asio::use_awaitable);
    const bool silent = std::chrono::steady_clock::now() - heard_at_ > options_.leave_after;
    if (rejected_)
      logging::info("the master has given this machine back; leaving");
    else if (silent)
      logging::warn("the master has not answered for {} s; leaving", options_.leave_after.count());
    else if (!options_.leaving->empty() && live_.empty() && connected_ &&
             reconciler_->memory().allocations.empty())
      logging::info("nothing runs here any more; leaving");
    else
      continue;
    break;
  }
  co_await end_all();
  left_ = true;
  coroutines_.changed().ring();
}

/// Nobody asks for what still runs: it gets SIGTERM, and SIGKILL after its grace period.
asio::awaitable<void> Daemon::end_all() {
  constexpr auto kGrace = std::chrono::seconds(15);
  asio::steady_timer timer(executor_);
  const auto running = [this] {
    return std::ranges::any_of(live_, [](const auto& entry) { return !entry.second->running.empty(); });
  };
  for (const auto& [id, task] : live_) signal(id, SIGTERM);
  const auto deadline = std::chrono::steady_clock::now() + kGrace;
  while (running() && std::chrono::steady_clock::now() < deadline) {
    timer.expires_after(milliseconds(100));
    co_await timer.async_wait(asio::use_awaitable);
  }
  for (const auto& [id, task] : live_) signal(id, SIGKILL);
}

asio::awaitable<Result<http::Reply>> Daemon::call(http::Call call) {
  if (!options_.token.empty()) call.headers.set("Authorization", "Bearer " + options_.token);
  co_return co_await client_.request(std::move(call));
}

asio::awaitable<Result<void>> Daemon::download_model(std::string digest) {
  http::Call call;
  call.path = fmt::format("/api/v1/agents/{}/model_definitions/{}", percent_encode(options_.agent_id),
                          percent_encode(digest));
  call.timeout = milliseconds(120'000);
  auto reply = co_await this->call(std::move(call));
  if (!reply) co_return tl::unexpected(reply.error());
  if (!reply->ok()) co_return tl::unexpected(http::error_of(reply->status, reply->body));
  if (reply->body.size() > kModelBytesMax)
    co_return fail(ErrorCode::ResourceExhausted, "the model definition has {}; the limit is {}",
                   human_size(static_cast<std::int64_t>(reply->body.size())), human_size(kModelBytesMax));
  auto work = [this, digest, body = std::move(reply->body)] { return tasks_.keep_model(digest, body); };
  co_return co_await on_pool(pool_, std::move(work));
}

asio::awaitable<void> Daemon::ship(TaskPtr task, std::vector<int> ranks) {
  LogShipper shipper(tasks_.allocation(task->id), task->id, std::move(ranks));
  if (auto opened = shipper.open(); !opened) {
    // A damaged file must not hold back the exit; the lines that it knew of are with the master or lost.
    logging::error("cannot send the logs of {}: {}", task->id, opened.error().message());
    happened([this, id = task->id] { return reconciler_->logs_shipped(id); });
    co_return;
  }
  auto pause = kRetryMin;
  while (true) {
    const auto ended = task->ended;
    auto work = [&shipper, ended] { return shipper.next(ended, wall_clock()); };
    auto batch = co_await on_pool(pool_, std::move(work));
    if (!batch) {
      logging::error("cannot read the logs of {}: {}", task->id, batch.error().message());
    } else if (*batch) {
      const bool delivered = co_await deliver(**batch);
      if (delivered) {
        shipper.delivered();
        pause = kRetryMin;
        continue;
      }
    } else if (shipper.finished(ended)) {
      break;
    } else {
      co_await task->news.wait(kLogPause);
      continue;
    }
    asio::steady_timer timer(executor_, pause);
    co_await timer.async_wait(asio::use_awaitable);
    pause = std::min(pause * 2, kRetryMax);
  }
  happened([this, id = task->id] { return reconciler_->logs_shipped(id); });
}

asio::awaitable<bool> Daemon::deliver(const api::LogBatch& batch) {
  auto request = post(fmt::format("/api/v1/agents/{}/logs", percent_encode(options_.agent_id)),
                      http::to_wire_text(batch));
  const auto reply = co_await call(std::move(request));
  if (!reply) co_return false;  // keep_in_touch() says it.
  if (reply->ok()) co_return true;
  const int status = reply->status;
  const bool for_ever = status == 400 || status == 404 || status == 410 || status == 413 || status == 422;
  logging::warn("the master refused {} log lines of {}{}: {}", batch.entries.size(), batch.allocation_id,
                for_ever ? ", which are lost" : "", http::error_of(status, reply->body).message());
  co_return for_ever;
}

asio::awaitable<Result<void>> run_agent(AgentOptions given, Machine machine) {
  auto options = complete(std::move(given));
  if (!options) co_return tl::unexpected(options.error());
  const auto urls = http::parse_urls(options->master_url);
  if (!urls) co_return tl::unexpected(urls.error());
  co_await asio::this_coro::reset_cancellation_state(asio::enable_total_cancellation());
  const auto executor = co_await asio::this_coro::executor;
  Daemon daemon(executor, *std::move(options), std::move(machine), *urls);
  co_return co_await daemon.run();
}

}  // namespace det::agent
