-- What a chart needs of 64 consecutive reports of a curve, so that a long curve is drawn without reading all of them.
CREATE TABLE metric_blocks (
  trial_id INTEGER NOT NULL,
  metric_group TEXT NOT NULL,
  up_to_batches INTEGER NOT NULL,
  body BLOB NOT NULL,
  PRIMARY KEY (trial_id, metric_group, up_to_batches)
) WITHOUT ROWID;
