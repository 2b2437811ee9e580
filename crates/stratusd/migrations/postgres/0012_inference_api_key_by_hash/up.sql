-- The gateway finds a key by the hash of what a caller presents. Not unique: a unique index of a distributed table must lead with project_id, and 190 random bits do not repeat.
CREATE INDEX inference_api_key_by_hash ON inference_api_key (hash);
