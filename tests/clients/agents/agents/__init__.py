"""Agents: one module each, in the order in which they run."""

from agents import claude, cline, codex, continue_dev, copilot, gemini, opencode, qwen
from agents.client import Client

CLIENTS: list[Client] = [
    claude.CLIENT,
    codex.CLIENT,
    gemini.CLIENT,
    opencode.CLIENT,
    copilot.CLIENT,
    qwen.CLIENT,
    continue_dev.CLIENT,
    cline.CLIENT,
]
