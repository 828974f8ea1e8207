"""The API bioRxiv and medRxiv share: `/details/{server}/{from}/{to}/{cursor}`."""
