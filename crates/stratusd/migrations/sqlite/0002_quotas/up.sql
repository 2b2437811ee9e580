-- The quotas that an inventory sets for a project. The settings have those of all other projects.
CREATE TABLE project_quota (
    project_id TEXT NOT NULL REFERENCES project (id),
    kind TEXT NOT NULL,
    most INTEGER NOT NULL,
    PRIMARY KEY (project_id, kind)
) STRICT, WITHOUT ROWID;

-- The counts of the kinds that were not counted before.
INSERT INTO resource_count (project_id, kind, location, slot, items)
    SELECT project_id, 'private_subnet', location, 0, COUNT(*) FROM private_subnet GROUP BY project_id, location;
INSERT INTO resource_count (project_id, kind, location, slot, items)
    SELECT project_id, 'firewall', location, 0, COUNT(*) FROM firewall GROUP BY project_id, location;
INSERT INTO resource_count (project_id, kind, location, slot, items)
    SELECT project_id, 'inference_api_key', '', 0, COUNT(*) FROM inference_api_key GROUP BY project_id;
