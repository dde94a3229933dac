#include "det/det/database.h"

#include <unistd.h>
#include "det/logging/log.h"

#include <array>
#include <atomic>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/address.hpp>
#include <boost/asio/ip/host_name.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/signal_set.hpp>
#include <thread>

#include "det/base/text.h"
#include "det/checkpoint/environment.h"
#include "det/det/stand_by.h"
#include "det/http/tls/tls.h"
#include "det/http/url.h"
#include "det/store/store.h"

namespace det::commands {
namespace {

namespace asio = boost::asio;

/// A value of a connection string in libpq's form.
std::string quoted(const std::string& value) {
  std::string text = "'";
  for (const char c : value) {
    if (c == '\'' || c == '\\') text += '\\';
    text += c;
  }
  return text + "'";
}

/// Where clients reach this master: what was given, or else what it listens on.
std::string advertised_address(const master::MasterOptions& options) {
  if (!options.advertised_url.empty()) return options.advertised_url;
  if (options.port == 0) return "";  // nobody can know it yet
  boost::system::error_code name;
  const auto address = asio::ip::make_address(options.address, name);
  http::Url url;
  url.host = !name && address.is_unspecified() ? asio::ip::host_name() : options.address;
  url.port = options.port;
  url.tls = !options.tls_certificate.empty();
  return url.text();
}

std::string holder() {
  std::array<char, 256> host{};
  ::gethostname(host.data(), host.size() - 1);
  return fmt::format("{}, process {}", host.data(), ::getpid());
}

}  // namespace

Result<std::string> take_database(json::object& configuration) {
  const auto* section = configuration.if_contains("db");
  if (section == nullptr) return std::string();
  if (!section->is_object())
    return invalid_argument("db must be a map with host, port, user, password, name and ssl_mode");
  constexpr std::array<std::pair<std::string_view, std::string_view>, 7> kKeys{
      {{"host", "host"},
       {"port", "port"},
       {"user", "user"},
       {"password", "password"},
       {"name", "dbname"},
       {"ssl_mode", "sslmode"},
       {"ssl_root_cert", "sslrootcert"}}};
  std::string target;
  for (const auto& [key, value] : section->get_object()) {
    const auto* known =
        std::find_if(kKeys.begin(), kKeys.end(), [&](const auto& k) { return k.first == key; });
    if (known == kKeys.end())
      return invalid_argument(
          "db.{} is not known; db has host, port, user, password, name, ssl_mode and ssl_root_cert",
          std::string_view(key));
    const auto number = json::to_int64(value);
    if (!value.is_string() && !number)
      return invalid_argument("db.{} must be a text or a number", std::string_view(key));
    if (key == "port" && (!number || *number < 1 || *number > 65'535))
      return invalid_argument("db.port must be a number from 1 to 65535");
    target += fmt::format("{}={} ", known->second,
                          quoted(number ? std::to_string(*number) : std::string(value.get_string())));
  }
  configuration.erase("db");
  return target;
}

void mask_database(json::object& configuration) {
  auto* section = configuration.if_contains("db");
  if (section == nullptr || !section->is_object()) return;
  if (auto* password = section->get_object().if_contains("password")) *password = "********";
}

std::string with_password(std::string target) {
  const auto password = environment_variable("DET_DB_PASSWORD");
  ::unsetenv("DET_DB_PASSWORD");  // no task needs it
  if (password.empty()) return target;
  if (target.find("://") == std::string::npos) return target + fmt::format("password={} ", quoted(password));
  target += target.find('?') == std::string::npos ? '?' : '&';
  return target + "password=" + percent_encode(password);
}

Result<void> check_database(const std::string& target) {
  if (store::is_postgres_url(target)) return {};
  return invalid_argument(
      "--db is '{}'; it must be the URL of a PostgreSQL database: postgres://USER@HOST:PORT/NAME. Without "
      "--db "
      "the master keeps its state in DIR",
      target);
}

Result<std::string> check_advertised(const std::string& text) {
  if (text.empty()) return text;
  DET_TRY(const auto url, http::parse_url(text).map_error(
                              [](Error error) { return std::move(error).within("--advertise"); }));
  return url.text();
}

Result<std::unique_ptr<store::Store>> open_database(const master::MasterOptions& options) {
  asio::io_context context(1);
  StandBy stand_by(context.get_executor(), options);
  std::atomic<bool> stopped = false;
  asio::signal_set signals(context, SIGINT, SIGTERM);
  signals.async_wait([&](boost::system::error_code cancelled, int) { stopped = stopped || !cancelled; });
  Result<std::unique_ptr<store::Store>> opened(nullptr);
  std::thread opener([&] {
    opened = store::open_postgres(
        {.target = options.database,
         .holder = holder(),
         .address = advertised_address(options),
         .on_stall = [](const std::string& what) { logging::error("{}", what); },
         .on_wait = [&](const std::string& why) { asio::post(context, [&, why] { stand_by.start(why); }); },
         .on_leader =
             [&](const std::string& address) {
               asio::post(context, [&, address] { stand_by.leader(address); });
             },
         .give_up = [&] { return stopped.load(); }});
    asio::post(context, [&] { stand_by.stop(context); });
  });
  context.run();
  opener.join();
  if (stopped) {
    opened = Result<std::unique_ptr<store::Store>>(nullptr);
  } else if (opened) {
    logging::info("leading: this master writes to the database");
  }
  return opened;
}

}  // namespace det::commands
