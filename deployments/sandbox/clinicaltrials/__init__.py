"""ClinicalTrials.gov's API v2: `/api/v2/studies`."""
