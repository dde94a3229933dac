-- Remote users are those that single sign-on knows. They have no password here.
ALTER TABLE users ADD COLUMN remote INTEGER NOT NULL DEFAULT 0;
