"""What a report must say about its data: who answered, and whether they are a sample, partial, or have answers that were cut off."""
