-- The first key of a project to expire is looked up when the project may have no more.
CREATE INDEX idempotency_of_project_by_expiry ON idempotency (project_id, expires_at);
