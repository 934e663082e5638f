"""Code Arena: tournaments of models that compete through the codebases they own."""

__version__ = "0.1.0"
SCHEMA_VERSION = 1
