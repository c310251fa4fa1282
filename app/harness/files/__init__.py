"""The files of projects as clients read them: trees with git's view of them, contents, search by name."""
