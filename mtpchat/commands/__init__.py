"""What the user may say with a slash.

A command is one decorated function; menu, help, palette and the README's table follow from the registry.
"""
