-- Checkpoints that trials evaluate, or go on from, and the version of a model that they found them by.
CREATE TABLE trial_sources (
  trial_id      INTEGER NOT NULL,
  checkpoint    TEXT NOT NULL,
  kind          TEXT NOT NULL,
  model         INTEGER NOT NULL,
  model_version INTEGER NOT NULL,
  PRIMARY KEY (trial_id, checkpoint)
);
CREATE INDEX trial_sources_of_checkpoint ON trial_sources (checkpoint);
CREATE INDEX trial_sources_of_model ON trial_sources (model) WHERE model <> 0;
