-- svc's four logins, with the password that compose.yaml gives to the nodes. The image of Postgres runs this once, as it creates
-- its data directory; `svc migrate --admin-url` finds the logins there and creates the rest.
\getenv password DATABASE_PASSWORD
CREATE ROLE svc_owner LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE NOINHERIT NOREPLICATION NOBYPASSRLS PASSWORD :'password';
CREATE ROLE svc_writer LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE NOINHERIT NOREPLICATION NOBYPASSRLS PASSWORD :'password';
CREATE ROLE svc_app LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE NOINHERIT NOREPLICATION NOBYPASSRLS PASSWORD :'password';
CREATE ROLE svc_audit_reader LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE NOINHERIT NOREPLICATION NOBYPASSRLS PASSWORD :'password';
