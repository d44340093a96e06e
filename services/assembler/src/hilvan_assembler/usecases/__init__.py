"""The async layer between the wire and the adapters: one module a concern."""
