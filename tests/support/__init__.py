"""What tests share: the database servers they run on."""
