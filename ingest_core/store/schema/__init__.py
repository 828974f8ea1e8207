"""Tables, columns, dictionary codes and schema levels."""
