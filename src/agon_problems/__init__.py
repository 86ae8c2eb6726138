"""Problems and rulesets of TradeCraft: made to a wish, changed, checked, and certified with proofs."""
