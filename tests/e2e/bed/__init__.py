"""The test bed: a real API server, an AWS account (moto) behind a judging gate, and the product as a child process."""
