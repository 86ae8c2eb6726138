"""The report on the papers: its front page, how many printed cells and statements agree, and pages to search and to watch."""
