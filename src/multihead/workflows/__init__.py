"""The whole roads: what the commands do, without a command line. Every room below is put together here."""
