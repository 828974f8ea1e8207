"""SQLAlchemy Core over SQLite, PostgreSQL and MySQL/MariaDB."""
