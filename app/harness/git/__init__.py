"""The repository of a project as its operator works in it: status, staging, commits and branches."""
