"""What records tell: reads them and nothing else."""
