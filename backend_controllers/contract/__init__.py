"""What every backend uses: its declaration and the counting of pods. It must stay pure."""
