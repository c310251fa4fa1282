"""What a cage is, as data: its grants, compiled from a project file, a plugin's manifest or the daemon."""
