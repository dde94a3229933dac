-- Experiments and trials whose processes run outside the cluster, and the names that these processes gave
-- them: an empty name is none.

CREATE TABLE unmanaged_experiments (
  experiment_id INTEGER PRIMARY KEY,
  external_id   TEXT NOT NULL
);

CREATE TABLE unmanaged_trials (
  trial_id      INTEGER PRIMARY KEY,
  experiment_id INTEGER NOT NULL,
  external_id   TEXT NOT NULL
);
CREATE INDEX unmanaged_trials_of_experiment ON unmanaged_trials (experiment_id);
