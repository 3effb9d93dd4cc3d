"""Stage `lab.bench`: policies and suites in, records out: one process per problem under hard limits, resumable."""
