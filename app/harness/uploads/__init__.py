"""Files that people hand in: received, kept beside the database, used once, placed into projects."""
