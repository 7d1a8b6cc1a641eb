"""HTTP server for trained translators: request parsing, dynamic batching and routes."""
