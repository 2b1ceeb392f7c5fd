-- PostgreSQL runs this once, for a new volume. The service's role is not a superuser, because superusers can run
-- programs.
\set password `cat /run/secrets/database-password`
CREATE ROLE hosting_api LOGIN PASSWORD :'password';
CREATE DATABASE hosting_api OWNER hosting_api;
-- The image gave the superuser the same password. Without a password, the superuser cannot log in over the network.
ALTER ROLE postgres PASSWORD NULL;
