"""What git prints, read: the hunks of a diff, the files of a status."""
