#include "det/master/elastic/add_providers.h"

#include "det/logging/log.h"

#include <algorithm>
#include <boost/asio/ip/address.hpp>
#include <boost/asio/ip/host_name.hpp>
#include <fstream>

#include "det/http/url.h"

namespace det::master {
namespace {

/// What the pilots of the pool are told of this master.
Result<PilotSettings> pilot_settings(const std::string& pool, const ProviderSettings& settings,
                                     const MasterAddress& master) {
  PilotSettings pilot{.master_url = settings.master_url, .log_dir = settings.log_dir};
  boost::system::error_code ignored;
  const auto address = boost::asio::ip::make_address(master.address, ignored);
  if (pilot.master_url.empty() && address.is_loopback() && settings.type != ProviderType::Process)
    return failed_precondition(
        "resource pool {}: its machines cannot reach a master that listens on {}; start it with --host, or "
        "name "
        "where they reach it in provider.master_url",
        pool, master.address);
  if (pilot.master_url.empty()) {
    http::Url url;
    url.host = address.is_unspecified() ? boost::asio::ip::host_name() : master.address;
    url.port = master.port;
    url.tls = !master.certificate_file.empty();
    pilot.master_url = url.text();
  }
  if (!master.certificate_file.empty() && pilot.master_url.starts_with("https:")) {
    std::ifstream file(master.certificate_file);
    pilot.certificate.assign(std::istreambuf_iterator<char>(file), {});
    const auto urls = http::parse_urls(pilot.master_url);
    if (urls && !master.names.empty() &&
        std::ranges::find(master.names, urls->front().host) == master.names.end())
      pilot.certificate_name = master.names.front();
  }
  if (pilot.log_dir.empty()) {
    const auto directory = master.directory / "allotments";
    std::error_code error;
    std::filesystem::create_directories(directory, error);
    if (error)
      return fail(ErrorCode::Unavailable, "cannot create {}: {}", directory.string(), error.message());
    pilot.log_dir = directory.string();
  }
  return pilot;
}

}  // namespace

Result<void> add_providers(Provisioner& provisioner, const std::map<std::string, ProviderSettings>& providers,
                           const MasterAddress& master) {
  for (const auto& [pool, given] : providers) {
    auto settings = given;
    // A machine by SSH is given a copy, and an image has its own.
    const bool has_its_own = settings.type == ProviderType::Ssh || settings.type == ProviderType::Kubernetes;
    if (settings.program.empty() && !has_its_own)
      settings.program = std::filesystem::read_symlink("/proc/self/exe").string();
    DET_TRY(const auto pilot, pilot_settings(pool, settings, master));
    auto provider = make_provider(settings, pilot);
    if (const auto fine = provider->check(); !fine) {
      if (fine.error().code() != ErrorCode::Unavailable)
        return failed_precondition("resource pool {}: {}", pool, fine.error().message());
      logging::warn("resource pool {}: {}", pool, fine.error().message());
    }
    provisioner.add(pool, std::move(provider));
  }
  return {};
}

}  // namespace det::master
