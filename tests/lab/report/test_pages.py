"""The pages in a real browser: no console errors, no requests, correct numbers and marks, working buttons."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.conftest import ROOT
from tests.errands import errands
from tests.lab.report.browser import Opened, find_browser, open_browser, open_page
from tests.lab.report.samples import paper_records, record, splits_of, write_records, write_run

from saltus.lab.report.explain import explain_page, trace
from saltus.lab.report.html import write_page
from saltus.lab.report.page import report_page
from saltus.lab.report.paper import read_paper
from saltus.lab.report.report import make_report
from saltus.lookahead import TreeSpec
from saltus.policy import YARDSTICKS
from saltus.task import load

ODD = "<img src=x onerror=alert(1)>"


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """A browser; tests that need it skip where there is none."""
    pytest.importorskip("playwright", reason="playwright is not installed")
    if find_browser() is None:
        pytest.skip("no Chromium is installed")
    with open_browser() as found:
        yield found


@pytest.fixture(scope="module")
def report_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of two record files and three runs: a crash, an odd name, all of the paper's IPC problems."""
    folder = tmp_path_factory.mktemp("report")
    ours = paper_records("AIW-AD", seconds=2.0)
    ours[0] |= {"outcome": "crash", "detail": ODD, "plan_length": None}
    ours.append(record("logistics", "test"))
    theirs = [entry | {"plan_length": 60, "seconds": 8.0} for entry in paper_records("LAMA", method="lama-first")]
    files = [write_records(folder / "ours.jsonl", ours), write_records(folder / "lama.jsonl", theirs)]
    for seed in range(3):
        write_run(folder / "runs" / "ferry" / f"seed-{seed}", seed)
    write_page(folder / "report.html", report_page(make_report(files, [folder / "runs"])))
    return folder / "report.html"


@pytest.fixture(scope="module")
def report(browser: Any, report_file: Path) -> Iterator[Opened]:
    """That page in the browser."""
    opened = open_page(browser, report_file)
    yield opened
    opened.page.close()


@pytest.fixture(scope="module")
def content() -> dict[str, Any]:
    """A rollout of the random yardstick on three blocks, which takes some jumps."""
    folder = ROOT / "examples" / "blocksworld"
    task = load(folder / "domain.pddl", folder / "p03.pddl")
    return trace(task, YARDSTICKS["random"](np.random.default_rng(0)), "random", per_depth=2)


@pytest.fixture
def explain(browser: Any, content: dict[str, Any], tmp_path: Path) -> Iterator[Opened]:
    """Its page in the browser."""
    write_page(tmp_path / "explain.html", explain_page(content))
    opened = open_page(browser, tmp_path / "explain.html")
    yield opened
    opened.page.close()


def cells(opened: Opened, table: str) -> list[list[str]]:
    """Texts of a table's body."""
    script = "table => [...table.tBodies[0].rows].map(row => [...row.cells].map(cell => cell.textContent))"
    found: list[list[str]] = opened.page.eval_on_selector(f"#{table}", script)
    return found


def test_a_report_logs_no_errors_and_requests_nothing(report: Opened, report_file: Path) -> None:
    assert report.complaints == []
    assert report.requests == [report_file.resolve().as_uri()]
    assert report.page.title() == "Saltus report"


def test_coverage_is_shown_next_to_the_papers(report: Opened) -> None:
    rows = cells(report, "coverage-ipc2023")
    paper = read_paper().main("ipc2023")
    for row, (place, figures) in zip(rows, paper.cells.items(), strict=True):
        of = paper.problems[place]
        assert row[3:-1] == ["n/a" if cell is None else f"{cell}/{of}" for cell in figures]
    assert rows[-1][:4] == ["total", "667/900", "586/900", "668/900"]
    assert rows[0][:4] == ["blocksworld", "89/90", "57/90", "90/90"]
    assert cells(report, "coverage-extended")[-1][:2] == ["total", "1/1"]
    heads = report.page.locator("#coverage-ipc2023 thead tr").nth(1).locator("th").all_text_contents()
    assert heads[:4] == ["domain", "aiw-ad", "lama-first", "AIW-AD"]


def test_errors_come_first_and_names_are_shown_as_they_are(report: Opened) -> None:
    first = report.page.locator("section").first
    assert first.get_attribute("id") == "errors"
    (row,) = cells(report, "errors-unexplained")
    assert row[:6] == ["crash", "aiw-ad", "blocksworld", "easy", "p01", ODD]
    assert report.page.locator("img").count() == 0
    assert "1" in report.page.locator(".tile.bad").text_content()


def test_plots_have_a_mark_for_every_problem(report: Opened) -> None:
    page = report.page
    assert page.locator("#cactus circle.mark.c0").count() == 668  # 667 and one of the extended set
    assert page.locator("#cactus circle.mark.c1").count() == 586
    assert page.locator("#cactus path.line").count() == 2
    lengths, seconds = page.locator("#scatter figure").all()
    both, either = count_solved()
    for plot in (lengths, seconds):
        assert plot.locator("circle.mark").count() == either
        assert plot.locator("circle.mark.open").count() == either - both
        assert plot.locator(".legend .key").count() == 10
    titles = lengths.locator("circle.mark title").all_text_contents()
    assert titles[:2] == [
        "blocksworld easy p01: aiw-ad crash, lama-first 60",
        "blocksworld easy p02: aiw-ad 30, lama-first 60",
    ]
    validation, loss, success = page.locator("#training figure").all()
    assert validation.locator("circle.mark").count() == 8
    assert validation.locator("path.band").count() == 2
    assert (loss.locator("path.line").count(), success.locator("path.line").count()) == (1, 1)


def count_solved() -> tuple[int, int]:
    """Problems that both, and that at least one of AIW-AD and LAMA solve; the first of all is our crash."""
    table = read_paper().main("ipc2023")
    rows = [table.cells[domain, split] for domain in table.domains for split in splits_of(table)]
    pairs = [(row[0] or 0, row[5] or 0) for row in rows]
    return sum(min(pair) for pair in pairs) - 1, sum(max(pair) for pair in pairs)


def test_the_comparison_is_of_commonly_solved_problems(report: Opened) -> None:
    both, _ = count_solved()
    row = cells(report, "comparison-compare-aiw-ad-lama-first")[-1]
    assert row[:3] == ["all", "900", str(both)]
    assert row[5:11] == ["30", "60", "2", "2", "8", "4"]


def test_rows_of_splits_can_be_hidden(report: Opened) -> None:
    rows = report.page.locator("#coverage-ipc2023 tr.split")
    assert rows.first.is_visible()
    report.page.locator("input[data-hides]").uncheck()
    assert not rows.first.is_visible()
    report.page.locator("input[data-hides]").check()
    assert rows.first.is_visible()


def test_problems_can_be_filtered(report: Opened) -> None:
    page = report.page
    page.locator("#problems summary").click()
    page.locator("input[type=search]").fill("ferry HARD failed")
    assert page.locator("#every tbody tr:visible").count() == 16  # LAMA fails on sixteen
    assert page.locator("#every-count").text_content() == "16 of 901 problems"
    page.locator("input[type=search]").fill("")
    assert page.locator("#every tbody tr:visible").count() == 901


@pytest.mark.parametrize("width", [1280, 420])
def test_the_page_itself_does_not_scroll_sideways(browser: Any, report_file: Path, width: int) -> None:
    opened = open_page(browser, report_file, width=width)
    inner, outer = opened.page.evaluate("[document.documentElement.scrollWidth, window.innerWidth]")
    opened.page.close()
    assert inner <= outer


def contrast(page: Any, element: str) -> float:
    """Contrast of an element's text with what is behind it, as accessibility guidelines measure it."""
    script = """element => {
      const paint = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
      const levels = [];
      const behind = [];
      for (let node = element; node; node = node.parentElement) behind.unshift(getComputedStyle(node).backgroundColor);
      behind.forEach(colour => { paint.fillStyle = colour; paint.fillRect(0, 0, 1, 1); });
      levels.push([...paint.getImageData(0, 0, 1, 1).data]);
      paint.fillStyle = getComputedStyle(element).color;
      paint.fillRect(0, 0, 1, 1);
      levels.push([...paint.getImageData(0, 0, 1, 1).data]);
      return levels;
    }"""
    luminance = []
    for colour in page.eval_on_selector(element, script):
        parts = [level / 255 for level in colour[:3]]
        linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        luminance.append(0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2])
    return (max(luminance) + 0.05) / (min(luminance) + 0.05)


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_text_can_be_read_in_both_themes(browser: Any, report_file: Path, dark: bool) -> None:
    opened = open_page(browser, report_file, dark=dark)
    for element in ("h1", "tr.whole td.share", "tr.split td.share", "tr.split td", "td.bad", ".notes", "th", ".note"):
        assert contrast(opened.page, element) > 4.4, element
    background = opened.page.evaluate("getComputedStyle(document.body).backgroundColor")
    opened.page.close()
    assert (sum(map(int, background[4:-1].split(","))) < 200) == dark


def test_labels_of_the_axes_do_not_overlap(report: Opened) -> None:
    """Ticks and names of the axes, in every plot."""
    report.page.evaluate("document.querySelectorAll('details').forEach(part => { part.open = true; })")
    script = """svgs => svgs.map(svg => [...svg.querySelectorAll("text")].map(text => {
      const box = text.getBoundingClientRect();
      return [box.left, box.top, box.right, box.bottom, text.textContent];
    }))"""
    plots = report.page.eval_on_selector_all("figure svg", script)
    assert len(plots) == 1 + 11 + 1 + 11 + 2 + 3  # over time and by size, all and by domain; pairs; training
    for boxes in plots:
        assert len(boxes) >= 6
        for i, a in enumerate(boxes):
            for b in boxes[:i]:
                apart = a[2] <= b[0] or b[2] <= a[0] or a[3] <= b[1] or b[3] <= a[1]
                assert apart, (a, b)


def test_a_rollout_can_be_stepped_through(explain: Opened, content: dict[str, Any]) -> None:
    page, steps = explain.page, content["steps"]
    assert len(steps) >= 3
    where = page.locator("#where")
    assert where.text_content() == f"jump 1 of {len(steps)}"
    assert page.locator("#previous").is_disabled()
    check_step(page, content, 0)
    page.locator("#next").click()
    assert where.text_content() == f"jump 2 of {len(steps)}"
    check_step(page, content, 1)
    page.keyboard.press("ArrowRight")
    check_step(page, content, 2)
    page.keyboard.press("ArrowLeft")
    check_step(page, content, 1)
    page.locator("#previous").click()
    check_step(page, content, 0)
    page.keyboard.press("End")
    assert where.text_content() == f"jump {len(steps)} of {len(steps)}"
    assert page.locator("#next").is_disabled()
    check_step(page, content, len(steps) - 1)
    page.keyboard.press("ArrowRight")
    check_step(page, content, len(steps) - 1)
    page.locator("#timeline g").nth(1).click()
    check_step(page, content, 1)
    page.keyboard.press("Home")
    check_step(page, content, 0)
    assert explain.complaints == []
    assert len(explain.requests) == 1


def check_step(page: Any, content: dict[str, Any], number: int) -> None:
    """The page shows this jump: its tree, its actions, its goals."""
    step = content["steps"][number]
    assert page.locator("#tree circle.node").count() == len(step["depth"])
    assert page.locator("#tree path.edge").count() == len(step["depth"]) - 1
    assert page.locator("#tree circle.jump").count() == 1
    taken, node = 0, step["jump"]
    while node:
        taken, node = taken + 1, step["parent"][node]
    assert page.locator("#tree path.edge.taken").count() == taken
    assert page.locator("#tree circle.jump").get_attribute("data-node") == str(step["jump"])
    names = [content["names"][number] for number in step["actions"]]
    assert page.locator("#actions li").all_text_contents() == names
    before = set(content["reached"])
    for earlier in content["steps"][:number]:
        before = (before | set(earlier["gained"])) - set(earlier["lost"])
    assert page.locator("#goals li").count() == len(content["goals"])
    after = (before | set(step["gained"])) - set(step["lost"])
    assert page.locator("#goals li.reached").count() == len(after)
    assert page.locator("#goals li.gained").all_text_contents() == [content["goals"][i] for i in step["gained"]]
    assert page.locator("#goals li.lost").all_text_contents() == [content["goals"][i] for i in step["lost"]]
    assert page.locator("#goal-count").text_content() == f"{len(before)} → {len(after)} of {len(content['goals'])}"
    assert page.locator("#timeline g.now").get_attribute("data-step") == str(number)
    hidden = sum(step["hidden"])
    assert (f"{hidden} node" in page.locator("#caption").text_content()) == (hidden > 0)
    assert page.evaluate("location.hash") == f"#{number + 1}"


def test_nodes_say_what_they_are(explain: Opened, content: dict[str, Any]) -> None:
    page, step = explain.page, content["steps"][0]
    jump = page.locator("#tree circle.jump")
    q = step["q"][step["jump"]]
    assert f"Q {q:.4g}" in jump.locator("title").text_content()
    jump.hover()
    assert f"depth {len(step['actions'])} " in page.locator("#node").text_content()
    names = [content["names"][number] for number in step["actions"]]
    assert page.locator("#node li").all_text_contents() == names
    jump.click()
    page.mouse.move(1, 1)
    assert page.locator("#node li").all_text_contents() == names
    jump.click()
    page.mouse.move(1, 1)
    assert page.locator("#node li").count() == 0
    fills = page.eval_on_selector_all("#tree circle.node:not(.root)", "nodes => nodes.map(node => node.style.fill)")
    values = step["q"][1:]
    assert (len(set(fills)) > 1) == (len(set(values)) > 1)
    best = max(values)
    if best == step["high"]:
        assert fills[values.index(best)] == "rgb(253, 231, 37)"


def test_a_page_opens_at_the_jump_of_its_address(browser: Any, content: dict[str, Any], tmp_path: Path) -> None:
    write_page(tmp_path / "explain.html", explain_page(content))
    page = browser.new_page()
    page.goto((tmp_path / "explain.html").resolve().as_uri() + "#2")
    assert page.locator("#where").text_content() == f"jump 2 of {len(content['steps'])}"
    page.close()


def test_a_rollout_without_a_jump(browser: Any, content: dict[str, Any], tmp_path: Path) -> None:
    write_page(tmp_path / "explain.html", explain_page(json.loads(json.dumps(content)) | {"steps": []}))
    opened = open_page(browser, tmp_path / "explain.html")
    assert opened.page.locator("#nothing").is_visible()
    assert not opened.page.locator("#stage").is_visible()
    assert opened.complaints == []
    opened.page.close()


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_walks_are_folded_and_can_be_opened(browser: Any, tmp_path: Path, dark: bool) -> None:
    """The jump to the bell at the end of the road and back: what is folded, what a click shows, what a node says."""
    policy = YARDSTICKS["goal-count"](np.random.default_rng(0), TreeSpec(kind="flat", free_moves=True))
    write_page(tmp_path / "walks.html", explain_page(trace(errands(5, goal="(and (rung) (at w0 p4))"), policy, "x")))
    opened = open_page(browser, tmp_path / "walks.html", dark=dark)
    page = opened.page
    assert page.locator("#where").text_content() == "jump 1 of 1"
    assert page.locator("#summary").text_content().startswith("5 actions, Q ")
    for box in ("#actions", "#node"):
        if box == "#node":
            page.locator("#tree circle.jump").click()
            assert "depth 1 · 5 actions · goals 2 (+2)" in page.locator("#node").text_content()
        assert page.locator(f"{box} > ol > li, ol{box} > li").count() == 1
        summary, moves = page.locator(f"{box} details.walk summary"), page.locator(f"{box} details.walk li")
        assert summary.text_content() == "(ring w0 p4) after 4 moves"
        assert contrast(page, f"{box} details.walk summary") > 4.4
        assert contrast(page, f"{box} details.walk summary span") > 4.4
        assert not moves.first.is_visible()
        summary.click()
        assert moves.first.is_visible()
        assert moves.all_text_contents() == [f"(walk w0 p{i} p{i + 1})" for i in range(4)]
    title = page.locator("#tree circle.jump title").text_content()
    assert title.startswith("(ring w0 p4) after 4 moves\nQ ")
    assert opened.complaints == []
    page.close()
