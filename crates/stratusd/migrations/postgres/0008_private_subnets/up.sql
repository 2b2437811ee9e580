-- The image that a virtual machine was started from, if an inventory declares it.
ALTER TABLE vm ADD COLUMN boot_image TEXT COLLATE "C";

-- The orders of the lists of private subnets.
CREATE INDEX private_subnet_by_location ON private_subnet (project_id, location, id);
CREATE INDEX private_subnet_by_name ON private_subnet (project_id, name, id);
