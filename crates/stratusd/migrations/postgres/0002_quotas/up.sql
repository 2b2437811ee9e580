-- The quotas that an inventory sets for a project. The settings have those of all other projects.
CREATE TABLE project_quota (
    project_id TEXT COLLATE "C" NOT NULL REFERENCES project (id),
    kind TEXT COLLATE "C" NOT NULL,
    most BIGINT NOT NULL,
    PRIMARY KEY (project_id, kind)
);

-- The counts of the kinds that were not counted before.
INSERT INTO resource_count (project_id, kind, location, slot, items)
    SELECT project_id, 'private_subnet', location, 0, COUNT(*) FROM private_subnet GROUP BY project_id, location;
INSERT INTO resource_count (project_id, kind, location, slot, items)
    SELECT project_id, 'firewall', location, 0, COUNT(*) FROM firewall GROUP BY project_id, location;
INSERT INTO resource_count (project_id, kind, location, slot, items)
    SELECT project_id, 'inference_api_key', '', 0, COUNT(*) FROM inference_api_key GROUP BY project_id;

-- Returns a quota and its use, for a transaction that makes resources of this kind.
--
-- A transaction does not see what the others have not committed yet. There are fewer of them than the server has
-- connections, so as long as the use is further from the quota than that, they may run beside each other. They share a
-- lock. Nearer to the quota, a transaction takes the lock for itself, so it sees what all others have made.
--
-- In a function, because each of its statements reads the latest state, which must be read after the lock was taken,
-- and one call takes one round trip.
CREATE FUNCTION stratus_quota_usage(project TEXT, counted TEXT, standard BIGINT, OUT most BIGINT, OUT items BIGINT)
LANGUAGE plpgsql AS $$
DECLARE
    beside CONSTANT BIGINT := current_setting('max_connections');
    lock CONSTANT BIGINT := hashtextextended(project || ' ' || counted, 7597127);
BEGIN
    SELECT COALESCE((SELECT q.most FROM project_quota AS q WHERE q.project_id = project AND q.kind = counted), standard)
        INTO most;
    SELECT COALESCE(SUM(c.items), 0) INTO items FROM resource_count AS c
        WHERE c.project_id = project AND c.kind = counted;
    IF items + beside < most THEN
        PERFORM pg_advisory_xact_lock_shared(lock);
        SELECT COALESCE(SUM(c.items), 0) INTO items FROM resource_count AS c
            WHERE c.project_id = project AND c.kind = counted;
        IF items + beside < most THEN
            RETURN;
        END IF;
        -- A shared lock that becomes an exclusive one is a deadlock if two transactions do it at once. So the
        -- transaction runs again, and finds at once that it is near the quota.
        RAISE serialization_failure;
    END IF;
    PERFORM pg_advisory_xact_lock(lock);
    SELECT COALESCE(SUM(c.items), 0) INTO items FROM resource_count AS c
        WHERE c.project_id = project AND c.kind = counted;
END
$$;
