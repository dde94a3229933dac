#pragma once

#include "det/store/sql/sql.h"
#include "det/store/store.h"

/// Experiments with their documents and labels, and model definitions.
namespace det::store {

void put_experiment(Connection& connection, const ExperimentRecord& record);
/// Removes what is small and marks metrics and logs for purge.h.
void delete_experiment(Connection& connection, ExperimentId id);
void put_search(Connection& connection, const PutSearch& put);
void put_model_definition(Connection& connection, const PutModelDefinition& put);

std::vector<ExperimentRecord> read_experiments(Connection& connection);
std::optional<ExperimentRecord> read_experiment(Connection& connection, ExperimentId id);
std::map<ExperimentId, ExperimentRecord> read_experiments_by_id(Connection& connection,
                                                                const std::vector<ExperimentId>& ids);
std::optional<json::value> read_search(Connection& connection, ExperimentId id);
std::optional<std::string> read_model_definition(Connection& connection, const std::string& digest);

}  // namespace det::store
