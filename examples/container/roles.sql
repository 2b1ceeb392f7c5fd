-- PostgreSQL runs this once, when it creates its volume. A superuser can run programs, so the role of the service is none.
\set password `cat /run/secrets/database-password`
CREATE ROLE hosting_api LOGIN PASSWORD :'password';
CREATE DATABASE hosting_api OWNER hosting_api;
-- The image has given the superuser the same password. Without one, it cannot sign in over the network.
ALTER ROLE postgres PASSWORD NULL;
