-- The last four characters of a key, by which callers tell it from others. NULL for keys of which only the hash was stored.
ALTER TABLE inference_api_key ADD COLUMN ending TEXT;
