"""Stage `lab`: what serves experiments: policies tried on suites, compared with other planners, and reports on that.

Nothing of the method is here, and no stage but the command line imports it: planning and learning work without it. Its
parts, each of which imports only those above it in this list:

- `baselines`: other planners and learners, played like a policy: LAMA and WL-GOOSE;
- `bench`: policies and suites in, records out: one process per problem under hard limits, resumable;
- `report`: records and runs in, tables, plots and pages out; also pages that step through a rollout;
- `experiment`: a file in that names systems, domains and seeds; runs, records and a report out.
"""
