import pathlib

import pytest

from oneop.settings import Settings


@pytest.fixture
def settings():
    return Settings()


def origin_of(settings, name):
    [info] = [info for info in settings.describe() if info.name == name]
    return info.value, info.origin


def test_value_and_origin(settings, monkeypatch):
    monkeypatch.delenv("ONEOP_LOCK_TIMEOUT", raising=False)
    assert origin_of(settings, "lock_timeout") == (600.0, "default")
    monkeypatch.setenv("ONEOP_LOCK_TIMEOUT", "5")
    assert origin_of(settings, "lock_timeout") == (5.0, "environment")
    settings.lock_timeout = 7.0
    assert origin_of(settings, "lock_timeout") == (7.0, "python")
    del settings.lock_timeout
    assert settings.lock_timeout == 5.0


def test_override_is_scoped(settings, monkeypatch):
    monkeypatch.delenv("ONEOP_VERBOSE", raising=False)
    with settings.override(verbose=True, max_jobs=3):
        assert settings.verbose
        assert settings.max_jobs == 3
    assert not settings.verbose


def test_paths_are_absolute(settings, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ONEOP_CACHE_DIR", "here")
    assert settings.cache_dir == tmp_path / "here"
    monkeypatch.setenv("ONEOP_CACHE_DIR", "~/here")
    assert settings.cache_dir == pathlib.Path.home() / "here"


@pytest.mark.parametrize(
    ("env", "name", "text", "expected"),
    [
        ("MAX_JOBS", "max_jobs", "0", "a whole number >= 1"),
        ("MAX_JOBS", "max_jobs", "many", "a whole number >= 1"),
        ("ONEOP_LOCK_TIMEOUT", "lock_timeout", "-1", "a number >= 0"),
        ("ONEOP_VERBOSE", "verbose", "maybe", "0 or 1"),
    ],
)
def test_unreadable_variable(settings, monkeypatch, env, name, text, expected):
    monkeypatch.setenv(env, text)
    message = f"environment variable {env}: expected {expected}, found {text!r}"
    with pytest.raises(ValueError) as caught:
        getattr(settings, name)
    assert str(caught.value) == message
    assert origin_of(settings, name) == (message, "environment")


def test_empty_variable_counts_as_unset(settings, monkeypatch):
    monkeypatch.setenv("MAX_JOBS", "")
    assert origin_of(settings, "max_jobs") == (None, "default")


def test_unknown_name(settings):
    with pytest.raises(AttributeError) as caught:
        settings.verbos = True
    assert str(caught.value) == "no setting is called 'verbos'; did you mean 'verbose'?"
    with (
        pytest.raises(AttributeError, match="no setting is called 'x'; there are: cache_dir, "),
        settings.override(x=1),
    ):
        pass


def test_every_setting_is_described(settings):
    for info in settings.describe():
        assert info.doc.endswith("."), info
        assert info.env.isupper()
        assert info.type
