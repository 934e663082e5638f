from arena.listener import Listener


def test_the_default_listener_hears_everything_and_says_nothing(capfd) -> None:
    listener = Listener()
    listener.phase(1, "edit")
    listener.step("ada", 3)
    listener.planned(10, 2)
    listener.played(2)
    listener.spent(None)
    listener.warn("something")
    assert capfd.readouterr() == ("", "")
