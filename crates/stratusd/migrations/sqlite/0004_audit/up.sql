-- The audit trail: an entry for each change of what a project owns, written in the transaction of the change. An entry outlives
-- its project, so no foreign key refers to that. `number` orders the entries that a project has in one millisecond.
CREATE TABLE audit (
    project_id TEXT NOT NULL,
    at INTEGER NOT NULL,
    number INTEGER NOT NULL,
    principal TEXT NOT NULL,
    operation TEXT NOT NULL,
    resource TEXT NOT NULL,
    request_id TEXT,
    PRIMARY KEY (project_id, at, number)
) STRICT, WITHOUT ROWID;

CREATE INDEX audit_by_time ON audit (at);
