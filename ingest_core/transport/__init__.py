"""The provider over HTTP."""
