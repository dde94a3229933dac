-- A database of the shape that release 0.38.1 of the original has, as far as an import reads it, with a few rows of
-- everything. Names and types of the columns are facts; the statements are ours.

CREATE TABLE gopg_migrations (id serial PRIMARY KEY, version bigint, created_at timestamptz);
INSERT INTO gopg_migrations (version, created_at) VALUES (20200401000000, now()), (20250106120000, now());
CREATE TABLE cluster_id (cluster_id text NOT NULL);
INSERT INTO cluster_id VALUES ('6f3ba8cf-3f0f-4a1c-9d0b-0d2e64f4ba7c');

CREATE TYPE experiment_state AS ENUM ('ACTIVE', 'CANCELED', 'COMPLETED', 'ERROR', 'PAUSED', 'STOPPING_CANCELED',
  'STOPPING_COMPLETED', 'STOPPING_ERROR', 'DELETING', 'DELETE_FAILED', 'STOPPING_KILLED', 'QUEUED', 'PULLING',
  'STARTING', 'RUNNING', 'DELETED');
CREATE TYPE trial_state AS ENUM ('ACTIVE', 'CANCELED', 'COMPLETED', 'ERROR', 'PAUSED', 'STOPPING_CANCELED',
  'STOPPING_COMPLETED', 'STOPPING_ERROR', 'STOPPING_KILLED');
CREATE TYPE checkpoint_state AS ENUM ('ACTIVE', 'COMPLETED', 'ERROR', 'DELETED', 'PARTIALLY_DELETED');
CREATE TYPE task_type AS ENUM ('TRIAL', 'NOTEBOOK', 'SHELL', 'COMMAND', 'TENSORBOARD', 'CHECKPOINT_GC', 'GENERIC');
CREATE TYPE allocation_state AS ENUM ('PENDING', 'ASSIGNED', 'PULLING', 'STARTING', 'RUNNING', 'TERMINATING',
  'TERMINATED', 'WAITING');
CREATE TYPE metric_partition_type AS ENUM ('VALIDATION', 'TRAINING', 'GENERIC', 'PROFILING');
CREATE TYPE webhook_type AS ENUM ('DEFAULT', 'SLACK');
CREATE TYPE webhook_mode AS ENUM ('WORKSPACE', 'SPECIFIC');
CREATE TYPE trigger_type AS ENUM ('EXPERIMENT_STATE_CHANGE', 'METRIC_THRESHOLD_EXCEEDED', 'TASK_LOG', 'CUSTOM');
CREATE TYPE workload_type AS ENUM ('UNKNOWN', 'EXPERIMENT', 'NTSC');
CREATE TYPE run_type AS ENUM ('TRIAL');

CREATE TABLE users (
  id serial PRIMARY KEY, username text NOT NULL UNIQUE, password_hash text, admin boolean NOT NULL DEFAULT false,
  active boolean NOT NULL DEFAULT false, display_name text, modified_at timestamptz NOT NULL DEFAULT now(),
  remote boolean NOT NULL DEFAULT false, last_auth_at timestamptz);
CREATE TABLE agent_user_groups (
  id serial PRIMARY KEY, user_id integer NOT NULL UNIQUE, user_ text NOT NULL, uid integer NOT NULL,
  group_ text NOT NULL, gid integer NOT NULL);
CREATE TABLE user_sessions (id serial PRIMARY KEY, user_id integer NOT NULL, expiry timestamptz NOT NULL,
  created_at timestamptz, token_type text, revoked_at timestamptz, description text);
CREATE TABLE user_web_settings (user_id integer NOT NULL, key text NOT NULL, value text, storage_path text);
CREATE TABLE groups (id serial PRIMARY KEY, group_name text NOT NULL UNIQUE, user_id integer);
CREATE TABLE user_group_membership (user_id integer NOT NULL, group_id integer NOT NULL);
CREATE TABLE role_assignment_scopes (id serial PRIMARY KEY, scope_workspace_id integer);
CREATE TABLE role_assignments (group_id integer NOT NULL, role_id integer NOT NULL, scope_id integer NOT NULL);

CREATE TABLE workspaces (
  id serial PRIMARY KEY, name varchar(80) NOT NULL UNIQUE, archived boolean NOT NULL DEFAULT false,
  created_at timestamptz NOT NULL DEFAULT now(), user_id integer NOT NULL, immutable boolean NOT NULL DEFAULT false,
  state text, uid integer, user_ text, gid integer, group_ text, checkpoint_storage_config jsonb,
  default_compute_pool text NOT NULL DEFAULT '', default_aux_pool text NOT NULL DEFAULT '');
CREATE TABLE workspace_pins (workspace_id integer NOT NULL, user_id integer NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now());
CREATE TABLE projects (
  id serial PRIMARY KEY, name varchar(80) NOT NULL, description text, archived boolean NOT NULL DEFAULT false,
  created_at timestamptz NOT NULL DEFAULT now(), notes jsonb NOT NULL DEFAULT '[]', workspace_id integer NOT NULL,
  user_id integer NOT NULL, immutable boolean NOT NULL DEFAULT false, state text, error_message text,
  key varchar(5) NOT NULL UNIQUE);
CREATE TABLE templates (name text PRIMARY KEY, config jsonb NOT NULL, workspace_id integer NOT NULL DEFAULT 1);
CREATE TABLE task_config_policies (
  workspace_id integer, workload_type workload_type NOT NULL, last_updated_by integer NOT NULL,
  last_updated_time timestamptz NOT NULL, invariant_config jsonb, constraints jsonb);
CREATE TABLE webhooks (id serial PRIMARY KEY, url text NOT NULL, webhook_type webhook_type NOT NULL, name text,
  workspace_id integer, mode webhook_mode NOT NULL DEFAULT 'WORKSPACE');
CREATE TABLE webhook_triggers (id serial PRIMARY KEY, trigger_type trigger_type NOT NULL, condition jsonb NOT NULL,
  webhook_id integer NOT NULL);

CREATE TABLE jobs (job_id text PRIMARY KEY, job_type text NOT NULL, owner_id integer, q_position numeric);
CREATE TABLE experiments (
  id serial PRIMARY KEY, state experiment_state NOT NULL, config jsonb NOT NULL, model_definition bytea,
  start_time timestamptz NOT NULL, end_time timestamptz, archived boolean NOT NULL DEFAULT false, parent_id integer,
  git_remote text, git_commit text, git_committer text, git_commit_date timestamp, owner_id integer NOT NULL,
  progress double precision, original_config text NOT NULL, notes text NOT NULL DEFAULT '', job_id text NOT NULL,
  project_id integer NOT NULL DEFAULT 1, checkpoint_size bigint NOT NULL DEFAULT 0,
  checkpoint_count integer NOT NULL DEFAULT 0, best_trial_id integer, unmanaged boolean NOT NULL DEFAULT false,
  external_experiment_id text UNIQUE);
CREATE TABLE runs (
  id serial PRIMARY KEY, run_type run_type NOT NULL DEFAULT 'TRIAL', experiment_id integer NOT NULL,
  state trial_state NOT NULL, start_time timestamptz NOT NULL, end_time timestamptz, hparams jsonb,
  warm_start_checkpoint_id integer, best_validation_id integer, latest_validation_id integer, runner_state text,
  restart_id integer NOT NULL DEFAULT 0, restarts integer NOT NULL DEFAULT 0, tags jsonb, summary_metrics jsonb,
  summary_metrics_timestamp timestamptz, total_batches integer NOT NULL DEFAULT 0, last_activity timestamptz,
  searcher_metric_value double precision, searcher_metric_value_signed double precision, external_run_id text,
  checkpoint_size bigint NOT NULL DEFAULT 0, checkpoint_count integer NOT NULL DEFAULT 0, project_id integer,
  log_retention_days smallint, log_policy_matched text, local_id integer);
CREATE INDEX ON runs (experiment_id);
CREATE TABLE trials_v2 (run_id integer PRIMARY KEY, request_id text, seed integer NOT NULL DEFAULT 0);
CREATE TABLE runs_metadata (run_id integer PRIMARY KEY, metadata jsonb);
CREATE TABLE run_hparams (run_id integer, hparam text, number_val double precision, text_val text, bool_val boolean);
CREATE TABLE tasks (
  task_id text PRIMARY KEY, task_type task_type NOT NULL, start_time timestamptz NOT NULL, end_time timestamptz,
  job_id text, log_version smallint NOT NULL DEFAULT 0, log_retention_days smallint, config jsonb);
CREATE TABLE run_id_task_id (run_id integer NOT NULL, task_id text NOT NULL, PRIMARY KEY (run_id, task_id));
CREATE TABLE allocations (
  allocation_id text PRIMARY KEY, task_id text NOT NULL, slots smallint NOT NULL, resource_pool text NOT NULL,
  start_time timestamptz, end_time timestamptz, state allocation_state NOT NULL, is_ready boolean, ports jsonb,
  proxy_address text, exit_reason text, exit_error text, status_code integer);
CREATE TABLE allocation_accelerators (id serial PRIMARY KEY, container_id text NOT NULL, allocation_id text NOT NULL,
  node_name text NOT NULL, accelerator_type text NOT NULL, accelerator_uuids text[]);

CREATE SEQUENCE metrics_id_seq;
CREATE TABLE metrics (
  trial_id integer NOT NULL, end_time timestamptz, metrics jsonb, total_batches integer,
  trial_run_id integer NOT NULL DEFAULT 0, archived boolean NOT NULL DEFAULT false,
  id integer NOT NULL DEFAULT nextval('metrics_id_seq'), metric_group text,
  partition_type metric_partition_type NOT NULL DEFAULT 'GENERIC') PARTITION BY LIST (partition_type);
CREATE TABLE raw_validations PARTITION OF metrics FOR VALUES IN ('VALIDATION');
CREATE TABLE raw_steps PARTITION OF metrics FOR VALUES IN ('TRAINING');
CREATE TABLE generic_metrics PARTITION OF metrics FOR VALUES IN ('GENERIC');
CREATE TABLE system_metrics PARTITION OF metrics FOR VALUES IN ('PROFILING');
CREATE INDEX ON metrics (trial_id, total_batches);

CREATE TABLE checkpoints_v2 (
  id serial PRIMARY KEY, uuid uuid NOT NULL UNIQUE, task_id text NOT NULL, allocation_id text,
  report_time timestamptz NOT NULL, state checkpoint_state NOT NULL, resources jsonb, metadata jsonb NOT NULL,
  size bigint NOT NULL DEFAULT 0, storage_id integer);
CREATE TABLE run_checkpoints (run_id integer NOT NULL, checkpoint_id uuid NOT NULL,
  PRIMARY KEY (run_id, checkpoint_id));
CREATE TABLE task_logs (
  id bigserial PRIMARY KEY, task_id text NOT NULL, log bytea NOT NULL, allocation_id text, agent_id text,
  container_id text, rank_id smallint, "timestamp" timestamptz, level text, stdtype text, source text);
CREATE TABLE models (
  id serial PRIMARY KEY, name text NOT NULL UNIQUE, description text, creation_time timestamptz NOT NULL,
  last_updated_time timestamptz, metadata jsonb, labels text[], user_id integer NOT NULL,
  archived boolean NOT NULL DEFAULT false, notes text, workspace_id integer NOT NULL DEFAULT 1);
CREATE TABLE model_versions (
  id serial PRIMARY KEY, version integer NOT NULL, checkpoint_uuid uuid NOT NULL, creation_time timestamptz NOT NULL,
  last_updated_time timestamptz, metadata jsonb, model_id integer NOT NULL, name text, comment text, notes text,
  labels text[], user_id integer NOT NULL);

-- admin has no password; ada's is "Lovelace1": bcrypt of what clients send for it.
INSERT INTO users (username, password_hash, admin, active, display_name, modified_at) VALUES
  ('admin', NULL, true, true, NULL, '2025-01-02 03:04:05.678+00'),
  ('determined', NULL, false, true, NULL, '2025-01-02 03:04:05+00'),
  ('ada', '$2a$05$abcdefghijklmnopqrstuuG6M5kUqUjS/aJCaj2cWVXgssF1mP14G', true, true, 'Ada L.', '2025-02-03 04:05:06+00');
INSERT INTO agent_user_groups (user_id, user_, uid, group_, gid) VALUES (3, 'ada', 1815, 'analysts', 1843);
INSERT INTO user_sessions (user_id, expiry) VALUES (3, now() + interval '7 days');
INSERT INTO groups (group_name, user_id) VALUES ('analysts', NULL), ('admin.DetPersonal', 1);
INSERT INTO user_group_membership VALUES (3, 1), (1, 2);
INSERT INTO role_assignment_scopes (scope_workspace_id) VALUES (NULL), (2);
INSERT INTO role_assignments VALUES (1, 5, 2), (2, 1, 1);
INSERT INTO workspaces (name, user_id, immutable, created_at) VALUES ('Uncategorized', 1, true, '2024-01-01 00:00:00+00');
INSERT INTO workspaces (name, user_id, created_at, uid, user_, checkpoint_storage_config, default_compute_pool) VALUES
  ('Engines', 3, '2024-02-01 00:00:00+00', 7, 'seven', '{"type": "shared_fs", "host_path": "/srv/ckpt"}', 'gpu');
INSERT INTO workspace_pins (workspace_id, user_id, created_at) VALUES (2, 3, '2024-03-01 00:00:00+00');
INSERT INTO projects (name, workspace_id, user_id, immutable, key, description) VALUES
  ('Uncategorized', 1, 1, true, 'UN', '');
INSERT INTO projects (name, workspace_id, user_id, key, description, notes) VALUES
  ('Analytical', 2, 3, 'ANA', 'of the engine', '[{"name": "Plan", "contents": "more brass"}]');
INSERT INTO templates VALUES ('small', '{"resources": {"slots_per_trial": 1}}', 2);
INSERT INTO task_config_policies VALUES
  (2, 'EXPERIMENT', 3, now(), '{"max_restarts": 2}', '{"resources": {"max_slots": 4}}');
INSERT INTO webhooks (url, webhook_type, name, workspace_id) VALUES ('https://hooks.example.com/a', 'SLACK', 'ends', 2),
  ('https://hooks.example.com/b', 'DEFAULT', NULL, NULL);
INSERT INTO webhook_triggers (trigger_type, condition, webhook_id) VALUES
  ('EXPERIMENT_STATE_CHANGE', '{"state": "COMPLETED"}', 1), ('TASK_LOG', '{"regex": ".*out of memory.*"}', 1),
  ('METRIC_THRESHOLD_EXCEEDED', '{}', 2);

-- Experiment 1 has ended, 2 runs, 3 was deleted, 4 runs outside the cluster. 5 has the files of 1.
INSERT INTO experiments (id, state, config, model_definition, start_time, end_time, owner_id, progress, original_config,
  notes, job_id, project_id, git_remote, git_commit, git_committer, git_commit_date) VALUES
  (1, 'COMPLETED', '{"name": "difference", "description": "first", "labels": ["brass", "steam"],
    "entrypoint": "model_def:Engine", "searcher": {"name": "random", "metric": "loss", "smaller_is_better": true,
    "max_trials": 2, "max_length": {"batches": 300}}, "hyperparameters": {"lr": {"type": "const", "val": 0.1}},
    "resources": {"resource_pool": "gpu", "slots_per_trial": 1},
    "checkpoint_storage": {"type": "shared_fs", "host_path": "@STORAGE@", "save_trial_best": 1}}',
    '\x1f8b0000', '2025-03-01 10:00:00+00', '2025-03-01 11:00:00+00', 3, 1, 'name: difference  # mine', 'It computes.',
    'aaaaaaaa-0000-4000-8000-000000000001', 2, 'git@example.com:e.git', 'abc123', 'Ada', '2025-02-28 09:00:00');
INSERT INTO experiments (id, state, config, model_definition, start_time, owner_id, progress, original_config, job_id,
  archived, parent_id) VALUES
  (2, 'ACTIVE', '{"name": "running", "searcher": {"name": "single", "metric": "loss", "max_length": {"batches": 9}},
    "hyperparameters": {}, "checkpoint_storage": {"type": "shared_fs", "host_path": "@STORAGE@"}}', '\x1f8b0001',
    '2025-03-02 10:00:00+00', 1, 0.5, 'name: running', 'aaaaaaaa-0000-4000-8000-000000000002', false, 1),
  (3, 'DELETED', '{"name": "gone"}', NULL, '2025-03-02 10:00:00+00', 1, 0, '', 'aaaaaaaa-0000-4000-8000-000000000003',
    false, NULL),
  (5, 'ERROR', '{"name": "failed", "searcher": {"name": "single", "metric": "loss", "max_length": {"batches": 9}},
    "hyperparameters": {}, "checkpoint_storage": {"type": "shared_fs", "host_path": "@STORAGE@"}}', '\x1f8b0000',
    '2025-03-02 10:00:00+00', 2, 0, 'name: failed', 'aaaaaaaa-0000-4000-8000-000000000005', true, NULL);
INSERT INTO experiments (id, state, config, start_time, owner_id, original_config, job_id, unmanaged,
  external_experiment_id) VALUES
  (4, 'COMPLETED', '{"name": "outside", "searcher": {"name": "single", "metric": "unmanaged", "max_length": 100},
    "hyperparameters": {}, "checkpoint_storage": {"type": "shared_fs", "host_path": "@STORAGE@"}}',
    '2025-03-03 10:00:00+00', 3, '', 'aaaaaaaa-0000-4000-8000-000000000004', true, 'notebook-7');
SELECT setval('experiments_id_seq', 5);
INSERT INTO runs (id, experiment_id, state, start_time, end_time, hparams, restart_id, restarts, total_batches,
  searcher_metric_value, runner_state) VALUES
  (11, 1, 'COMPLETED', '2025-03-01 10:00:10+00', '2025-03-01 10:30:00+00', '{"lr": 0.1, "inf": "Infinity"}', 2, 1, 300,
    0.25, 'exiting'),
  (12, 1, 'ERROR', '2025-03-01 10:00:20+00', '2025-03-01 10:40:00+00', '{"lr": 0.2}', 1, 5, 100, 'NaN', ''),
  (13, 2, 'ACTIVE', '2025-03-02 10:00:10+00', NULL, '{}', 1, 0, 5, NULL, 'training'),
  (14, 4, 'COMPLETED', '2025-03-03 10:00:10+00', '2025-03-03 10:10:00+00', '{}', 0, 0, 1, NULL, NULL);
UPDATE runs SET external_run_id = 'cell-3' WHERE id = 14;
SELECT setval('runs_id_seq', 14);
INSERT INTO trials_v2 VALUES (11, '11111111-1111-4111-8111-111111111111', 77), (12, '22222222-2222-4222-8222-222222222222', 78),
  (13, '33333333-3333-4333-8333-333333333333', 79), (14, NULL, 0);
INSERT INTO runs_metadata VALUES (11, '{"dataset": {"rows": 1000}}');
INSERT INTO tasks (task_id, task_type, start_time, job_id, log_version) VALUES
  ('1.11111111-1111-4111-8111-111111111111', 'TRIAL', '2025-03-01 10:00:10+00', 'aaaaaaaa-0000-4000-8000-000000000001', 1),
  ('1.11111111-1111-4111-8111-111111111111-1', 'TRIAL', '2025-03-01 10:20:00+00', NULL, 1),
  ('1.22222222-2222-4222-8222-222222222222', 'TRIAL', '2025-03-01 10:00:20+00', NULL, 1),
  ('2.33333333-3333-4333-8333-333333333333', 'TRIAL', '2025-03-02 10:00:10+00', NULL, 1),
  ('99999999-0000-4000-8000-000000000009', 'NOTEBOOK', '2025-03-02 10:00:10+00', NULL, 1);
INSERT INTO run_id_task_id VALUES (11, '1.11111111-1111-4111-8111-111111111111'),
  (11, '1.11111111-1111-4111-8111-111111111111-1'), (12, '1.22222222-2222-4222-8222-222222222222'),
  (13, '2.33333333-3333-4333-8333-333333333333');
INSERT INTO allocations (allocation_id, task_id, slots, resource_pool, start_time, end_time, state, exit_reason) VALUES
  ('1.11111111-1111-4111-8111-111111111111.1', '1.11111111-1111-4111-8111-111111111111', 2, 'gpu',
    '2025-03-01 10:00:10+00', '2025-03-01 10:10:10+00', 'TERMINATED', 'allocation exited'),
  ('1.11111111-1111-4111-8111-111111111111-1.1', '1.11111111-1111-4111-8111-111111111111-1', 2, 'gpu',
    '2025-03-01 10:20:00+00', '2025-03-01 10:30:00+00', 'TERMINATED', '');
INSERT INTO allocation_accelerators (container_id, allocation_id, node_name, accelerator_type, accelerator_uuids)
  VALUES ('c', '1.11111111-1111-4111-8111-111111111111.1', 'node-a', 'NVIDIA A100', '{GPU-1,GPU-2}');

INSERT INTO metrics (trial_id, end_time, metrics, total_batches, trial_run_id, archived, partition_type, metric_group)
SELECT 11, timestamptz '2025-03-01 10:01:00+00' + n * interval '1 second',
  jsonb_build_object('avg_metrics', jsonb_build_object('loss', 1.0 / n), 'batch_metrics', '[]'::jsonb), n, 1, false,
  'TRAINING', 'training'
FROM generate_series(1, 300) n;
INSERT INTO metrics (trial_id, end_time, metrics, total_batches, trial_run_id, archived, partition_type, metric_group)
VALUES
  (11, '2025-03-01 10:05:00+00', '{"validation_metrics": {"loss": 0.5, "name": "half"}}', 100, 1, false, 'VALIDATION', 'validation'),
  (11, '2025-03-01 10:09:00+00', '{"validation_metrics": {"loss": 0.9}}', 300, 1, true, 'VALIDATION', 'validation'),
  (11, '2025-03-01 10:25:00+00', '{"validation_metrics": {"loss": 0.25}}', 300, 2, false, 'VALIDATION', 'validation'),
  (12, '2025-03-01 10:25:00+00', '{"validation_metrics": {"loss": "NaN"}}', 100, 1, false, 'VALIDATION', NULL),
  (11, '2025-03-01 10:25:00+00', '{"avg_metrics": {"f1": 0.75, "best": "Infinity"}}', 300, 2, false, 'GENERIC', 'test'),
  (11, '2025-03-01 10:25:01+00', '{"avg_metrics": {"cpu_util_simple": 12.5}}', NULL, 2, false, 'PROFILING', 'cpu'),
  (13, '2025-03-02 10:05:00+00', '{"avg_metrics": {"loss": 3}, "batch_metrics": [{"loss": 3}]}', 5, 1, false, 'TRAINING', 'training'),
  (999, '2025-03-02 10:05:00+00', '{"avg_metrics": {"loss": 3}}', 5, 1, false, 'TRAINING', 'training');

INSERT INTO checkpoints_v2 (uuid, task_id, allocation_id, report_time, state, resources, metadata, size) VALUES
  ('cccccccc-0000-4000-8000-000000000001', '1.11111111-1111-4111-8111-111111111111',
    '1.11111111-1111-4111-8111-111111111111.1', '2025-03-01 10:05:01+00', 'DELETED', '{}',
    '{"steps_completed": 100, "framework": "torch-1.12"}', 0),
  ('cccccccc-0000-4000-8000-000000000002', '1.11111111-1111-4111-8111-111111111111-1',
    '1.11111111-1111-4111-8111-111111111111-1.1', '2025-03-01 10:25:01+00', 'COMPLETED',
    '{"state_dict.pth": 11, "code/": 0, "metadata.json": 24}', '{"steps_completed": 300}', 35),
  ('cccccccc-0000-4000-8000-000000000003', 'none', NULL, '2025-03-01 10:25:01+00', 'COMPLETED', '{}', '{}', 0);
INSERT INTO run_checkpoints VALUES (11, 'cccccccc-0000-4000-8000-000000000001'),
  (11, 'cccccccc-0000-4000-8000-000000000002');
INSERT INTO task_logs (task_id, log, allocation_id, agent_id, container_id, rank_id, "timestamp", level, stdtype, source) VALUES
  ('1.11111111-1111-4111-8111-111111111111', 'starting\012', '1.11111111-1111-4111-8111-111111111111.1', 'node-a',
    'c', 0, '2025-03-01 10:00:30+00', 'INFO', 'stdout', 'task'),
  ('99999999-0000-4000-8000-000000000009', 'a notebook', NULL, NULL, NULL, NULL, '2025-03-01 10:00:31+00', NULL, NULL, NULL),
  ('1.11111111-1111-4111-8111-111111111111-1', 'continued', NULL, NULL, NULL, NULL, '2025-03-01 10:20:30+00', 'UNSPECIFIED',
    'stderr', 'master');
INSERT INTO models (name, description, creation_time, last_updated_time, metadata, labels, user_id, notes, workspace_id) VALUES
  ('engine', 'the best', '2025-04-01 00:00:00+00', '2025-04-02 00:00:00+00', '{"task": "sums"}', '{brass,"two words"}', 3,
    'kept', 2);
INSERT INTO model_versions (version, checkpoint_uuid, creation_time, model_id, name, comment, labels, user_id) VALUES
  (1, 'cccccccc-0000-4000-8000-000000000002', '2025-04-01 00:00:00+00', 1, 'one', 'first', '{final}', 3),
  (2, 'cccccccc-0000-4000-8000-000000000003', '2025-04-01 00:00:00+00', 1, 'two', '', NULL, 3);
