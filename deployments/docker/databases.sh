#!/bin/sh
# Run once by the PostgreSQL image, on an empty data folder: a user and a database each for Prefect and Patra.
set -eu

database() {
    psql --quiet --set ON_ERROR_STOP=1 --username postgres --set name="$1" --set password="$2" <<'SQL'
CREATE ROLE :"name" LOGIN PASSWORD :'password';
CREATE DATABASE :"name" OWNER :"name";
REVOKE CONNECT ON DATABASE :"name" FROM PUBLIC;
SQL
}

database prefect "$DATABASE_PASSWORD_PREFECT"
database patra "$DATABASE_PASSWORD_PATRA"
