"""The demo: the main job from end to end in one process."""

__all__ = ["answer", "board", "demo", "demo_view"]
