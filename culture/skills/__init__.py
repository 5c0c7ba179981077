"""The built-in skills of the server. They do not import each other."""
