#pragma once

#include <optional>
#include <string>
#include <vector>

namespace det::commands::doctor {

/// What `det doctor` found on a machine. A text that is empty: there is none.
struct Facts {
  std::string version;  ///< this program's

  std::string python;           ///< its path
  std::string python_error;     ///< why it did not run
  std::string python_version;   ///< "3.11.2"
  std::string package_version;  ///< of `determined` in it
  std::string torch_version;    ///< of PyTorch in it
  std::string tensorflow_version;
  std::optional<bool> torch_sees_gpu;  ///< asked only where there is a GPU

  int gpus = 0;  ///< of the driver
  std::string compiler, git, sshd;

  int port = 8080;
  std::string port_user;  ///< "a Determined master 0.39.0", "another program"; empty: the port is free

  std::string directory;        ///< where `det up` keeps its state
  std::string directory_error;  ///< why nothing can be written there
  double free_gb = 0;           ///< of the disk of that directory
  double shared_memory_gb = 0;  ///< of /dev/shm

  std::string config_file;    ///< whose checkpoint_storage was tried
  std::string storage;        ///< "s3 bucket models"
  std::string storage_error;  ///< why it cannot be used

  std::string master;          ///< $DET_MASTER
  std::string master_version;  ///< what it answered
};

enum class Verdict { Ok, Note, Problem };

struct Check {
  std::string name;
  Verdict verdict = Verdict::Ok;
  std::string found;
  std::string advice;  ///< What to do; empty: nothing.
};

/// A check for each thing that training needs (a Problem where it is not there) or that some trials need (a
/// Note).
std::vector<Check> checks_of(const Facts& facts);

}  // namespace det::commands::doctor
