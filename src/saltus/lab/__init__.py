"""Stage `lab`: what serves experiments: policies tried on suites, compared with other planners, and reports on that.

Nothing of the method is here, and no stage but the command line imports it: planning and learning work without it.
This package is the laboratory's one door. Its parts, each of which imports only those above it in this list:

- `baselines`: other planners and learners, played like a policy: LAMA and WL-GOOSE;
- `bench`: policies and suites in, records out: one process per problem under hard limits, resumable;
- `report`: records and runs in, tables, plots and pages out; also pages that step through a rollout;
- `experiment`: a file in that names systems, domains and seeds; runs, records and a report out.
"""

from typing import TYPE_CHECKING

from saltus.later import names_later

if TYPE_CHECKING:
    from saltus.lab.baselines.lama import LamaJob, find_driver
    from saltus.lab.baselines.wl_goose import WLGooseJob
    from saltus.lab.baselines.wl_model import find_wlplan
    from saltus.lab.baselines.wl_training import train_wl_goose
    from saltus.lab.bench.benchmark import Tally, Trial, make_trials, run_trials
    from saltus.lab.bench.record import Record, make_record
    from saltus.lab.bench.records import RecordFile, RecordList, read_records
    from saltus.lab.experiment.experiment import Experiment, Standing, TrainingTally, WatchPlaying, WatchTraining
    from saltus.lab.experiment.runs import PlannedRun
    from saltus.lab.experiment.spec import ExperimentSpec, read_experiment
    from saltus.lab.report.explain import ending_text, explain_page, trace
    from saltus.lab.report.html import write_page
    from saltus.lab.report.page import report_page
    from saltus.lab.report.paper import PUBLISHED
    from saltus.lab.report.report import Report, make_report
    from saltus.lab.report.scores import best_lengths, quality_score, score_text, time_score
    from saltus.lab.report.tables import Cell, Table
else:
    __getattr__ = names_later(
        __name__,
        {
            "baselines.lama": "LamaJob find_driver",
            "baselines.wl_goose": "WLGooseJob",
            "baselines.wl_model": "find_wlplan",
            "baselines.wl_training": "train_wl_goose",
            "bench.benchmark": "Tally Trial make_trials run_trials",
            "bench.record": "Record make_record",
            "bench.records": "RecordFile RecordList read_records",
            "experiment.experiment": "Experiment Standing TrainingTally WatchPlaying WatchTraining",
            "experiment.runs": "PlannedRun",
            "experiment.spec": "ExperimentSpec read_experiment",
            "report.explain": "ending_text explain_page trace",
            "report.html": "write_page",
            "report.page": "report_page",
            "report.paper": "PUBLISHED",
            "report.report": "Report make_report",
            "report.scores": "best_lengths quality_score score_text time_score",
            "report.tables": "Cell Table",
        },
    )

__all__ = [
    "PUBLISHED",
    "Cell",
    "Experiment",
    "ExperimentSpec",
    "LamaJob",
    "PlannedRun",
    "Record",
    "RecordFile",
    "RecordList",
    "Report",
    "Standing",
    "Table",
    "Tally",
    "TrainingTally",
    "Trial",
    "WLGooseJob",
    "WatchPlaying",
    "WatchTraining",
    "best_lengths",
    "ending_text",
    "explain_page",
    "find_driver",
    "find_wlplan",
    "make_record",
    "make_report",
    "make_trials",
    "quality_score",
    "read_experiment",
    "read_records",
    "report_page",
    "run_trials",
    "score_text",
    "time_score",
    "trace",
    "train_wl_goose",
    "write_page",
]
