#pragma once

#include <filesystem>
#include <string>

namespace det::commands {

/// `$XDG_STATE_HOME/determined`, else `~/.local/state/determined`.
std::filesystem::path default_directory();

/// `$DET_PYTHON`; else the Python beside this program, as in a virtual environment that `det`
/// is installed in; else that of `$VIRTUAL_ENV`; else `python3`.
std::string default_python();

/// The directory with the package `determined`, where it lies beside the program or
/// `$DET_PYTHON_PATH` names it; empty: it is installed.
std::string default_python_path();

/// `$DET_TRIAL_PROGRAM`, else `det-trial` beside this program; empty: there is none.
std::string default_cxx_program();

/// In a wheel the program lies in a folder of `lib/python3.*/site-packages`, and nothing is beside it: then
/// `$DET_PYTHON` and `$DET_TRIAL_PROGRAM`, where nobody has set them, become those of that environment.
void find_programs_of_wheel();

}  // namespace det::commands
