"""Prompt templates and personas: small TOML files, those that ship and those of the user's own."""
