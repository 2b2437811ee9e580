-- The response to each request that was sent with an idempotency key, until it expires. `id` is a hash of token, operation and key.
CREATE TABLE idempotency (
    project_id TEXT NOT NULL REFERENCES project (id),
    id BLOB NOT NULL,
    sealed BLOB NOT NULL,
    expires_at INTEGER NOT NULL,
    PRIMARY KEY (project_id, id)
) STRICT, WITHOUT ROWID;

CREATE INDEX idempotency_by_expiry ON idempotency (expires_at);
