"""Tables, columns, dictionary codes and schema versions."""
