"""Games as environments of PettingZoo and Gymnasium: of numbers for learners, of texts for any player."""
