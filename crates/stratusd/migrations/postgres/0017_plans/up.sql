-- Both indexes have all columns of their tables. Without the last one, a planner that takes a project for small preferred the
-- primary key, which has all columns, and read all rows of the project in it.
-- Programs before this one read the same: `oldest_reader` stays what it is.
CREATE INDEX firewall_subnet_of_subnet ON firewall_subnet (project_id, subnet_id, firewall_id);
DROP INDEX firewall_subnet_by_subnet;
CREATE INDEX private_subnet_link_of_high ON private_subnet_link (project_id, high_id, low_id);
DROP INDEX private_subnet_link_by_high;
