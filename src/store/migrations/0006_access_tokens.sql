-- Tokens that users make for their programs; the hash is that of a session.

CREATE TABLE access_tokens (
  id INTEGER PRIMARY KEY,
  user_id INTEGER NOT NULL,
  description TEXT NOT NULL,
  creation_time INTEGER NOT NULL,
  expires INTEGER NOT NULL,
  revoked INTEGER NOT NULL,
  token_hash TEXT NOT NULL
);
