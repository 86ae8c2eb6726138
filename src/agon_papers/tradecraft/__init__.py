"""TradeCraft (anonymous authors): its 90 recorded games, printed numbers and statements."""
