"""Stage `bench`: policies and suites in, records out: one process per problem under hard limits, resumable."""

from saltus.bench.benchmark import Tally, Trial, make_trials, run_trials
from saltus.bench.lama import LamaJob
from saltus.bench.record import Record, make_record
from saltus.bench.records import RecordFile, RecordList, read_records
from saltus.bench.wl_goose import WLGooseJob

__all__ = [
    "LamaJob",
    "Record",
    "RecordFile",
    "RecordList",
    "Tally",
    "Trial",
    "WLGooseJob",
    "make_record",
    "make_trials",
    "read_records",
    "run_trials",
]
