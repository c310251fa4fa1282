"""Tools that look through the project: text, names, syntax trees."""
