-- The response to each request that was sent with an idempotency key, until it expires. `id` is a hash of token, operation and key.
CREATE TABLE idempotency (
    project_id TEXT COLLATE "C" NOT NULL REFERENCES project (id),
    id BYTEA NOT NULL,
    sealed BYTEA NOT NULL,
    expires_at BIGINT NOT NULL,
    PRIMARY KEY (project_id, id)
);

CREATE INDEX idempotency_by_expiry ON idempotency (expires_at);
