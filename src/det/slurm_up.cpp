#include "det/det/slurm_up.h"

#include <fmt/format.h>

#include <boost/asio/ip/host_name.hpp>
#include <fstream>

#include "det/det/paths.h"
#include "det/http/tls/self_signed.h"
#include "det/master/administration/section.h"
#include "det/master/identity/secret.h"
#include "det/master/identity/secret_files.h"

namespace det::commands {

void SlurmUp::add_to(CLI::App& app) {
  const std::string group = "Slurm";
  app.add_flag("--slurm", wanted_,
               "Run trials on machines of Slurm instead of this one; needs no administrator. Start it on a "
               "login node")
      ->group(group);
  const auto add = [&](const char* name, auto& into, const char* text) {
    return app.add_option(name, into, text)->needs("--slurm")->group(group);
  };
  add("--partition", settings_.partition, "Partition (default: that of Slurm)");
  add("--account", settings_.account, "Account that jobs are charged to");
  add("--qos", settings_.qos, "Quality of service");
  add("--gres", settings_.gres, "Generic resources of each node, such as gpu:4");
  add("--cpus-per-node", settings_.cpus_per_node, "CPUs of each node");
  add("--mem", settings_.mem, "Memory of each node, such as 64G");
  add("--slots-per-node", settings_.limits.slots_per_node,
      "Slots of each node: its GPUs, or parts of its CPUs")
      ->capture_default_str();
  add("--min-nodes", settings_.limits.min_nodes, "Nodes that are kept")->capture_default_str();
  add("--max-nodes", settings_.limits.max_nodes, "Most nodes at once")->capture_default_str();
  add("--time-limit", time_limit_, "Time limit of each job, such as 04:00:00; trials go on in the next job");
  add("--idle-timeout", idle_timeout_, "A node that ran nothing for so long goes back")
      ->capture_default_str();
  add("--grace-period", grace_period_, "Before the end of a job, its trials save and leave")
      ->capture_default_str();
  add("--granularity", granularity_,
      "pool: nodes that trials share, one after the other; task: a job for each trial, for sites that "
      "account each "
      "job to a person or a project")
      ->check(CLI::IsMember({"pool", "task"}))
      ->capture_default_str();
  add("--prologue", settings_.prologue,
      "Shell commands on each node before trials, such as 'module load cuda'");
  add("--sbatch-option", settings_.extra, "Further option of sbatch, such as --exclusive; may be repeated");
}

Result<void> SlurmUp::prepare(master::MasterOptions& options, bool port_given, bool address_given) {
  if (!wanted_) return {};
  json::object provider{{"type", "slurm"},
                        {"partition", settings_.partition},
                        {"account", settings_.account},
                        {"qos", settings_.qos},
                        {"gres", settings_.gres},
                        {"cpus_per_node", settings_.cpus_per_node},
                        {"mem", settings_.mem},
                        {"slots_per_node", settings_.limits.slots_per_node},
                        {"min_nodes", settings_.limits.min_nodes},
                        {"max_nodes", settings_.limits.max_nodes},
                        {"idle_timeout", idle_timeout_},
                        {"grace_period", grace_period_},
                        {"granularity", granularity_},
                        {"prologue", settings_.prologue},
                        {"extra", boost::json::value_from(settings_.extra)}};
  if (!time_limit_.empty()) provider["time_limit"] = time_limit_;
  std::vector<Error> problems;
  auto settings = master::read_provider(std::move(provider), "--slurm", problems);
  if (!problems.empty()) return tl::unexpected(join_errors(problems));
  if (!options.providers.empty())
    return invalid_argument("--slurm and the providers of --config-file cannot be used together");

  directory_ = options.directory;
  std::error_code error;
  std::filesystem::create_directories(directory_, error);
  if (error)
    return fail(ErrorCode::Unavailable, "cannot create {}: {}", directory_.string(), error.message());
  if (!address_given) options.address = "0.0.0.0";
  host_ = boost::asio::ip::host_name();
  if (!port_given) {
    const auto known = master::first_line(directory_ / "port");  // jobs that wait know it
    options.port = known.empty() ? std::uint16_t{0} : static_cast<std::uint16_t>(std::atoi(known.c_str()));
  }
  if (options.tls_certificate.empty()) {
    options.tls_certificate = (directory_ / "master.pem").string();
    options.tls_key = (directory_ / "master.key").string();
    if (!std::filesystem::exists(options.tls_key)) {
      DET_TRY(const auto made, http::make_self_signed({host_, "localhost", "127.0.0.1"}));
      for (const auto& [file, text] :
           {std::pair(options.tls_certificate, made.certificate), {options.tls_key, made.key}})
        if (const auto written = master::write_private(file, text); !written) return written;
    }
  }
  options.first_password = master::first_line(directory_ / "password");
  if (options.first_password.empty()) {
    options.first_password = master::random_secret().substr(0, 24);
    const auto kept = master::write_private(directory_ / "password", options.first_password + "\n");
    if (!kept) return kept;
  }

  settings.agent_options = {"--python", default_python()};
  if (const auto path = default_python_path(); !path.empty())
    settings.agent_options.insert(settings.agent_options.end(), {"--python-path", path});
  options.pools.pools.clear();
  options.pools.pools.push_back(
      {.name = "default", .elastic = settings.limits, .provider = describe(settings)});
  options.providers.insert_or_assign("default", std::move(settings));
  return {};
}

std::string SlurmUp::announcement(const master::Master& server) const {
  const auto port = server.port();
  const auto environment = directory_ / "environment";
  const auto written = master::write_private(
      environment, fmt::format("# Of the master of this directory: . {0}\nexport DET_MASTER=https://{1}:{2}\n"
                               "export DET_MASTER_CERT_FILE='{3}/master.pem'\nexport DET_USER=determined\n"
                               "export DET_PASS=\"$(cat '{3}/password')\"\n",
                               environment.string(), host_, port, directory_.string()));
  if (!written) return written.error().message() + "\n";
  std::ofstream(directory_ / "port") << port << "\n";
  return fmt::format(
      "The master is ready; its trials run on {0}.\n"
      "  Watch:  ssh -L {2}:localhost:{2} {1}    on your own machine, then open https://localhost:{2}/det/\n"
      "          (user determined; the password is in {3}/password)\n"
      "  Submit: . {3}/environment && det experiment create const.yaml .\n"
      "  Stop:   det stops with Ctrl-C and trials go on; kill them first to give the machines back\n",
      describe(settings_), host_, port, directory_.string());
}

}  // namespace det::commands
