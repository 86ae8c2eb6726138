"""Here so that tests/ is on the path and every test can `import harness`."""
