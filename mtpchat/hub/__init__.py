"""Fetching models from a hub that speaks Hugging Face's API. Nothing here runs unless the user asked for a file."""
