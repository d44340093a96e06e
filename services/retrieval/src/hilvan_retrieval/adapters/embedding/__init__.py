"""Embedders: a local ONNX model, an inference server, a query cache, and a double for tests."""
