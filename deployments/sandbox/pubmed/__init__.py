"""PubMed through NCBI's E-utilities: esearch, esummary and efetch."""
