-- Sums over the reports of each block, beside their extremes. A block without them is stale: the writer makes it anew when
-- it has nothing else to do, also those that were there before this column.
ALTER TABLE metric_blocks ADD COLUMN sums BLOB;
CREATE INDEX stale_metric_blocks ON metric_blocks (trial_id, metric_group, up_to_batches) WHERE sums IS NULL;
