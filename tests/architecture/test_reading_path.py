"""A reader follows the Transformer in one sitting: the files on the way are counted."""

from pathlib import Path

import reading_path


def test_the_forward_pass_enters_a_dozen_files() -> None:
    files = reading_path.training_forward()
    assert "nn/multi_head.py" in files
    assert len(files) <= 12, files


def test_a_beam_search_by_the_models_own_steps_enters_twenty_files() -> None:
    files = reading_path.beam_search()
    assert "search/beam.py" in files
    assert len(files) <= 20, files


def test_a_training_and_a_translated_line_enter_no_more_files_than_before(tmp_path: Path) -> None:
    training, translation = reading_path.training_run(tmp_path), reading_path.translated_line(tmp_path)
    assert "training/loop.py" in training
    assert len(training) <= 233, training
    assert len(translation) <= 78, translation


def test_the_model_imports_no_engine() -> None:
    assert reading_path.engines_imported_by_the_model() == []


def test_a_decoder_step_is_written_three_times() -> None:
    assert [file.partition("/")[0] for file in reading_path.decoder_steps()] == ["engines", "engines", "nn"]


def test_post_norm_reads_as_the_paper() -> None:
    assert reading_path.post_norm() == "self.norm(x + self.dropout(sublayer(x)))"
